"""A server that scores prompts as vLLM does: `/v1/completions` with `echo` and `logprobs`.

It answers from a model in this process, so that its numbers are real ones. Beside it, it draws
answers: with another seed, another answer.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import torch

_ONE = threading.Lock()


def completion(model: Any, tokenizer: Any, body: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request; one generated token for each of `max_tokens`."""
    ids = tokenizer(body["prompt"])["input_ids"]
    n_prompt, drawn = len(ids), torch.Generator().manual_seed(body.get("seed", 0))
    with torch.no_grad():
        for _ in range(body["max_tokens"]):
            logits = model(input_ids=torch.tensor([ids])).logits[0, -1].float()
            if body["temperature"] == 0:
                ids = [*ids, int(logits.argmax())]
            else:
                shares = torch.softmax(logits / body["temperature"], -1)
                ids = [*ids, int(torch.multinomial(shares, 1, generator=drawn))]
        log_p = model(input_ids=torch.tensor([ids])).logits[0].float().log_softmax(-1)
    first = 0 if body.get("echo") else n_prompt
    choice: dict[str, Any] = {
        "index": 0,
        "finish_reason": "length",
        "text": tokenizer.decode(ids[first:], clean_up_tokenization_spaces=False),
    }
    if body.get("logprobs"):
        scores = [None, *(float(log_p[i - 1, ids[i]]) for i in range(1, len(ids)))]
        choice["logprobs"] = {
            "tokens": [tokenizer.decode([i]) for i in ids[first:]],
            "token_logprobs": scores[first:],
        }
    usage = {"prompt_tokens": n_prompt, "completion_tokens": len(ids) - n_prompt}
    return {"id": "1", "object": "text_completion", "choices": [choice], "usage": usage}


@contextmanager
def scoring(model: Any, tokenizer: Any) -> Iterator[str]:
    """The server, in threads of this process, for the time of a block; its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path.endswith("/chat/completions"):
                text = body["messages"][-1]["content"]
                found = completion(model, tokenizer, {**body, "prompt": text})
                choice = found["choices"][0]
                choice["message"] = {"role": "assistant", "content": choice.pop("text")}
            else:
                with _ONE:
                    found = completion(model, tokenizer, body)
            answer = json.dumps(found).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: requests are not of interest."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
