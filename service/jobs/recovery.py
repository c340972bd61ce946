"""What lost its worker: found, and put back into the queue or ended with a reason.

A worker that is killed cannot say so. Whoever serves or works looks from time to time for edits
and jobs under way whose owner is gone (its process ended, or another machine's has been silent for
long), and releases them. Releasing is a compare-and-set in one query, so two who do it change
nothing.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from thinkeval.cypher import rows
from thinkeval.cypher.errors import GraphError
from thinkeval.service.depedit import job_queue
from thinkeval.service.process import is_gone
from thinkeval.service.scoring.record import event, now

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database

MAX_ATTEMPTS = 3
"""How often work is taken up; what ends its worker three times will not succeed."""

LEASE_S = 60.0
"""A worker of another machine that was silent for so long is taken for dead."""

REMEDY = (
    "The system may have run out of memory: see its log. Choose a smaller model or dtype, and post"
    " the edit again."
)


def recover(db: Database, *, idle: str | None = None) -> dict[str, str]:
    """Release every edit and job whose owner is gone: {its id: its status now}.

    Args:
        idle: an owner that is alive, and at nothing.
    """
    released: dict[str, str] = {}
    for row in db.read(rows.RunningRow):
        if _lost(row) or row.owner == idle:
            status = release(db, row.id, row.owner)
            if status is not None:
                released[row.id] = status
    for job in db.read(rows.RunningJobRow):
        if _lost(job) or job.owner == idle:
            status = release_job(db, job.id, job.owner)
            if status is not None:
                released[job.id] = status
    for worker in db.read(rows.WorkerRow):
        gone = is_gone(worker.id)
        if gone or (gone is None and worker.silent_s > LEASE_S):
            db.write(rows.ForgetWorkerRow, owner=worker.id)
    return released


def _lost(row: rows.RunningRow | rows.RunningJobRow) -> bool:
    if row.owner is None:  # recorded before owners were
        return True
    gone = is_gone(row.owner)
    if gone is None:
        return row.silent_s is not None and row.silent_s > LEASE_S
    return gone


def release(db: Database, edit: str, owner: str | None, *, counted: bool = True) -> str | None:
    """Take an edit from its owner; its status now, or None where it does not run under it.

    Args:
        counted: False where the worker ended in good order, which is no fault of the edit.
    """
    found = db.write(
        rows.ReleaseEditRow,
        id=edit,
        owner=owner,
        max_attempts=MAX_ATTEMPTS,
        counted=counted,
        error="The process that scored it ended without a word: it was killed, or crashed.",
        remedy=REMEDY,
        at=now(),
        events={status: event(status, "released") for status in ("queued", "failed", "cancelled")},
    )
    if not found:
        return None
    if found[0].status != "queued":
        with suppress(GraphError):
            drop_unfinished(db, edit)
    return found[0].status


def release_job(db: Database, job: str, owner: str | None, *, counted: bool = True) -> str | None:
    """Take a job from its owner, as `release` does an edit; its runs stay."""
    return job_queue.release(db, job, owner, counted=counted, most=MAX_ATTEMPTS)


def drop_unfinished(db: Database, edit: str) -> None:
    """Delete the graph of an edit that ended without a score: it was written, and not recorded."""
    found = db.read(rows.GetEditRow, id=edit)
    if found and found[0].score is None and found[0].graph is None:
        db.autocommit(rows.DeleteGraphRow, graph=edit)
