"""How the client talks to the service: problems become exceptions, and what may be tried again is.

Reads are tried again when the connection breaks or the database is away. A post is tried again when
nothing can have arrived, or when it carries an idempotency key, by which the service knows it.

What the parts of the client share: names in paths, progress, tables.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import httpx

from thinkeval.service.errors import ServiceError

if TYPE_CHECKING:
    import pandas as pd

ATTEMPTS = 4
BACKOFF_S = 0.25
"""Before the second attempt; twice that before the third, and so on."""
LONGEST_S = 30.0
"""What is waited at most where the service says when to come back."""
SILENCE_S = 60.0
"""A stream of events that is silent for so long is broken: the service pings every 15 s."""
LOOPBACK = ("localhost", "127.0.0.1", "::1")

TOKEN = "THINKEVAL_API_TOKEN"


class ProblemError(ServiceError):
    """The service refused, failed, or was not there.

    Attributes:
        detail: what happened and where.
        remedy: what to do about it.
        status: of the HTTP response; 0 where none came, or where the edit itself failed.
    """

    def __init__(self, detail: str, remedy: str = "", status: int = 0) -> None:
        super().__init__(detail, remedy=remedy)
        self.status = status

    def __str__(self) -> str:
        return f"{self.detail} → {self.remedy}" if self.remedy else self.detail


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event; `id` only where the stream can be resumed behind it."""

    name: str
    id: str | None = None
    data: dict[str, Any] = field(default_factory=dict)


class Http:
    """A connection to one service."""

    def __init__(
        self,
        base_url: str,
        token: str | None = None,
        timeout: float = 60.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.base_url = base_url
        secret = os.environ.get(TOKEN) if token is None else token
        self._client = httpx.Client(
            base_url=base_url,
            headers={"Authorization": f"Bearer {secret}"} if secret else {},
            timeout=timeout,
            transport=transport,
            # A proxy that the environment names does not lead to this machine's own ports.
            trust_env=urlsplit(base_url).hostname not in LOOPBACK,
        )

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def get(self, path: str, **params: Any) -> httpx.Response:
        """A read; None among the parameters is left out."""
        held = {key: value for key, value in params.items() if value is not None}
        return self._send("GET", path, repeatable=True, params=held)

    def json(self, path: str, **params: Any) -> Any:
        """A read's answer."""
        return _parsed(self.get(path, **params))

    def post(self, path: str, body: Any = None, **content: Any) -> Any:
        """A post of JSON, under an idempotency key of its own; the answer.

        Args:
            content: `files` and `data` of an upload, which carries no key.
        """
        if content:
            return _parsed(self._send("POST", path, repeatable=False, **content))
        headers = {"Idempotency-Key": uuid.uuid4().hex}
        return _parsed(self._send("POST", path, repeatable=True, json=body, headers=headers))

    def delete(self, path: str) -> None:
        """Remove something."""
        self._send("DELETE", path, repeatable=False)

    def pages(self, path: str, most: int | None, size: int, **params: Any) -> list[dict[str, Any]]:
        """Every item, page after page along `next`; at most `most`."""
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        while most is None or len(found) < most:
            wanted = size if most is None else min(size, most - len(found))
            page = self.json(path, limit=wanted, cursor=cursor, **params)
            found += page["items"]
            cursor = page.get("next")
            if cursor is None:
                break
        return found

    def events(self, path: str, last: str | None, patience: float | None) -> Iterator[Event]:
        """The events of a stream until it ends or breaks; go on with the last event's id.

        Args:
            patience: seconds of silence after which the stream is given up.

        Raises:
            ProblemError: there is no such thing to follow. Any other trouble ends the stream:
                whoever follows looks for themselves, then.
        """
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last} if last else {})
        silence = min(SILENCE_S, max(patience, 0.01)) if patience is not None else SILENCE_S
        timeout = httpx.Timeout(10.0, read=silence)
        try:
            with self._client.stream("GET", path, headers=headers, timeout=timeout) as response:
                if 400 <= response.status_code < 500:
                    response.read()
                    raise _problem(response)
                if response.status_code == 200:
                    yield from parse_events(response.iter_lines())
        except httpx.TransportError:
            return

    def _send(self, method: str, path: str, *, repeatable: bool, **content: Any) -> httpx.Response:
        for attempt in range(1, ATTEMPTS + 1):
            wait = BACKOFF_S * 2 ** (attempt - 1)
            try:
                response = self._client.request(method, path, **content)
            except httpx.TransportError as error:
                refused = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
                if attempt == ATTEMPTS or not (repeatable or refused):
                    raise self._unreachable(error) from error
                if content.get("files"):
                    raise self._unreachable(error) from error  # its file is read already
            else:
                if response.status_code not in (429, 503) or attempt == ATTEMPTS or not repeatable:
                    return _checked(response)
                wait = _retry_after(response, wait)
            time.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _unreachable(self, error: httpx.TransportError) -> ProblemError:
        if isinstance(error, httpx.ConnectError):
            return ProblemError(
                f"Nothing answers at {self.base_url}: {error}.",
                "Is `thinkeval serve` running? Give Client its address otherwise.",
            )
        kind = type(error).__name__
        return ProblemError(
            f"The connection to {self.base_url} failed: {kind} {error}".rstrip() + ".",
            "Try again; a larger `timeout` helps where answers take long.",
        )


def parse_events(lines: Iterator[str]) -> Iterator[Event]:
    """Server-sent events from their lines (WHATWG HTML, section 9.2.6)."""
    held: dict[str, str] = {}
    data: list[str] = []
    for line in lines:
        if line:
            key, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if key == "data":
                data.append(value)
            elif key in ("event", "id"):  # a line that begins with a colon is a ping
                held[key] = value
        elif data:
            told = json.loads("\n".join(data))
            yield Event(held.get("event", "message"), held.get("id"), told)
            held, data = {}, []


def _retry_after(response: httpx.Response, otherwise: float) -> float:
    said = response.headers.get("Retry-After", "")
    return min(float(said), LONGEST_S) if said.isdigit() else otherwise


def _checked(response: httpx.Response) -> httpx.Response:
    if response.is_success:
        return response
    raise _problem(response)


def _problem(response: httpx.Response) -> ProblemError:
    try:
        told = response.json()
    except ValueError:
        told = None
    if isinstance(told, Mapping) and "detail" in told:
        return ProblemError(str(told["detail"]), str(told.get("remedy", "")), response.status_code)
    return ProblemError(
        f"{response.request.url} answers {response.status_code} {response.reason_phrase}.",
        "Is that the address of ThinkEval's service?",
        response.status_code,
    )


def _parsed(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError as error:
        raise ProblemError(
            f"{response.request.url} answers something that is no JSON.",
            "Is that the address of ThinkEval's service?",
            response.status_code,
        ) from error


Progress = Callable[[str, float], object]
"""Called with the stage and how much is done, from 0 to 1."""


def part(name: str) -> str:
    """A name as one part of a path."""
    return quote(name, safe="")


def tell(progress: Progress | None, stage: str, fraction: float) -> None:
    """Tell whoever watches, if anybody does."""
    if progress is not None:
        progress(stage, fraction)


def frame(items: Iterable[Mapping[str, Any]], columns: Sequence[str] | None = None) -> pd.DataFrame:
    """A table; with its columns even where there is no row."""
    import pandas as pd

    return pd.DataFrame(list(items), columns=None if columns is None else list(columns))
