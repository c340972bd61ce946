"""An endpoint behind a server of the OpenAI protocol, and the abilities of that server."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeVar, cast, get_args

from ...editing import interruption
from ..base.errors import EndpointError, UsageError
from ..base.llm import CHECK_S, Client, Completion
from .endpoint import Reply, Request

# Abilities of a server of the OpenAI protocol, found by the effect of a few requests.
#
# Servers accept fields that they ignore (`transformers serve`: `response_format`, `n`, and
# without a field of its own even `temperature`), so a status of 200 shows nothing. A server that
# always gives its most likely answer would make any proportion of equal answers 1.

Sampled = Literal["plain", "generation_config", "no"]
"""Way to draw answers: with the protocol's fields, with the field `generation_config` of
`transformers serve`, or not at all."""

Form = Literal["json_schema", "tools", "json_object", "prompt"]
"""Way to ask for JSON: by the server's format of a schema, as the arguments of a tool, by its
format of any object, or in the prompt only."""

FULL_DISTRIBUTION = {"generation_config": json.dumps({"do_sample": True, "top_k": 0, "top_p": 1.0})}
"""The field with which `transformers serve` draws answers, from all tokens."""

OPEN_QUESTION = "Write one short sentence about anything you like."
HOT = 1.5
"""Temperature at which answers to an open question differ, if they are drawn."""
DRAWS = 4
"""Equal answers with different seeds until a server counts as one that does not draw."""
LENGTH = 24

PLAIN_QUESTION = "Say hello in one short sentence. Do not write JSON."
"""Has the word JSON, without which some servers refuse the format `json_object`."""
ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"salutation": {"type": "string"}},
    "required": ["salutation"],
    "additionalProperties": False,
}
CLOZE = "The capital of France is"

_REFUSES_ALL = (401, 403, 429)
"""Statuses that say nothing about the field that was tried."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The abilities of a server.

    Attributes:
        sampled: see `Sampled`.
        structured: see `Form`.
        completions: True if it continues a plain text (`/completions`).
        several: True if it gives several choices for `n`.
        calls: number of requests that found this.
    """

    sampled: Sampled
    structured: Form
    completions: bool
    several: bool
    calls: int = field(compare=False, default=0)

    def to_json(self) -> str:
        """As one line of JSON, for storing."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Capabilities:
        """The capabilities of `to_json`.

        Raises:
            ValueError: the text is none, or of another version.
        """
        try:
            found = cls(**json.loads(text))
        except TypeError as error:
            raise ValueError(f"no capabilities of this version: {error}") from error
        if found.sampled not in get_args(Sampled) or found.structured not in get_args(Form):
            raise ValueError(f"unknown capabilities: {text}")
        return found


def require_sampling(capabilities: Capabilities, address: str) -> None:
    """Refuse a server that gives one answer only.

    Raises:
        UsageError: it does not sample.
    """
    if capabilities.sampled == "no":
        raise UsageError(
            f"This server does not sample: {address} gave {DRAWS} equal answers to an open "
            f"question at temperature {HOT:g}, so that proportions of answers would be 0 or 1.",
            remedy="Use --greedy (one answer per question), or a server that samples.",
        )


def probe(client: Client, *, texts_only: bool = False) -> Capabilities:
    """Find the abilities of a server, by 5 to 13 short requests.

    Args:
        texts_only: do not try forms of JSON and several choices; 3 to 9 requests.

    Raises:
        EndpointError: it does not answer the plain question.
    """
    prober = _Prober(client)
    sampled = prober.sampled()
    if texts_only:
        completions = prober.completions()
        return Capabilities(sampled, "prompt", completions, several=False, calls=prober.calls)
    structured = prober.structured()
    completions, several = prober.completions(), prober.pluralize()
    return Capabilities(sampled, structured, completions, several, prober.calls)


class _Prober:
    """The requests, counted."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.calls = 0

    def _chat(
        self, text: str, *, seed: int = 0, hot: bool = False, extra: Mapping[str, Any] | None = None
    ) -> Completion:
        self.calls += 1
        return self._client.chat(
            [{"role": "user", "content": text}],
            temperature=HOT if hot else 0.0,
            max_tokens=LENGTH,
            seed=seed,
            extra=extra,
        )

    def sampled(self) -> Sampled:
        """Find the field that gives different answers by seed; the first request shows refusals."""
        if self._draws(None):
            return "plain"
        try:
            return "generation_config" if self._draws(FULL_DISTRIBUTION) else "no"
        except EndpointError as error:
            _unless_refused(error)
            return "no"

    def _draws(self, extra: Mapping[str, Any] | None) -> bool:
        seen: set[str] = set()
        for seed in range(1, 1 + DRAWS):
            seen.add(self._chat(OPEN_QUESTION, seed=seed, hot=True, extra=extra).text.strip())
            if len(seen) > 1:
                return True
        return False

    def structured(self) -> Form:
        """The first form that turns a plain answer into the JSON that was asked for."""
        for form in ("json_schema", "tools", "json_object"):
            extra = structure_fields(cast(Form, form), ANSWER_SCHEMA)
            found = self._tried(extra)
            if found is None:
                continue
            text = found.arguments if form == "tools" else found.text
            required = () if form == "json_object" else ("salutation",)
            if _is_object(text or "", required):
                return cast(Form, form)
        return "prompt"

    def _tried(self, extra: Mapping[str, Any]) -> Completion | None:
        try:
            return self._chat(PLAIN_QUESTION, extra=extra)
        except EndpointError as error:
            _unless_refused(error)
            return None

    def completions(self) -> bool:
        """Return True if a plain text is continued."""
        self.calls += 1
        try:
            found = self._client.complete(CLOZE, temperature=0.0, max_tokens=4, seed=0)
        except EndpointError as error:
            _unless_refused(error)
            return False
        return bool(found.text.strip())

    def pluralize(self) -> bool:
        """Return True if a request for two choices gives two."""
        found = self._tried({"n": 2})
        return found is not None and found.choices == 2


def _unless_refused(error: EndpointError) -> None:
    """Raise an error that is not about the field that was tried."""
    if error.answered is None or error.answered in _REFUSES_ALL:
        raise error


def structure_fields(form: Form, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a request with which a server gives JSON of a schema."""
    if form == "json_schema":
        named = {"name": "answer", "schema": dict(schema)}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    if form == "json_object":
        return {"response_format": {"type": "json_object"}}
    if form == "tools":
        function = {"name": "answer", "description": "The answer.", "parameters": dict(schema)}
        return {
            "tools": [{"type": "function", "function": function}],
            "tool_choice": {"type": "function", "function": {"name": "answer"}},
        }
    return {}


def _is_object(text: str, required: tuple[str, ...]) -> bool:
    try:
        found = json.loads(text)
    except ValueError:
        return False
    return isinstance(found, dict) and all(isinstance(found.get(key), str) for key in required)


# An endpoint behind a server of the OpenAI protocol: vLLM, llama.cpp, Ollama, OpenAI and others.
#
# A few requests run at the same time, each in a thread of its own. The list of models
# (`/v1/models`) is never asked for: some servers fail there and answer everywhere else.

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
