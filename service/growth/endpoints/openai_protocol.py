"""An endpoint behind a server of the OpenAI protocol: vLLM, llama.cpp, Ollama, OpenAI and others.

A few requests run at the same time, each in a thread of its own. The list of models (`/v1/models`)
is never asked for: some servers fail there and answer everywhere else.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Literal, TypeVar

from ....editing import interruption
from ...completions import Completion
from ...llm import CHECK_S, Client
from .capabilities import (
    FULL_DISTRIBUTION,
    Capabilities,
    structure_fields,
)
from .endpoint import Reply, Request

CONCURRENT = 4
"""Requests at the same time, by default."""
LAST_CALLS_S = 5.0
"""Seconds that an interruption waits for answers of running requests, so that they are stored."""

T = TypeVar("T")
R = TypeVar("R")
_FINISH: dict[str, Literal["stop", "length", "refusal"]] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
}


class OpenAIProtocol:
    """A model at a server.

    Args:
        client: of the server; closed with the endpoint.
        capabilities: abilities of the server (`capabilities.probe`).
        concurrent: number of requests at the same time. With more than one, `transformers serve`
            mixes the random numbers of its requests, and a seed no longer repeats an answer.

    Attributes:
        chat: True; a cloze is put as a chat where the server does not continue plain texts.
    """

    def __init__(
        self, client: Client, capabilities: Capabilities, *, concurrent: int = CONCURRENT
    ) -> None:
        self._client, self._capabilities, self._concurrent = client, capabilities, concurrent
        self.model = client.model
        self.id = f"{client.model}@{client.address}"
        self.chat = True

    def ask(self, requests: Sequence[Request]) -> Iterator[list[tuple[int, Reply]]]:
        """Answer requests as they come: (place of the request, reply).

        At an error or interruption no further request is sent, and what the running ones give is
        yielded first.

        Raises:
            EndpointError: the server refuses, or fails at every try.
        """
        return in_parallel(requests, self._one, self._concurrent)

    def _one(self, request: Request) -> Reply:
        sampling, extra = request.sampling, {}
        if sampling.temperature > 0 and self._capabilities.sampled == "generation_config":
            extra |= FULL_DISTRIBUTION
        if request.schema is not None:
            extra |= structure_fields(self._capabilities.structured, json.loads(request.schema))
        if request.form == "cloze" and self._capabilities.completions:
            found = self._client.complete(
                request.messages[-1].text,
                temperature=sampling.temperature,
                max_tokens=sampling.max_tokens,
                seed=derived_seed(request),
                extra=extra,
            )
        else:
            found = self._client.chat(
                [{"role": message.role, "content": message.text} for message in request.messages],
                temperature=sampling.temperature,
                max_tokens=sampling.max_tokens,
                seed=derived_seed(request),
                extra=extra,
            )
        return _reply(found, structured=request.schema is not None)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def in_parallel(
    requests: Sequence[T], answer: Callable[[T], R], concurrent: int = CONCURRENT
) -> Generator[list[tuple[int, R]], None, None]:
    """Answers of a function that asks a server, as they come: (place of the request, answer).

    At an error or interruption no further request is sent, and what the running ones give is
    yielded first.

    Args:
        concurrent: number of requests at the same time, each in a thread.
    """
    waiting = iter(range(len(requests)))
    running: dict[Future[R], int] = {}
    failure: BaseException | None = None
    stopped = threading.Event()
    pool = ThreadPoolExecutor(concurrent, "thinkeval-endpoint")

    def one(request: T) -> R:
        with interruption.checked(lambda: _unless_stopped(stopped)):
            return answer(request)

    def fill() -> None:
        while failure is None and len(running) < concurrent:
            place = next(waiting, None)
            if place is None:
                return
            running[pool.submit(one, requests[place])] = place

    try:
        fill()
        while running:
            failure = failure or _interrupted()
            if failure is not None:
                stopped.set()
            slow = CHECK_S if failure is None else LAST_CALLS_S
            done, _ = wait(running, slow, FIRST_COMPLETED)
            if failure is not None and not done:
                break
            part: list[tuple[int, R]] = []
            for future in done:
                place, error = running.pop(future), future.exception()
                if error is None:
                    part.append((place, future.result()))
                failure = failure or error
            fill()
            if part:
                yield part
        if failure is not None:
            raise failure
    finally:
        stopped.set()
        pool.shutdown(wait=False, cancel_futures=True)


def derived_seed(request: Request) -> int:
    """Seed of one sample of one text, in [0, 2³¹): other samples and other texts have others."""
    turns = [[message.role, message.text] for message in request.messages]
    name = json.dumps([request.sampling.seed, request.sample, turns], ensure_ascii=False)
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]) >> 1


class _StoppedError(Exception):
    """Ends a request that is between two tries."""


def _unless_stopped(stopped: threading.Event) -> None:
    if stopped.is_set():
        raise _StoppedError


def _interrupted() -> BaseException | None:
    try:
        interruption.check()
    except BaseException as error:
        # A KeyboardInterrupt of a worker; raised again when the running requests are stored.
        return error
    return None


def _reply(found: Completion, *, structured: bool) -> Reply:
    text = found.text
    if structured and found.arguments is not None:
        text = found.arguments
    return Reply(
        text=text,
        finish=_FINISH.get(found.finish, "stop"),
        seconds=found.seconds,
        tokens_in=found.tokens_in,
        tokens_out=found.tokens_out,
    )
