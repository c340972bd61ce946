"""A server that speaks the OpenAI protocol and replays recorded answers, in threads of the tests.

It proves how requests, retries, repairs and accounts work, and nothing about the quality of any
model. A cassette is a mapping:

    {"answers": {DIGEST: [ANSWER, ...]}, "rules": [{"contains": TEXT, "answers": [...]}],
     "otherwise": [ANSWER, ...]}

A request is answered by its digest (`request_digest`), else by the first rule whose text is in its
last turn (and in the field `field` of its body, if the rule names one), else by `otherwise`, else
with 404. Each list is replayed in order; its last answer is repeated. ANSWER has:

    text, arguments (of a tool call), refusal, finish, choices,
    reasoning, reasoning_content                                 the answer
    status, detail, retry_after, location, raw, delay_s          failures: status with detail, the
                                                                 exact body, seconds of waiting

`GET /health` is 200.
"""

from __future__ import annotations

import hashlib
import json
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SETTINGS = (
    "messages", "prompt", "temperature", "max_tokens", "seed", "response_format", "tools",
)  # fmt: skip
"""Fields of a request that its digest is computed from; absent ones are left out."""


def request_digest(body: Mapping[str, Any]) -> str:
    """Digest of a request's messages and settings, but not of the model's name."""
    known = {field: body[field] for field in SETTINGS if field in body}
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:16]


class _Tape:
    """The answers, and the requests received."""

    def __init__(self, cassette: Mapping[str, Any]) -> None:
        self._answers: dict[str, list[Any]] = dict(cassette.get("answers", {}))
        self._rules: list[dict[str, Any]] = list(cassette.get("rules", ()))
        self._otherwise: list[Any] = list(cassette.get("otherwise", ()))
        self._lock = threading.Lock()
        self._played: dict[str, int] = {}
        self.requests: list[dict[str, Any]] = []
        self._answering = self.at_once = 0

    def play(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> dict[str, Any]:
        """Record the request; the answer to it."""
        with self._lock:
            self.requests.append({"path": path, "headers": headers, "body": body})
            place, answers = self._found(body)
            number = self._played.get(place, 0)
            self._played[place] = number + 1
        if not answers:
            return {"status": 404, "detail": f"no recorded answer for {request_digest(body)}"}
        answer = answers[min(number, len(answers) - 1)]
        return {"text": answer} if isinstance(answer, str) else answer

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Count a request while it is answered."""
        with self._lock:
            self._answering += 1
            self.at_once = max(self.at_once, self._answering)
        try:
            yield
        finally:
            with self._lock:
                self._answering -= 1

    def _found(self, body: dict[str, Any]) -> tuple[str, list[Any]]:
        name = request_digest(body)
        if name in self._answers:
            return name, self._answers[name]
        turns = body.get("messages") or [{"content": body.get("prompt", "")}]
        for number, rule in enumerate(self._rules):
            fits = "field" not in rule or rule["field"] in body
            if fits and rule.get("contains", "") in turns[-1]["content"]:
                return f"rule {number}", rule["answers"]
        return "otherwise", self._otherwise


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, cassette: Mapping[str, Any]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.tape = _Tape(json.loads(json.dumps(cassette)))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that closes its connection before the answer is no error of the server."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # header and body in one packet, or each answer waits for 40 ms
    server: _Server

    def do_GET(self) -> None:
        if self.path == "/health":
            self._send(200, b'{"status": "ok"}')
        else:
            self._send(500, b"Internal Server Error")  # as /v1/models of some servers

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.loads(raw)
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server.tape.play(self.path, headers, body)
        with self.server.tape.answering():
            time.sleep(answer.get("delay_s", 0))
        status = answer.get("status", 200)
        if "raw" in answer:
            self._send(status, answer["raw"].encode(), answer)
        elif status != 200:
            self._send(status, json.dumps({"detail": answer.get("detail", "")}).encode(), answer)
        else:
            chat = self.path.endswith("/chat/completions")
            self._send(200, json.dumps(_reply(answer, body, chat=chat)).encode(), answer)

    def _send(self, status: int, body: bytes, answer: Mapping[str, Any] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if answer and "retry_after" in answer:
            self.send_header("Retry-After", str(answer["retry_after"]))
        if answer and "location" in answer:
            self.send_header("Location", answer["location"])
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are listed by `Cassette.requests`."""


def _reply(answer: Mapping[str, Any], body: Mapping[str, Any], *, chat: bool) -> dict[str, Any]:
    text = answer.get("text", "")
    choice: dict[str, Any] = {"index": 0, "finish_reason": answer.get("finish", "stop")}
    if chat:
        message = {"role": "assistant", "content": text}
        if "refusal" in answer:
            message |= {"content": None, "refusal": answer["refusal"]}
        if "arguments" in answer:
            function = {"name": "answer", "arguments": answer["arguments"]}
            message |= {"content": None}
            message["tool_calls"] = [{"id": "1", "type": "function", "function": function}]
        fields = ("reasoning", "reasoning_content")
        choice["message"] = message | {f: answer[f] for f in fields if f in answer}
    else:
        choice["text"] = text
    asked, words = len(json.dumps(body).split()), len((text or "").split())
    return {
        "id": "recorded",
        "object": "chat.completion" if chat else "text_completion",
        "model": body.get("model"),
        "choices": [choice | {"index": i} for i in range(answer.get("choices", 1))],
        "usage": {"prompt_tokens": asked, "completion_tokens": words},
    }


class Cassette:
    """A running server, and the requests it received."""

    def __init__(self, server: _Server) -> None:
        self._tape = server.tape
        self.origin = f"http://127.0.0.1:{server.server_port}"
        self.url = f"{self.origin}/v1"

    def requests(self) -> list[dict[str, Any]]:
        """Every request so far: path, headers (names in lower case), body."""
        return list(self._tape.requests)

    def at_once(self) -> int:
        """The largest number of requests that were being answered at the same time."""
        return self._tape.at_once


@contextmanager
def playing(cassette: Mapping[str, Any]) -> Iterator[Cassette]:
    """The server, for the time of a block.

    Args:
        cassette: see the module.
    """
    with _Server(cassette) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield Cassette(server)
        finally:
            server.shutdown()
            thread.join()
