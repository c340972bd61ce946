"""Submitted co-edits as every interface shows them: status and frontier, listed, cancelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....cypher import rows
from ...errors import ConflictError, NotFoundError
from ...jobs import queue
from ..schemas import CoEditJob, CoEditOut
from . import store
from .job import COEDIT

if TYPE_CHECKING:
    from ....cypher.run import Database

AGAIN = "Submit it again: rounds that were scored are found."


def get(db: Database, id: str) -> CoEditJob:
    """A co-edit that was submitted, or was done by a command.

    Raises:
        NotFoundError: there is neither a job nor a frontier of that id.
    """
    job = queue.find(db, COEDIT, id)
    found = db.read(rows.CoEditRow, "leakcut/coedits", id=job.id if job else id)
    if job is None and not found:
        known = [row.id for row in db.read(rows.CoEditRow, "leakcut/coedits", limit=1000)]
        raise NotFoundError("co-edit", id, known, listing=store.LISTING)
    return shown(store.shown(found[0]) if found else None, job)


def shown(result: CoEditOut | None, job: rows.JobRow | None) -> CoEditJob:
    """A co-edit with the status of its job; one that a command did has succeeded."""
    name = job.id if job else (result.id if result else "")
    state = {"id": name, "status": "succeeded"} if job is None else {
        each: getattr(job, each)
        for each in ("id", "status", "progress", "stage", "error", "remedy", "attempts")
    }  # fmt: skip
    return CoEditJob.model_validate(
        state | {"result": result, "links": {"self": f"/v1/coedits/{name}"}}
    )


def cancel(db: Database, id: str) -> CoEditJob:
    """Cancel a co-edit at once if it is queued, within about a second if it runs.

    Raises:
        NotFoundError: there is none.
    """
    found = get(db, id)
    queue.cancel_all(db, [found.id], COEDIT, AGAIN)
    return get(db, found.id)


def delete(db: Database, id: str) -> None:
    """Delete a co-edit with its job; the edits of its rounds stay.

    Raises:
        NotFoundError: there is none.
        ConflictError: it is queued or running.
    """
    found = get(db, id)
    if found.status in ("queued", "running"):
        raise ConflictError(f"Co-edit {found.id!r} is {found.status}.", remedy="Cancel it first.")
    db.write(int, "leakcut/delete_coedit", id=found.id)
    db.write(int, "jobs/delete", id=found.id)
