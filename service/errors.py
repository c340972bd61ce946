"""The exception tree, and the one shape in which every way in (CLI, REST) shows an error.

    LoaderError        a file is not what it claims to be          loaders/errors.py
    GraphError         Neo4j refused, failed or is not there       cypher/errors.py
    EditingError       a model could not be loaded, probed, edited editing/errors.py
    ServiceError       what the composer itself finds wrong
    ├── NotFoundError      no such graph, rewrite, edit, metric ... (with "did you mean")
    ├── ConflictError      the thing exists already and differs
    ├── UsageError         options that do not go together
    ├── NothingStoredError there is nothing yet to show
    ├── QueueFullError     too many edits wait to be scored
    ├── ForbiddenError     who asks may not
    └── SweepStoppedError  an error that ends a whole sweep

Every one of them has `detail` (what and where) and `remedy` (what to do next).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from thinkeval.cypher.errors import (
    GraphError,
    ParameterError,
    QueryTimeoutError,
    QueryTooLargeError,
    ServerUnavailableError,
    UnknownGraphError,
    UnknownQueryError,
)
from thinkeval.editing.errors import EditingError
from thinkeval.loaders.errors import LoaderError


class ServiceError(Exception):
    """The composer found something wrong.

    Attributes:
        detail: what happened and where.
        remedy: what the user can do about it.
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


class NotFoundError(ServiceError):
    """There is nothing of that name; close names are suggested."""

    status = 404

    def __init__(self, kind: str, name: str, known: Iterable[str], *, listing: str) -> None:
        names = sorted(set(known))
        close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        hint = f" Did you mean {' or '.join(repr(c) for c in close)}?" if close else ""
        super().__init__(f"There is no {kind} {name!r}.{hint}", remedy=f"`{listing}` lists them.")
        self.kind, self.name, self.suggestions = kind, name, close


class ConflictError(ServiceError):
    """Something of that name is stored already and differs."""

    status = 409


class UsageError(ServiceError):
    """Options that do not go together, or a value out of range."""

    status = 422


class NothingStoredError(ServiceError):
    """The command shows stored things, and there is none yet."""

    status = 404


class QueueFullError(ServiceError):
    """Too many edits wait to be scored."""

    status = 429
    remedy = "Post it again when some of them are done; see Retry-After."
    retry_after_s = 30


class ForbiddenError(ServiceError):
    """Who asks may not do this."""

    status = 403
    remedy = "Send the service's token: `Authorization: Bearer TOKEN`, or log in on the page."


class SweepStoppedError(ServiceError):
    """A sweep cannot go on; what it scored stays."""

    status = 503
    remedy = "Mend that and run the same sweep again; it goes on where it stopped."


class JobInterrupt(KeyboardInterrupt):
    """A worker is told to stop what it does: the edit is cancelled, or will be taken up again."""

    def __init__(self, *, cancelled: bool) -> None:
        super().__init__("cancelled" if cancelled else "the worker ends")
        self.cancelled = cancelled


KNOWN_ERRORS = (LoaderError, GraphError, EditingError, ServiceError)
"""What a user can cause or mend; anything else is a defect of ours and keeps its traceback."""


def in_one_line(error: GraphError | EditingError | LoaderError | ServiceError) -> str:
    """What went wrong and what to do about it, for a cell of a table."""
    return f"{error.detail} → {error.remedy}"


@dataclass(frozen=True, slots=True)
class Problem:
    """An error as every way in shows it (RFC 9457 fields plus `remedy`)."""

    title: str
    detail: str
    remedy: str
    status: int


_STATUS: dict[type[Exception], int] = {
    ServerUnavailableError: 503,
    QueryTimeoutError: 504,
    QueryTooLargeError: 503,
    UnknownGraphError: 404,
    UnknownQueryError: 404,
    ParameterError: 422,
    GraphError: 500,
    EditingError: 422,
    LoaderError: 422,
}
"""HTTP statuses of the errors of the other rooms, the closest class first."""


def _status(error: Exception) -> int:
    by_class = (_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS)
    return int(getattr(error, "status", 0)) or next(by_class, 500)


def describe(error: Exception) -> Problem:
    """The error in the shape that CLI and REST share."""
    doc = (type(error).__doc__ or type(error).__name__).strip().splitlines()[0]
    return Problem(
        title=doc.rstrip("."),
        detail=str(getattr(error, "detail", error)),
        remedy=str(getattr(error, "remedy", "")),
        status=_status(error),
    )
