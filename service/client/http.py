"""HTTP transport of the client: maps problem+json to exceptions and retries idempotent requests.

Reads are retried if the connection breaks or the database is unavailable. A POST is retried if the
connection was refused, or if it carries an idempotency key, by which the service recognises it.
Helpers of all parts of the client are here too: path segments, progress, tables.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import quote

import httpx

from ..base import proxies
from ..base.errors import ServiceError
from ..models.edit import JobState

if TYPE_CHECKING:
    import pandas as pd


ATTEMPTS = 4
BACKOFF_S = 0.25
"""Delay before the second attempt; it doubles with each further one."""
LONGEST_S = 30.0
"""Maximum delay by `Retry-After`."""

TOKEN, URL = "THINKEVAL_API_TOKEN", "THINKEVAL_URL"
HERE = "http://127.0.0.1:8000"
"""Address of `thinkeval serve`, if neither the caller nor `THINKEVAL_URL` names one."""


class ProblemError(ServiceError):
    """The service refused a request, failed, or was unreachable.

    Attributes:
        detail: the problem.
        remedy: how to fix it.
        status: HTTP status; 0 without a response, or if the edit itself failed.
        code: kind of problem, for programs, such as `not-found`; "" without a response.
    """

    def __init__(self, detail: str, remedy: str = "", status: int = 0, code: str = "") -> None:
        super().__init__(detail, remedy=remedy)
        self.status, self.code = status, code

    def __str__(self) -> str:
        return f"{self.detail} → {self.remedy}" if self.remedy else self.detail


class Http:
    """A connection to one service."""

    def __init__(
        self,
        base_url: str | None = None,
        token: str | None = None,
        timeout: float = 60.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        base_url = base_url or os.environ.get(URL) or HERE
        self.base_url = base_url
        secret = os.environ.get(TOKEN) if token is None else token
        self._client = proxies.built(
            base_url,
            lambda environment: httpx.Client(
                base_url=base_url,
                headers={"Authorization": f"Bearer {secret}"} if secret else {},
                timeout=timeout,
                transport=transport,
                trust_env=environment,
            ),
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def get(self, path: str, **params: Any) -> httpx.Response:
        """Send a GET request; parameters that are None are omitted."""
        given = {key: value for key, value in params.items() if value is not None}
        return self._send("GET", path, repeatable=True, params=given)

    def json(self, path: str, **params: Any) -> Any:
        """Send a GET request; the parsed response."""
        return _parsed(self.get(path, **params))

    def post(self, path: str, body: Any = None, **content: Any) -> Any:
        """Send a POST request of JSON with a new idempotency key; the parsed response.

        Args:
            content: `files` and `data` of an upload, sent without a key.
        """
        if content:
            return _parsed(self._send("POST", path, repeatable=False, **content))
        headers = {"Idempotency-Key": uuid.uuid4().hex}
        return _parsed(self._send("POST", path, repeatable=True, json=body, headers=headers))

    def delete(self, path: str) -> None:
        """Send a DELETE request."""
        self._send("DELETE", path, repeatable=False)

    def pages(self, path: str, most: int | None, size: int, **params: Any) -> list[dict[str, Any]]:
        """The items of all pages, passing `next` as `cursor`; at most `most`."""
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
                    raise self._unreachable(error) from error  # its file was already read
            else:
                if response.status_code not in (429, 503) or attempt == ATTEMPTS or not repeatable:
                    return _checked(response)
                wait = _retry_after(response, wait)
            time.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _unreachable(self, error: httpx.TransportError) -> ProblemError:
        if isinstance(error, httpx.ConnectError):
            return ProblemError(
                f"Nothing answers at {self.base_url}{proxies.through(self.base_url)}: {error}.",
                "Start `thinkeval serve`, or give Client its address.",
            )
        kind = type(error).__name__
        return ProblemError(
            f"The connection to {self.base_url}{proxies.through(self.base_url)} failed:"
            f" {kind} {error}".rstrip()
            + ".",
            "Try again, with a larger `timeout` for slow responses.",
        )


def _retry_after(response: httpx.Response, otherwise: float) -> float:
    header = response.headers.get("Retry-After", "")
    return min(float(header), LONGEST_S) if header.isdigit() else otherwise


def _checked(response: httpx.Response) -> httpx.Response:
    if response.is_success:
        return response
    raise _problem(response)


def _problem(response: httpx.Response) -> ProblemError:
    try:
        problem = response.json()
    except ValueError:
        problem = None
    if isinstance(problem, Mapping) and "detail" in problem:
        remedy = str(problem.get("remedy", ""))
        code = str(problem.get("code", ""))
        return ProblemError(str(problem["detail"]), remedy, response.status_code, code)
    return ProblemError(
        f"{response.request.url} answers {response.status_code} {response.reason_phrase}.",
        "Check that this is the address of a ThinkEval service.",
        response.status_code,
    )


def _parsed(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError as error:
        raise ProblemError(
            f"{response.request.url} answers with a body that is not JSON.",
            "Check that this is the address of a ThinkEval service.",
            response.status_code,
        ) from error


Progress = Callable[[str, float], object]
"""Called with the stage and the finished fraction, from 0 to 1."""


class OfEdit(Protocol):
    """An object about an edit: a score, or a compared request."""

    edit: str


class Identified(Protocol):
    """An object with an id: a submitted edit, a comparison, a co-edit."""

    id: str


Named = OfEdit | Identified
"""Values that a method takes in place of an id."""


def id_of(name: str | Named) -> str:
    """Return the id of the named object."""
    if isinstance(name, str):
        return name
    found: str = getattr(name, "edit", None) or getattr(name, "id")  # noqa: B009
    return found


def part(name: str | Named) -> str:
    """Quote an id as one segment of a path."""
    return quote(id_of(name), safe="")


POLL_S = 0.5
"""Pause between two looks at a job."""

FollowedT = TypeVar("FollowedT", bound=JobState)


def follow(
    look: Callable[[], FollowedT],
    ended: Collection[str],
    late: Callable[[FollowedT], str],
    progress: Progress | None,
    timeout: float | None,
) -> FollowedT:
    """Look at a job until its status is one of `ended`.

    Args:
        late: says of the job that it has not ended in time.
        timeout: maximum seconds to wait.

    Raises:
        TimeoutError: not ended in time; the job continues.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        found = look()
        report(progress, found.stage or found.status, found.progress)
        if found.status in ended:
            return found
        if deadline is not None and time.monotonic() > deadline:
            raise TimeoutError(late(found))
        time.sleep(POLL_S)


def failure(found: JobState, name: str, remedy: str) -> ProblemError:
    """Return the error of a job that failed or was cancelled, with reason and remedy."""
    detail = f"{name} {found.status}: {found.error or 'without a reason'}"
    return ProblemError(detail, found.remedy or remedy)


def report(progress: Progress | None, stage: str, fraction: float) -> None:
    """Call the progress callback, if there is one."""
    if progress is not None:
        progress(stage, fraction)


def frame(items: Iterable[Mapping[str, Any]], columns: Sequence[str] | None = None) -> pd.DataFrame:
    """A DataFrame, with its columns even without rows."""
    import pandas as pd

    return pd.DataFrame(list(items), columns=None if columns is None else list(columns))
