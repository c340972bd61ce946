"""Runs of the protocol as jobs: looked at, cancelled, removed, ended, released.

    post    → queued        `service.depedit.job_posting`
    worker  → running       `service.depedit.job` does its runs, each stored when it is done
            → succeeded | failed | cancelled

The runs are results of their own: they stay when their job is cancelled, fails or is removed.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from thinkeval.cypher import rows
from thinkeval.service.depedit.schemas import JobOut
from thinkeval.service.errors import ConflictError, NotFoundError
from thinkeval.service.jobs import queue
from thinkeval.service.paging import read_time_cursor, time_page
from thinkeval.service.schemas import ENDED, Status
from thinkeval.service.scoring.record import event, now

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database

LISTING = "GET /v1/depedit/jobs"
POST_AGAIN = "Post it again to have the rest run; what is stored stays."
LOST = "The process that ran it ended without a word: it was killed, or crashed."
REMEDY = (
    "The system may have run out of memory: see its log. Choose a smaller model or dtype, and post"
    " the runs again; what is stored stays."
)


def row_of(db: Database, job: str) -> rows.ProtocolJobRow:
    """How a job stands.

    Raises:
        NotFoundError: there is none; close ones are suggested.
    """
    found = db.read(rows.ProtocolJobRow, id=job)
    if not found:
        known = [row.id for row in db.read(rows.PageJobRow, limit=1000)]
        raise NotFoundError("job", job, known, listing=LISTING)
    return found[0]


def out(row: rows.PageJobRow) -> JobOut:
    """A job as REST shows it."""
    place = f"/v1/depedit/jobs/{row.id}"
    links = {"self": place, "events": f"{place}/events"}
    told = asdict(row) | {"done": len(row.runs), "links": links}
    told.pop("events", None)
    return JobOut.model_validate(told)


def page(
    db: Database, *, limit: int = 50, cursor: str | None = None, status: Status | None = None
) -> tuple[list[JobOut], str | None, int]:
    """One page of jobs, newest first: (jobs, cursor of the next page or None, how many in all).

    Raises:
        UsageError: the cursor is not one of ours.
    """
    before, before_id = read_time_cursor(cursor)
    found = db.read(
        rows.PageJobRow, status=status, before=before, before_id=before_id, limit=limit + 1
    )
    known = counts(db)
    total = sum(known.values()) if status is None else known[status]
    shown, more = time_page(found, limit)
    return [out(row) for row in shown], more, total


def counts(db: Database) -> dict[Status, int]:
    """Jobs by status; every status is named."""
    found: dict[Status, int] = dict.fromkeys(
        ("queued", "running", "succeeded", "failed", "cancelled"), 0
    )
    for row in db.read(rows.JobsStateRow):
        found[row.status] = row.jobs  # type: ignore[index]
    return found


def cancel(db: Database, job: str) -> tuple[str, Status]:
    """Ask for a job to be stopped; (its id, its status now).

    One that waits is cancelled when this returns, one that runs within a second or so. What has
    ended stays as it is, and so do the runs that are stored.

    Raises:
        NotFoundError: there is none.
    """
    found = db.write(
        rows.CancelJobRow,
        id=job,
        error=queue.CANCELLED,
        remedy=POST_AGAIN,
        event=event("cancelled", "cancelled"),
    )
    if not found:
        row_of(db, job)
        return cancel(db, job)  # it came between the two looks
    return found[0].id, found[0].status  # type: ignore[return-value]


def remove(db: Database, job: str) -> None:
    """Remove a job that has ended; its runs stay.

    Raises:
        NotFoundError: there is none.
        ConflictError: it waits or runs; cancel it first.
    """
    row = row_of(db, job)
    if row.status not in ENDED:
        raise ConflictError(
            f"Job {row.id!r} is {row.status}.", remedy="Cancel it first, then remove it."
        )
    db.write(rows.DeleteJobRow, id=row.id)


def release(db: Database, job: str, owner: str | None, *, counted: bool, most: int) -> str | None:
    """Take a job from its worker; its status now, or None where it does not run under it.

    Args:
        counted: False where the worker ended in good order, which is no fault of the job.
        most: how often a job is taken up at most.
    """
    found = db.write(
        rows.ReleaseJobRow,
        id=job,
        owner=owner,
        max_attempts=most,
        counted=counted,
        error=LOST,
        remedy=REMEDY,
        at=now(),
        events={status: event(status, "released") for status in ("queued", "failed", "cancelled")},
    )
    return found[0].status if found else None
