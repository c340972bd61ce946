"""The queue as the service shows it: status of jobs, lists of edits; cancel and delete.

    submit  → queued        `service.experiments.submit`: committed before it is answered
    claim   → running       `service.experiments.worker` holds a lease while it runs the job
            → succeeded | failed | cancelled

The record of an edit's job is its `:Edit` node and nothing else. Submitting the same again finds
the same job; one that failed or was cancelled is queued again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from ...cypher import rows
from ..base.errors import ConflictError
from ..base.leases import event
from ..base.paging import read_time_cursor, time_page
from ..models.edit import EditOut, Status
from ..scoring import deltas, record

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..base.settings import Settings


EDIT = "edit"
"""The kind of job that scores an edit."""
POST_AGAIN = "Post it again to have it scored; nothing of it was stored."


def find(db: Database, kind: str, job: str) -> rows.JobRow | None:
    """The status of a job, found by any id it ever had; None if there is no such job."""
    for _ in range(2):  # two jobs may just become one; then the second look finds it
        found = db.read(rows.JobRow, "jobs/get", id=job, kind=kind)
        if found:
            return found[0]
    return None


def job_of(db: Database, edit: str) -> rows.JobRow:
    """The status of an edit's job, found by any id it ever had.

    Raises:
        NotFoundError: there is none; close ones are suggested.
    """
    found = find(db, EDIT, edit)
    if found is None:
        raise record.unknown(db, edit)
    return found


def edit_out(db: Database, edit: str) -> EditOut:
    """An edit as REST shows it, with its score once it has one.

    One query reads all of it: between two, the worker may end the edit.

    Raises:
        NotFoundError: there is none; close ones are suggested.
    """
    row = record.get_edit(db, edit)
    more: dict[str, object] = {"attempts": row.attempts, "posted_as": list(row.posted_as)}
    if score := record.score_of(db, row):
        more["score"] = score
    return EditOut.model_validate(_shown(row) | more)


def listed(row: rows.PageEditRow) -> EditOut:
    """An edit in a list."""
    return EditOut.model_validate(_shown(row) | {"attempts": row.attempts})


def _shown(row: rows.GetEditRow | rows.PageEditRow) -> dict[str, object]:
    columns = asdict(row)
    links = {"self": f"/v1/edits/{row.id}", "page": f"/edits/{row.id}"} | {
        name: f"/v1/edits/{row.id}/{name}" for name in ("score", "chains", "leakage", "graph")
    }
    keep = EditOut.model_fields.keys() - {"score", "posted_as", "attempts", "links", "graph"}
    return {k: columns[k] for k in keep} | {"graph": row.dataset, "links": links}


def cancel(db: Database, edit: str) -> tuple[str, Status]:
    """Ask for an edit to be cancelled; (its id, its status now).

    A queued one is cancelled when this returns, a running one within about a second. What is
    finished stays as it is.

    Raises:
        NotFoundError: there is none.
    """
    found = cancel_all(db, [edit])
    if not found:
        raise record.unknown(db, edit)
    return found[0].id, found[0].status  # type: ignore[return-value]


def cancel_all(
    db: Database, jobs: Sequence[str], kind: str = EDIT, remedy: str = POST_AGAIN
) -> list[rows.CancelJobsRow]:
    """Ask for all of these jobs to be cancelled; their ids and statuses now.

    Args:
        jobs: any ids they ever had.
        remedy: recorded with those that are cancelled at once.
    """
    recorded = event("cancelled", "cancelled")
    return db.write(
        rows.CancelJobsRow, "jobs/cancel", ids=list(jobs), kind=kind, remedy=remedy, event=recorded
    )


def remove(db: Database, edit: str) -> str:
    """Remove a finished edit, with its graph and score; its id.

    Raises:
        NotFoundError: there is none.
        ConflictError: it is queued or running; cancel it first.
    """
    job = job_of(db, edit)
    if job.status in ("queued", "running"):
        raise ConflictError(
            f"Edit {job.id!r} is {job.status}.", remedy="Cancel it first, then remove it."
        )
    return record.delete(db, job.id)


def delete_edit(db: Database, settings: Settings, edit: str) -> str:
    """Remove a finished edit, with its graph, score and saved update; its id.

    Raises:
        NotFoundError: there is none.
        ConflictError: it is queued or running; cancel it first.
    """
    removed = remove(db, edit)
    deltas.remove(settings, removed)
    return removed


def page(
    db: Database, *, limit: int = 50, cursor: str | None = None, **filters: str | None
) -> tuple[list[EditOut], str | None, int]:
    """One page of edits, newest first: (edits, cursor of the next page or None, how many in all).

    Raises:
        UsageError: the cursor is not one of ours.
    """
    found, more, total = page_rows(db, limit=limit, cursor=cursor, scores=False, **filters)
    return [listed(row) for row in found], more, total


def page_rows(
    db: Database,
    *,
    limit: int,
    cursor: str | None = None,
    scores: bool,
    **filters: str | None,
) -> tuple[list[rows.PageEditRow], str | None, int]:
    """A page as `page` gives it, as it is recorded.

    Args:
        scores: read the scores too; each is some kilobytes.

    Raises:
        UsageError: the cursor is not one of ours.
    """
    before, before_id = read_time_cursor(cursor)
    found = db.read(
        rows.PageEditRow,
        "edits/page_edits",
        before=before,
        before_id=before_id,
        limit=limit + 1,
        scores=scores,
        **filters,
    )
    total = db.read(int, "edits/count_edits", **filters)[0]
    shown, more = time_page(found, limit)
    return shown, more, total


def counts(db: Database, jobs: Sequence[str] | None = None, kind: str = EDIT) -> dict[Status, int]:
    """Jobs of a kind by status; every status is named.

    Args:
        jobs: only those that these ids name.
    """
    found: dict[Status, int] = dict.fromkeys(
        ("queued", "running", "succeeded", "failed", "cancelled"), 0
    )
    asked = None if jobs is None else list(jobs)
    for row in db.read(rows.CountJobsRow, "jobs/counts", kind=kind, ids=asked):
        found[row.status] = row.jobs  # type: ignore[index]
    return found
