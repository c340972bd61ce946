"""Rows of `jobs/`: jobs of every kind, their leases, the workers, lists of edits, sweeps."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Row


@dataclass(frozen=True)
class SubmitJobsRow(Row):
    """Outcome of a submitted job.

    Attributes:
        outcome: created, queued (again), known, full, or conflict (the idempotency key belongs to
            another body); where one is full, nothing is stored.
        waiting: jobs that were queued or running before.
    """

    submitted: str
    outcome: str
    id: str | None
    waiting: int


@dataclass(frozen=True)
class ClaimJobRow(Row):
    """A job that was claimed; `request` is JSON, `parts` were stored by earlier attempts.

    Attributes:
        worker: id of the executor it was claimed for.
        attempt: number of the lease, which grows with every claim.
        attempts: number of starts, this one included.
    """

    worker: str
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

    begun: bool
    attempt: int


@dataclass(frozen=True)
class RenewalRow(Row):
    """A lease: still its process's, or not; and true if its job shall be cancelled."""

    worker: str | None
    lease: str | None
    valid: bool
    cancel: bool


@dataclass(frozen=True)
class HoldLeaseRow(Row):
    """The job whose lease a transaction holds."""

    id: str
    cancel: bool


@dataclass(frozen=True)
class JobPartRow(Row):
    """How many parts of a job are stored."""

    done: int
    cancel: bool


@dataclass(frozen=True)
class SettleIdRow(Row):
    """A job's final id, and whether there is anything left to do."""

    id: str
    busy: bool
    do_it: bool


@dataclass(frozen=True)
class FinishJobRow(Row):
    """The job that was finished, unless it shall be cancelled."""

    id: str
    finished: bool


@dataclass(frozen=True)
class ReleaseJobRow(Row):
    """The status of a job that was taken from its worker."""

    id: str
    kind: str
    status: str


@dataclass(frozen=True)
class OrphanRow(Row):
    """A job whose lease has expired."""

    id: str
    lease: str
    attempt: int
    lease_until: int
    expired: bool


@dataclass(frozen=True)
class CancelJobsRow(Row):
    """A job that shall be cancelled, and its status now."""

    id: str
    status: str


@dataclass(frozen=True)
class PageJobRow(Row):
    """A job in a list; `request` is JSON."""

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

    posted_as: tuple[str, ...]
    events: tuple[str, ...]


@dataclass(frozen=True)
class CountJobsRow(Row):
    """Jobs of a kind in one status."""

    status: str
    jobs: int


@dataclass(frozen=True)
class PaceRow(Row):
    """Jobs in the queue, those that run, and those that ended well since a time."""

    queued: int
    running: int
    ended: int


@dataclass(frozen=True)
class WorkerRow(Row):
    """A worker and the job it works on."""

    id: str
    device: str | None
    host: str | None
    pid: int | None
    kind: str | None
    job: str | None
    started_at: str
    silent_s: float
    model: str | None
    stage: str | None


@dataclass(frozen=True)
class SweepRow(Row):
    """A recorded sweep; `request` is JSON."""

    id: str
    request: str
    posted_as: tuple[str, ...]
    created_at: str
