"""Submitted lines of states as every interface shows them: status and result, cancelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ConflictError
from ..jobs import queue
from . import store
from .job import LASTING
from .schemas import LastingIn, LastingJob, LastingOut

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..settings import Settings

AGAIN = "Submit it again: comparisons and fine-tunes are found."
_STATE = ("id", "status", "progress", "stage", "error", "remedy", "attempts", "created_at")


def get(db: Database, id: str) -> LastingJob:
    """A line by the id of its job, or its own, which a command's has only.

    Raises:
        NotFoundError: there is neither a job nor a result of that id.
    """
    job = queue.find(db, LASTING, id)
    if job is None:
        return _done(store.get(db, id))
    found = store.page(db, job=job.id)
    posted = LastingIn.model_validate_json(job.request or "")
    state = {name: getattr(job, name) for name in (*_STATE, "finished_at")}
    return LastingJob.model_validate(
        state
        | {
            "graph": posted.graph,
            "edit": posted.edit,
            "then": posted.then,
            "result": found[0] if found and job.status == "succeeded" else None,
            "links": _links(job.id),
        }
    )


def _done(result: LastingOut) -> LastingJob:
    return LastingJob(
        id=result.id,
        graph=result.graph,
        edit=result.edit,
        then=[state.change for state in result.states[1:]],
        status="succeeded",
        progress=1.0,
        created_at=result.created_at,
        finished_at=result.created_at,
        result=result,
        links=_links(result.id),
    )


def _links(id: str) -> dict[str, str]:
    return {
        "self": f"/v1/lasting/{id}",
        "page": f"/lasting/{id}",
        "events": f"/v1/lasting/{id}/events",
    }


def cancel(db: Database, id: str) -> LastingJob:
    """Cancel a line at once if it is queued, within about a second if it runs.

    Raises:
        NotFoundError: there is none.
    """
    found = get(db, id)
    queue.cancel_all(db, [found.id], LASTING, AGAIN)
    return get(db, found.id)


def delete(db: Database, settings: Settings, id: str) -> list[str]:
    """Delete a line with its job, and fine-tunes that no other line has; their ids.

    Raises:
        NotFoundError: there is none.
        ConflictError: it is queued or running.
    """
    found = get(db, id)
    if found.status in ("queued", "running"):
        raise ConflictError(f"Line {id!r} is {found.status}.", remedy="Cancel it first.")
    gone = store.delete(db, settings, found.result.id) if found.result is not None else []
    db.write(int, "jobs/delete", id=found.id)
    return gone
