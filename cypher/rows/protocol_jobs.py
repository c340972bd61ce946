"""Rows of `protocol_jobs/`: runs of the protocol as work that a worker does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from thinkeval.cypher.rows.base import Row


@dataclass(frozen=True)
class PostJobRow(Row):
    """What became of a posted job: created, queued, known, full or conflict."""

    QUERY: ClassVar[str] = "protocol_jobs/post"
    outcome: str
    id: str | None
    status: str | None
    waiting: int


@dataclass(frozen=True)
class ClaimJobRow(Row):
    """The job a worker got; `request` is JSON, `runs` were done before."""

    QUERY: ClassVar[str] = "protocol_jobs/claim"
    id: str
    request: str
    affinity: str
    runs: tuple[str, ...]
    attempts: int


@dataclass(frozen=True)
class PageJobRow(Row):
    """A job in a list."""

    QUERY: ClassVar[str] = "protocol_jobs/page"
    id: str
    status: str
    progress: float
    stage: str | None
    total: int
    runs: tuple[str, ...]
    sets: tuple[str, ...]
    strategies: tuple[str, ...]
    model: str
    graph: str | None
    error: str | None
    remedy: str | None
    attempts: int
    created_at: str
    finished_at: str | None


@dataclass(frozen=True)
class ProtocolJobRow(PageJobRow):
    """How a job stands; `events` are JSON, oldest first."""

    QUERY: ClassVar[str] = "protocol_jobs/get"
    events: tuple[str, ...]


@dataclass(frozen=True)
class JobsStateRow(Row):
    """Jobs in one status."""

    QUERY: ClassVar[str] = "protocol_jobs/state"
    status: str
    jobs: int


@dataclass(frozen=True)
class JobRanRow(Row):
    """How many runs of a job are done."""

    QUERY: ClassVar[str] = "protocol_jobs/ran"
    done: int


@dataclass(frozen=True)
class EndJobRow(Row):
    """The status of a job that has ended."""

    QUERY: ClassVar[str] = "protocol_jobs/end"
    status: str


@dataclass(frozen=True)
class CancelJobRow(Row):
    """A job that shall stop, and its status now."""

    QUERY: ClassVar[str] = "protocol_jobs/cancel"
    id: str
    status: str


@dataclass(frozen=True)
class RunningJobRow(Row):
    """A job under way; `silent_s` is None where its worker is not known."""

    QUERY: ClassVar[str] = "protocol_jobs/running"
    id: str
    owner: str | None
    silent_s: float | None


@dataclass(frozen=True)
class ReleaseJobRow(Row):
    """The status of a job that lost its worker."""

    QUERY: ClassVar[str] = "protocol_jobs/release"
    status: str


@dataclass(frozen=True)
class DeleteJobRow(Row):
    """How many jobs were forgotten."""

    QUERY: ClassVar[str] = "protocol_jobs/delete"
    jobs: int
