"""Rows of `jobs/`: jobs of every kind, their leases, the workers, lists of edits, sweeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .base import Row


@dataclass(frozen=True)
class SubmitJobsRow(Row):
    """Outcome of a submitted job: created, queued, known, full or conflict."""

    QUERY: ClassVar[str] = "jobs/submit"
    submitted: str
    outcome: str
    id: str | None
    waiting: int


@dataclass(frozen=True)
class ClaimJobRow(Row):
    """The job that a worker claimed; `request` is JSON, `parts` were stored by earlier attempts."""

    QUERY: ClassVar[str] = "jobs/claim"
    id: str
    kind: str
    request: str
    affinity: str
    attempt: int
    attempts: int
    parts: tuple[str, ...]


@dataclass(frozen=True)
class BeginJobRow(Row):
    """Whether a command got the lease of a job, and the lease's number."""

    QUERY: ClassVar[str] = "jobs/begin"
    begun: bool
    attempt: int


@dataclass(frozen=True)
class HeartbeatRow(Row):
    """Whether the lease is still this process's, and whether the job shall be cancelled."""

    QUERY: ClassVar[str] = "jobs/heartbeat"
    valid: bool
    cancel: bool


@dataclass(frozen=True)
class BusyJobRow(Row):
    """Whether another process works on a job."""

    QUERY: ClassVar[str] = "jobs/busy"
    busy: bool


@dataclass(frozen=True)
class JobStageRow(Row):
    """Whether the job that entered a stage shall be cancelled."""

    QUERY: ClassVar[str] = "jobs/stage"
    cancel: bool


@dataclass(frozen=True)
class HoldLeaseRow(Row):
    """The job whose lease a transaction holds."""

    QUERY: ClassVar[str] = "jobs/hold"
    id: str
    cancel: bool


@dataclass(frozen=True)
class JobPartRow(Row):
    """How many parts of a job are stored."""

    QUERY: ClassVar[str] = "jobs/part"
    done: int
    cancel: bool


@dataclass(frozen=True)
class SettleIdRow(Row):
    """A job's final id, and whether there is anything left to do."""

    QUERY: ClassVar[str] = "jobs/settle_id"
    id: str
    busy: bool
    do_it: bool


@dataclass(frozen=True)
class FinishJobRow(Row):
    """The job that was finished, unless it shall be cancelled."""

    QUERY: ClassVar[str] = "jobs/finish"
    id: str
    finished: bool


@dataclass(frozen=True)
class ReleaseJobRow(Row):
    """The status of a job that was taken from its worker."""

    QUERY: ClassVar[str] = "jobs/release"
    id: str
    kind: str
    status: str


@dataclass(frozen=True)
class OrphanRow(Row):
    """A job whose lease has expired, and whether its worker alone died."""

    QUERY: ClassVar[str] = "jobs/orphans"
    id: str
    lease: str
    attempt: int
    lease_until: int
    expired: bool
    crashed: bool


@dataclass(frozen=True)
class ServiceBeatRow(Row):
    """How many services are known."""

    QUERY: ClassVar[str] = "jobs/service_beat"
    services: int


@dataclass(frozen=True)
class CancelJobsRow(Row):
    """A job that shall be cancelled, and its status now."""

    QUERY: ClassVar[str] = "jobs/cancel"
    id: str
    status: str


@dataclass(frozen=True)
class OverdueRow(Row):
    """A worker that has not stopped although its job was cancelled."""

    QUERY: ClassVar[str] = "jobs/overdue"
    worker: str


@dataclass(frozen=True)
class PageJobRow(Row):
    """A job in a list; `request` is JSON."""

    QUERY: ClassVar[str] = "jobs/page"
    id: str
    status: str
    progress: float
    stage: str | None
    request: str | None
    total: int
    parts: tuple[str, ...]
    error: str | None
    remedy: str | None
    attempts: int
    created_at: str
    finished_at: str | None


@dataclass(frozen=True)
class JobRow(PageJobRow):
    """The status of a job; `events` are JSON, oldest first."""

    QUERY: ClassVar[str] = "jobs/get"
    posted_as: tuple[str, ...]
    events: tuple[str, ...]


@dataclass(frozen=True)
class CountJobsRow(Row):
    """Jobs of a kind in one status."""

    QUERY: ClassVar[str] = "jobs/counts"
    status: str
    jobs: int


@dataclass(frozen=True)
class DeleteJobRow(Row):
    """How many jobs were deleted."""

    QUERY: ClassVar[str] = "jobs/delete"
    jobs: int


@dataclass(frozen=True)
class WorkerRow(Row):
    """A worker and the job it works on."""

    QUERY: ClassVar[str] = "jobs/workers"
    id: str
    device: str | None
    host: str | None
    pid: int | None
    kind: str | None
    job: str | None
    started_at: str
    silent_s: float


@dataclass(frozen=True)
class ForgetWorkersRow(Row):
    """How many workers were removed from the list."""

    QUERY: ClassVar[str] = "jobs/forget_workers"
    workers: int


@dataclass(frozen=True)
class MergeSweepRow(Row):
    """Whether a sweep was recorded for the first time."""

    QUERY: ClassVar[str] = "jobs/merge_sweep"
    created: bool


@dataclass(frozen=True)
class SweepRow(Row):
    """A recorded sweep; `request` is JSON."""

    QUERY: ClassVar[str] = "jobs/sweeps"
    id: str
    request: str
    posted_as: tuple[str, ...]
    created_at: str


@dataclass(frozen=True)
class DeleteSweepRow(Row):
    """How many sweeps were forgotten."""

    QUERY: ClassVar[str] = "jobs/delete_sweep"
    sweeps: int


@dataclass(frozen=True)
class JobResultRow(Row):
    """The job whose result is recorded."""

    QUERY: ClassVar[str] = "jobs/set_result"
    id: str
