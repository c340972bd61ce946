"""Rows of `jobs/`: edits as work to be done, the workers that do it, sweeps that ask for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from thinkeval.cypher.rows.base import Row


@dataclass(frozen=True)
class PostEditsRow(Row):
    """What became of a posted edit: created, queued, known, full, conflict or unknown."""

    QUERY: ClassVar[str] = "jobs/post_edits"
    posted: str
    outcome: str
    id: str | None
    waiting: int


@dataclass(frozen=True)
class ClaimEditRow(Row):
    """The edit a worker got; `request` is JSON."""

    QUERY: ClassVar[str] = "jobs/claim_edit"
    id: str
    request: str
    dataset: str
    rewrite: str
    affinity: str
    attempts: int


@dataclass(frozen=True)
class SettleIdRow(Row):
    """The edit's final id, and whether there is anything left to score."""

    QUERY: ClassVar[str] = "jobs/settle_id"
    id: str
    score_it: bool


@dataclass(frozen=True)
class CancelEditsRow(Row):
    """An edit that shall stop, and its status now."""

    QUERY: ClassVar[str] = "jobs/cancel_edits"
    id: str
    status: str


@dataclass(frozen=True)
class BeatRow(Row):
    """Whether the worker shall stop what it does."""

    QUERY: ClassVar[str] = "jobs/beat"
    cancel: bool


@dataclass(frozen=True)
class ForgetWorkerRow(Row):
    """How many workers were forgotten."""

    QUERY: ClassVar[str] = "jobs/forget_worker"
    workers: int


@dataclass(frozen=True)
class RunningRow(Row):
    """An edit under way; `silent_s` is None where its owner is no worker."""

    QUERY: ClassVar[str] = "jobs/running"
    id: str
    owner: str | None
    silent_s: float | None


@dataclass(frozen=True)
class ReleaseEditRow(Row):
    """The status of an edit that lost its worker."""

    QUERY: ClassVar[str] = "jobs/release_edit"
    status: str


@dataclass(frozen=True)
class QueueStateRow(Row):
    """Edits in one status."""

    QUERY: ClassVar[str] = "jobs/queue_state"
    status: str
    edits: int


@dataclass(frozen=True)
class WorkerRow(Row):
    """A worker and what it is at."""

    QUERY: ClassVar[str] = "jobs/workers"
    id: str
    device: str
    edit: str | None
    job: str | None
    started_at: str
    silent_s: float


@dataclass(frozen=True)
class EditJobRow(Row):
    """How an edit stands; `events` are JSON, oldest first."""

    QUERY: ClassVar[str] = "jobs/edit_job"
    id: str
    status: str
    progress: float
    stage: str | None
    error: str | None
    remedy: str | None
    attempts: int
    finished_at: str | None
    posted_as: tuple[str, ...]
    events: tuple[str, ...]


@dataclass(frozen=True)
class PageEditRow(Row):
    """An edit in a list; `score` is JSON."""

    QUERY: ClassVar[str] = "jobs/page_edits"
    id: str
    model: str
    method: str
    dataset: str
    rewrite: str
    status: str
    progress: float
    stage: str | None
    error: str | None
    remedy: str | None
    attempts: int
    created_at: str
    finished_at: str | None
    score: str | None
    prompt: str
    subject: str
    relation: str
    target_true: str
    target_new: str


@dataclass(frozen=True)
class CountEditsRow(Row):
    """How many edits there are."""

    QUERY: ClassVar[str] = "jobs/count_edits"
    edits: int


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
