"""The client of servers that speak the OpenAI protocol: the only importer of `openai`.

It sends one request at a time, tries again where that can help (no connection, 408, 429, 5xx,
an answer that is no JSON), and turns every other failure into an `EndpointError` that names the
address, the status and the server's own text. The key is sent in the request's header only: it
is part of no error, log, representation, record or address.
"""

from __future__ import annotations

import json
import random
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib import import_module
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ...editing import interruption
from ...editing.probe.reasoning import unfinished
from . import proxies
from .errors import EndpointError, UsageError

# Completions of the OpenAI protocol: the content of a server's JSON, in one shape.
#
# Servers leave fields out, and give them other types than the protocol has; what cannot be read
# is absent here.


class ScoredToken(NamedTuple):
    """A token of a prompt or answer: its text, and its log-probability."""

    text: str
    log_p: float | None


@dataclass(frozen=True, slots=True)
class Completion:
    """The answer of a server.

    Attributes:
        text: of the first choice; empty where it is null. A server that gives reasoning in a field
            of its own and no answer with it (the limit of tokens ended it) gives a reasoning block
            that is not closed (`editing.probe.reasoning`).
        finish: the protocol's reason (`stop`, `length`, `content_filter`, ...), or `refusal` where
            the message has that field.
        arguments: of the first tool call, as JSON text; None without one.
        choices: number of choices.
        tokens_in, tokens_out: as counted by the server; None where it does not.
        seconds: of the successful try.
        tokens: of the first choice, each with its log-probability (None for the first of a prompt),
            where the server gives them (`logprobs`, with `echo` those of the prompt too).
    """

    text: str
    finish: str
    arguments: str | None
    choices: int
    tokens_in: int | None
    tokens_out: int | None
    seconds: float
    tokens: tuple[ScoredToken, ...] = ()


def usable(choices: object) -> bool:
    """Return True if the `choices` of an answer have a first one."""
    return isinstance(choices, list) and bool(choices) and isinstance(choices[0], dict)


def completion_of(found: dict[str, Any], seconds: float) -> Completion:
    """The first choice of a server's answer."""
    choice = found["choices"][0]
    message = _dict(choice.get("message"))
    text = _text(choice.get("text") if "text" in choice else message.get("content"))
    thought = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
    if thought.strip() and not text.strip() and not message.get("tool_calls"):
        text = unfinished(thought)
    refusal = message.get("refusal")
    usage = _dict(found.get("usage"))
    return Completion(
        text=refusal if isinstance(refusal, str) and refusal else text,
        finish="refusal" if refusal else str(choice.get("finish_reason") or "stop"),
        arguments=_arguments(message.get("tool_calls")),
        choices=len(found["choices"]),
        tokens_in=_number(usage.get("prompt_tokens")),
        tokens_out=_number(usage.get("completion_tokens")),
        seconds=seconds,
        tokens=_tokens(choice.get("logprobs")),
    )


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(content: object) -> str:
    """Content of a message: a text, or parts of which some have one."""
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _arguments(calls: object) -> str | None:
    if not isinstance(calls, list) or not calls or not isinstance(calls[0], dict):
        return None
    function = calls[0].get("function")
    arguments = function.get("arguments") if isinstance(function, dict) else None
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _tokens(found: object) -> tuple[ScoredToken, ...]:
    """Tokens of `logprobs` of `/completions`; empty where a field is missing or ill-formed."""
    parts = _dict(found)
    texts, values = parts.get("tokens"), parts.get("token_logprobs")
    if not isinstance(texts, list) or not isinstance(values, list) or len(texts) != len(values):
        return ()
    numbers = all(isinstance(value, int | float) or value is None for value in values)
    if not numbers or not all(isinstance(text, str) for text in texts):
        return ()
    return tuple(ScoredToken(*pair) for pair in zip(texts, values, strict=True))


TRIES = 5
TIMEOUT_S = 120.0
FIRST_PAUSE_S = 0.5
"""Pause after the first failure; doubled after each further one, up to `LONGEST_PAUSE_S`."""
LONGEST_PAUSE_S = 60.0
"""A server that asks for a longer pause (`Retry-After`) is not waited for."""
CHECK_S = 0.1
"""Seconds between two looks for an interruption during a pause."""
ADAPTED = {"max_tokens": ("max_completion_tokens", "max_completion_tokens"), "seed": ("", "seed")}
"""Fields that some servers refuse: the name used instead (none: left out), word of the refusal."""
SHOWN = 400
"""Characters of a server's text in an error, at most."""

REMEDIES = {
    **dict.fromkeys((301, 302, 303, 307, 308), "Name the address that it redirects to."),
    400: "Correct what the server names; the model's name must be the one that it serves.",
    401: "Set THINKEVAL_LLM_API_KEY to a key that this server accepts.",
    403: "Use a key that may use this model, or another model.",
    404: "Check address and model; the address usually ends in /v1.",
    429: "Wait until the server's limit allows more, or lower the number of concurrent calls; then "
    "resume the run.",
}
SERVER_REMEDY = "See the server's log; resume the run when it answers again."
PROXY_STATUS = (403, 407, 502, 503, 504)
"""Statuses with which a proxy itself answers."""
PROXY_REMEDY = (
    "Correct or unset the variable of the proxy, or add the server's host to NO_PROXY; then resume"
    " the run."
)
CONNECTION_REMEDY = "Start the server or correct its address; then resume the run."


def checked_address(address: str) -> str:
    """The address of a server without a trailing slash.

    Raises:
        UsageError: it is no http(s) address, or has a part that may hold a secret (user, query,
            fragment), which the message does not repeat.
    """
    text = address.strip().rstrip("/")
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        parts, host = urlsplit(""), None
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise UsageError(
            f"The address of the server at {host} has a user, a query or a fragment, which would "
            "be stored with the run.",
            remedy="Leave only http(s)://HOST:PORT/v1, and set THINKEVAL_LLM_API_KEY to the key.",
        )
    if parts.scheme not in ("http", "https") or not host:
        shown = text.rpartition("@")[2].partition("?")[0]
        raise UsageError(
            f"{shown!r} is no address of a server.",
            remedy="Give an address such as http://127.0.0.1:8000/v1.",
        )
    return text


class Client:
    """A client of one model on one server; may be used by several threads.

    Args:
        address: base of the protocol's paths, such as `http://127.0.0.1:8000/v1`.
        model: the model's name at that server.
        key: the secret of the server; None for servers without one.
        timeout_s: of one try.
        tries: number of tries of one request.
        pause_s: pause after the first failed try.
        check: called during pauses; raises if the work shall stop.

    Raises:
        UsageError: the package `openai` is missing, or the address or the environment's proxy for
            it cannot be used.
    """

    def __init__(
        self,
        address: str,
        model: str,
        key: str | None = None,
        *,
        timeout_s: float = TIMEOUT_S,
        tries: int = TRIES,
        pause_s: float = FIRST_PAUSE_S,
        check: Callable[[], None] = interruption.check,
    ) -> None:
        self.address, self.model = checked_address(address), model
        self._key = (key or "").strip() or None
        self._timeout_s, self._tries, self._pause_s, self._check = timeout_s, tries, pause_s, check
        self._openai = _library()
        self._names: dict[str, str] = {}
        # A redirection would lead to an address that no list of allowed ones has.
        connections = proxies.built(
            self.address,
            lambda environment: self._openai.DefaultHttpxClient(
                follow_redirects=False, trust_env=environment
            ),
        )
        weakref.finalize(self, connections.close)
        self._client = self._openai.OpenAI(
            # A key must be given, or the library takes OPENAI_API_KEY, which is another server's.
            api_key=self._key or "none",
            base_url=self.address,
            timeout=timeout_s,
            max_retries=0,
            http_client=connections,
        )
        self._client.organization = self._client.project = None  # from the environment, too

    def __repr__(self) -> str:
        return f"Client({self.address!r}, {self.model!r})"

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def chat(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        temperature: float,
        max_tokens: int,
        seed: int | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Completion:
        """The answer to a conversation.

        Args:
            messages: `role` and `content` of each turn.
            temperature: 0 for the most likely answer.
            max_tokens: maximum length of the answer.
            seed: of the server's random numbers, where it has them.
            extra: further fields of the request: `response_format`, `tools`, a server's own.

        Raises:
            EndpointError: the server refuses, or fails at every try.
        """
        body = {"messages": list(messages), "temperature": temperature, **_seed(seed)}
        return self._ask(body | dict(extra or {}), max_tokens)

    def complete(
        self,
        prompt: str,
        *,
        temperature: float,
        max_tokens: int,
        seed: int | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Completion:
        """The continuation of a text; arguments and errors are those of `chat`."""
        body = {"prompt": prompt, "temperature": temperature, **_seed(seed)}
        return self._ask(body | dict(extra or {}), max_tokens)

    def _ask(self, body: dict[str, Any], max_tokens: int) -> Completion:
        body["max_tokens"] = max_tokens
        while True:
            sent = self._adapted(body)
            try:
                return self._retried(sent)
            except EndpointError as error:
                if not self._learns(error, sent):
                    raise

    def _adapted(self, body: dict[str, Any]) -> dict[str, Any]:
        """The request without the fields that the server refuses, or with other names for them."""
        names = {field: self._names.get(field, field) for field in body}
        return {name: body[field] for field, name in names.items() if name}

    def _learns(self, error: EndpointError, sent: Mapping[str, Any]) -> bool:
        """Return True if the server refuses an optional field, or has another name for it."""
        for field, (name, mark) in ADAPTED.items():
            if error.answered in (400, 422) and field in sent and mark in error.detail:
                self._names[field] = name
                return True
        return False

    def _retried(self, body: dict[str, Any]) -> Completion:
        failure: _Failure | None = None
        for tried in range(self._tries):
            if failure is not None:
                self._wait(self._pause(failure, tried))
            self._check()
            began = time.perf_counter()
            result = self._once(body)
            if isinstance(result, _Failure):
                failure = result
                if not failure.again:
                    break
                continue
            return completion_of(result, time.perf_counter() - began)
        assert failure is not None
        raise self._error(failure)

    def _create(self, body: dict[str, Any]) -> Any:
        """Send a request: to a chat, or to the plain completion of a prompt."""
        first = "messages" if "messages" in body else "prompt"
        chat, plain = self._client.chat.completions, self._client.completions
        resource = chat if first == "messages" else plain
        rest = {field: value for field, value in body.items() if field not in ("model", first)}
        return resource.with_raw_response.create(
            model=self.model, **{first: body[first]}, extra_body=rest
        )

    def _once(self, body: dict[str, Any]) -> dict[str, Any] | _Failure:
        """The server's JSON object, or why there is none."""
        library = self._openai
        try:
            # The text is read here: the library raises other errors where it is no valid answer.
            text = self._create(body).http_response.text
        except library.APITimeoutError:
            return _Failure(None, f"no answer within {self._timeout_s:g} s")
        except library.APIConnectionError as error:
            return _Failure(None, f"no connection ({_cause(error)})")
        except library.APIStatusError as error:
            status = error.status_code
            again = status in (408, 429) or status >= 500
            wanted = _retry_after(error.response.headers.get("retry-after"))
            return _Failure(status, _server_text(error.response.text), again, wanted)
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return _Failure(200, f"the answer is no JSON: {_line(text)}")
        if not isinstance(found, dict) or not usable(found.get("choices")):
            return _Failure(200, f"the answer has no choices: {_line(text)}")
        return found

    def _pause(self, failure: _Failure, tried: int) -> float:
        """Seconds until the next try.

        Raises:
            EndpointError: the server asks for a longer pause than is waited for.
        """
        if failure.wanted_s is None:
            # Drawn from half to all of it, so that concurrent calls do not return together.
            pause = self._pause_s * 2 ** (tried - 1) * random.uniform(0.5, 1.0)
            return min(pause, LONGEST_PAUSE_S)
        if failure.wanted_s > LONGEST_PAUSE_S:
            raise self._error(failure)
        return failure.wanted_s

    def _wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._check()
            time.sleep(min(CHECK_S, left))

    def _error(self, failure: _Failure) -> EndpointError:
        status = failure.status
        text = failure.text.replace(self._key, "***") if self._key else failure.text
        asked = f"; it asks to wait {failure.wanted_s:g} s" if failure.wanted_s else ""
        shown = f"status {status}: " if status else ""
        tries = f" after {self._tries} tries" if failure.again and not asked else ""
        remedy = CONNECTION_REMEDY if status is None else REMEDIES.get(status, SERVER_REMEDY)
        proxy = proxies.through(self.address)
        if proxy and (status is None or status in PROXY_STATUS):
            remedy = PROXY_REMEDY
        return EndpointError(
            f"The model {self.model!r} at {self.address} does not answer{tries}{proxy}: "
            f"{shown}{text}{asked}",
            remedy=remedy,
            answered=status,
        )


@dataclass(frozen=True, slots=True)
class _Failure:
    """A failed try: HTTP status (None without an answer), text, and if and when to try again."""

    status: int | None
    text: str
    again: bool = True
    wanted_s: float | None = None


def _library() -> Any:
    try:
        return import_module("openai")
    except ImportError as error:
        raise UsageError(
            "A model behind a server needs the package `openai`, which is not installed.",
            remedy='pip install "thinkeval[llm]"',
        ) from error


def _seed(seed: int | None) -> dict[str, int]:
    return {} if seed is None else {"seed": seed}


def _server_text(text: str) -> str:
    """The server's own words about a failure, in one line."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return _line(text)
    for field in ("detail", "error", "message"):
        if isinstance(found, dict) and found.get(field):
            found = found[field]
    if isinstance(found, dict) and found.get("message"):
        found = found["message"]
    return _line(found if isinstance(found, str) else json.dumps(found, ensure_ascii=False))


def _line(text: str) -> str:
    line = " ".join(text.split()) or "(no text)"
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 3]}..."


def _cause(error: BaseException) -> str:
    """The innermost cause: the library's own text is only `Connection error.`."""
    while error.__cause__ is not None:
        error = error.__cause__
    return _line(str(error) or type(error).__name__)


def _retry_after(value: str | None) -> float | None:
    """Seconds of a `Retry-After` header: a number, or a date (RFC 9110, section 10.2.3)."""
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    # A date without zone is in UTC.
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.now(UTC)).total_seconds())
