"""Jobs of protocol runs as the service shows them: status, lists; cancel and delete.

They are submitted by `service.depedit.job`, and run by `service.depedit.job`. The runs are
results by themselves: they stay when their job is cancelled, fails or is deleted.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from ...cypher import rows
from ..errors import ConflictError, NotFoundError
from ..jobs import queue
from ..paging import read_time_cursor, time_page
from ..schemas import ENDED, Status
from ..scoring.runtime import parse
from .schemas import JobOut, RunsIn

if TYPE_CHECKING:
    from ...cypher.run import Database

LISTING = "GET /v1/depedit/jobs"
DEPEDIT = "depedit"
"""The kind of job that runs DepEdit's protocol."""
POST_AGAIN = "Post it again to have the rest run; what is stored stays."


def row_of(db: Database, job: str) -> rows.JobRow:
    """The status of a job.

    Raises:
        NotFoundError: there is none; close ones are suggested.
    """
    found = queue.find(db, DEPEDIT, job)
    if found is None:
        known = [row.id for row in db.read(rows.PageJobRow, "jobs/page", kind=DEPEDIT, limit=1000)]
        raise NotFoundError("job", job, known, listing=LISTING)
    return found


def out(row: rows.PageJobRow) -> JobOut:
    """A job as REST shows it."""
    place = f"/v1/depedit/jobs/{row.id}"
    posted = RunsIn.model_validate_json(row.request or "{}")
    return JobOut.model_validate(
        asdict(row)
        | {
            "done": len(row.parts),
            "runs": row.parts,
            "sets": posted.sets,
            "strategies": posted.strategies,
            "model": parse(posted.model).name,
            "graph": posted.graph,
            "links": {"self": place},
        }
    )


def page(
    db: Database, *, limit: int = 50, cursor: str | None = None, status: Status | None = None
) -> tuple[list[JobOut], str | None, int]:
    """One page of jobs, newest first: (jobs, cursor of the next page or None, how many in all).

    Raises:
        UsageError: the cursor is not one of ours.
    """
    before, before_id = read_time_cursor(cursor)
    found = db.read(
        rows.PageJobRow,
        "jobs/page",
        kind=DEPEDIT,
        status=status,
        before=before,
        before_id=before_id,
        limit=limit + 1,
    )
    known = counts(db)
    total = sum(known.values()) if status is None else known[status]
    shown, more = time_page(found, limit)
    return [out(row) for row in shown], more, total


def counts(db: Database) -> dict[Status, int]:
    """Jobs by status; every status is named."""
    return queue.counts(db, kind=DEPEDIT)


def cancel(db: Database, job: str) -> tuple[str, Status]:
    """Ask for a job to be cancelled; (its id, its status now).

    A queued one is cancelled when this returns, a running one within about a second. What is
    finished stays as it is, and so do the runs that are stored.

    Raises:
        NotFoundError: there is none.
    """
    found = queue.cancel_all(db, [job], DEPEDIT, POST_AGAIN)
    if not found:
        row_of(db, job)
        return cancel(db, job)  # it was submitted between the two queries
    return found[0].id, found[0].status  # type: ignore[return-value]


def remove(db: Database, job: str) -> None:
    """Remove a finished job; its runs remain.

    Raises:
        NotFoundError: there is none.
        ConflictError: it is queued or running; cancel it first.
    """
    row = row_of(db, job)
    if row.status not in ENDED:
        raise ConflictError(
            f"Job {row.id!r} is {row.status}.", remedy="Cancel it first, then remove it."
        )
    db.write(int, "jobs/delete", id=row.id)
