"""The exception tree, and the one shape of an error in every interface (CLI, REST, web UI).

    LoaderError        a file is not of the format it claims       loaders/errors.py
    GraphError         Neo4j refused, failed or is unreachable     cypher/errors.py
    EditingError       a model could not be loaded, probed, edited editing/errors.py
    ServiceError       errors of the composer itself
    ├── NotFoundError      unknown graph, rewrite, edit, metric ... (with "did you mean")
    ├── ConflictError      a different resource of the same name is already stored
    ├── UsageError         options that do not go together
    ├── NothingStoredError no stored data yet
    ├── LeaseLostError     the job belongs to another process now
    ├── QueueFullError     too many queued edits
    ├── ForbiddenError     access denied
    └── CommandStoppedError  an error that ends all jobs of a command

Every error has `detail` (cause and place) and `remedy` (the next action). The first line
of a class's docstring is the `title` that users see.
"""

from __future__ import annotations

import difflib
import errno
import heapq
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ...cypher.errors import (
    DiskFullError,
    GraphError,
    ParameterError,
    QueryTimeoutError,
    QueryTooLargeError,
    ServerUnavailableError,
    UnknownGraphError,
    UnknownQueryError,
)
from ...editing.errors import EditingError
from ...loaders.errors import LoaderError


class DatabaseStartingError(ServerUnavailableError):
    """The database is starting."""


class ServiceError(Exception):
    """The request failed.

    Attributes:
        detail: cause and place.
        remedy: the next action for the user.
        status: HTTP status of the answer.
    """

    remedy = "See `thinkeval --help`."
    status = 400

    def __init__(
        self, detail: str, *, remedy: str | None = None, status: int | None = None
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        if remedy is not None:
            self.remedy = remedy
        if status is not None:
            self.status = status


SUGGESTED = 3
"""Close names in an error at most."""
CLOSE, CLOSE_PREFIX = 0.5, 0.8
"""Least similarity of a suggestion: of the complete name, and of its beginning."""


def close_names(name: str, known: Iterable[str], *, most: int = SUGGESTED) -> list[str]:
    """The known names most similar to a mistyped one, best first.

    A name may be given by its beginning (`harry-potter--studied-at` for
    `harry-potter--studied-at--ilvermorny`), so a known name is compared complete and cut to the
    length of the mistyped one; the better of the two ranks it, then the complete one. Capitals do
    not count.
    """
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(name.casefold())

    def similarity(text: str, least: float) -> float:
        matcher.set_seq1(text.casefold())
        bounds = (matcher.real_quick_ratio, matcher.quick_ratio)  # upper bounds, and cheap
        if any(bound() < least for bound in bounds):
            return 0.0
        ratio = matcher.ratio()
        return ratio if ratio >= least else 0.0

    def ranked() -> Iterator[tuple[float, float, str]]:
        for each in sorted(set(known)):
            complete = similarity(each, CLOSE)
            start = similarity(each[: len(name)], CLOSE_PREFIX) if len(name) > 2 else 0.0
            if complete or start:
                yield max(complete, start), complete, each

    return [each for _, _, each in heapq.nlargest(most, ranked(), key=lambda found: found[:2])]


def did_you_mean(close: Iterable[str]) -> str:
    """`Did you mean 'a' or 'b'?` of close names; "" without one."""
    listed = " or ".join(repr(name) for name in close)
    return f"Did you mean {listed}?" if listed else ""


class NotFoundError(ServiceError):
    """Not found.

    Attributes:
        kind: of the missing resource: graph, rewrite, edit ...
        name: the name that was given.
        suggestions: the known names most similar to it.
    """

    status = 404

    def __init__(self, kind: str, name: str, known: Iterable[str], *, listing: str) -> None:
        close = close_names(name, known)
        super().__init__(
            f"There is no {kind} {name!r}. {did_you_mean(close)}".rstrip(),
            remedy=f"`{listing}` lists them.",
        )
        self.kind, self.name, self.suggestions = kind, name, close


class ConflictError(ServiceError):
    """A different resource of this name is already stored."""

    status = 409


class UsageError(ServiceError):
    """The request is invalid.

    Options do not go together, or a value is out of range.
    """

    status = 422


class NothingStoredError(ServiceError):
    """No data is stored yet for this request."""

    status = 404


class QueueFullError(ServiceError):
    """The queue is full."""

    status = 429
    remedy = "Submit the edit again when some of the queue is finished; see Retry-After."
    retry_after_s = 30


class ForbiddenError(ServiceError):
    """Access denied."""

    status = 403
    remedy = "Send the service's token: `Authorization: Bearer TOKEN`, or sign in to the web UI."


class CommandStoppedError(ServiceError):
    """The jobs of a command stopped; what they finished is stored."""

    status = 503
    remedy = "Fix the cause and run the command again; it resumes where it stopped."


class EndpointError(ServiceError):
    """The model endpoint does not answer.

    The run pauses; every answer that came before is stored.

    Attributes:
        answered: HTTP status of the endpoint's own answer; None if there was none.
    """

    status = 502

    def __init__(
        self, detail: str, *, remedy: str | None = None, answered: int | None = None
    ) -> None:
        super().__init__(detail, remedy=remedy)
        self.answered = answered


class LeaseLostError(ServiceError):
    """The job belongs to another process by now."""

    status = 409
    remedy = "Wait until that has finished it; its result is the one that counts."

    def __init__(self) -> None:
        super().__init__(
            "Another process has taken over this job: its lease expired, or it was ended."
        )


class JobInterrupt(KeyboardInterrupt):
    """Stops the job that a worker is running: it was cancelled, or the worker is shutting down.

    Attributes:
        cancelled: False if the worker shuts down; the job is requeued then.
    """

    def __init__(self, *, cancelled: bool) -> None:
        super().__init__("cancelled" if cancelled else "the worker is shutting down")
        self.cancelled = cancelled


class TimeLimitInterrupt(JobInterrupt):
    """Stops a job that takes longer than it may; it fails.

    An interrupt: a step that is not essential would only note a usual error.
    """

    def __init__(self) -> None:
        super().__init__(cancelled=True)


KNOWN_ERRORS = (LoaderError, GraphError, EditingError, ServiceError)
"""Errors that a user can cause or fix; any other is a defect and keeps its traceback."""


def is_interrupt(error: BaseException | None) -> bool:
    """Return True if an error is a Ctrl-C, or was raised because of one.

    A library that is interrupted in the middle may raise an error of its own from it.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, KeyboardInterrupt):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


DISK_REMEDY = (
    "Free some space, or name folders on another disk by THINKEVAL_HOME and THINKEVAL_CACHE, and"
    " run it again: what is stored is not done again."
)


def is_disk_full(error: Exception) -> bool:
    """Return True if a disk has no space left; not every library raises an OSError then."""
    return os.strerror(errno.ENOSPC) in str(error)


def in_one_line(error: GraphError | EditingError | LoaderError | ServiceError) -> str:
    """Detail and remedy of an error, for a cell of a table."""
    return f"{error.detail} → {error.remedy}"


@dataclass(frozen=True, slots=True)
class Problem:
    """An error as every interface shows it (RFC 9457 fields plus `remedy`)."""

    title: str
    detail: str
    remedy: str
    status: int
    code: str = "failed"


CODES: dict[str, str] = {
    "not-found": "no resource has this name; `detail` suggests close ones",
    "nothing-stored": "the resource has no data of this kind yet",
    "conflict": "another resource has this name, or the job is under way",
    "invalid-request": "a field of the body, the path or the query is wrong; see `errors`",
    "invalid-options": "options that do not go together, or a name that is ambiguous",
    "unreadable-file": "a file is not of the format it claims",
    "model": "a model, method or hyperparameter cannot be used",
    "forbidden": "access denied",
    "refused": "the request is not accepted as HTTP",
    "too-large": "the body is too large",
    "no-such-route": "no route has this path",
    "method-not-allowed": "the path has no such method; `Allow` lists those it has",
    "queue-full": "too many jobs wait; see `Retry-After`",
    "job-taken": "another process has taken over the job",
    "command-stopped": "the jobs of a command stopped; what they finished is stored",
    "endpoint": "the endpoint of a model does not answer",
    "database-unavailable": "the database is starting, or does not answer; see `Retry-After`",
    "query-limit": "a query takes too long or returns too much",
    "disk-full": "the disk of the database is full; nothing was written",
    "database": "the database refused a query",
    "failed": "the request failed",
    "internal": "a defect of the service",
}
"""The codes of problems, with their meanings; a code is never given another meaning."""

_CODE: dict[type[Exception], str] = {
    NotFoundError: "not-found",
    UnknownGraphError: "not-found",
    UnknownQueryError: "not-found",
    NothingStoredError: "nothing-stored",
    ConflictError: "conflict",
    UsageError: "invalid-options",
    ParameterError: "invalid-options",
    LoaderError: "unreadable-file",
    EditingError: "model",
    ForbiddenError: "forbidden",
    QueueFullError: "queue-full",
    LeaseLostError: "job-taken",
    CommandStoppedError: "command-stopped",
    EndpointError: "endpoint",
    ServerUnavailableError: "database-unavailable",
    QueryTimeoutError: "query-limit",
    QueryTooLargeError: "query-limit",
    DiskFullError: "disk-full",
    GraphError: "database",
    ServiceError: "failed",
}
"""The codes of classes of errors, the closest class first."""


_STATUS: dict[type[Exception], int] = {
    ServerUnavailableError: 503,
    QueryTimeoutError: 504,
    QueryTooLargeError: 503,
    DiskFullError: 507,
    UnknownGraphError: 404,
    UnknownQueryError: 404,
    ParameterError: 422,
    GraphError: 500,
    EditingError: 422,
    LoaderError: 422,
}
"""HTTP statuses of the errors of the other packages, the closest class first."""


def status_of(kind: type[Exception]) -> int:
    """The HTTP status of a class of errors, unless one of them has a status of its own."""
    by_class = (_STATUS[each] for each in kind.__mro__ if each in _STATUS)
    return int(getattr(kind, "status", 0)) or next(by_class, 500)


def code_of(kind: type[Exception]) -> str:
    """The code of a class of errors, one of `CODES`."""
    return next((_CODE[each] for each in kind.__mro__ if each in _CODE), "internal")


def describe(error: Exception) -> Problem:
    """The problem that CLI and REST show for an error."""
    doc = (type(error).__doc__ or type(error).__name__).strip().splitlines()[0]
    return Problem(
        title=doc.rstrip("."),
        detail=str(getattr(error, "detail", error)),
        remedy=str(getattr(error, "remedy", "")),
        status=int(getattr(error, "status", 0)) or status_of(type(error)),
        code=code_of(type(error)),
    )
