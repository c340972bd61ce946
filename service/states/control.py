"""Submitted comparisons as every interface shows them: status and result, listed, cancelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ConflictError, NothingStoredError
from ..jobs import queue
from . import store
from .job import COMPARISON
from .schemas import ComparisonIn, ComparisonJob, ComparisonOut

if TYPE_CHECKING:
    from ...cypher.run import Database

AGAIN = "Submit it again: answers that a state gave are found."
_STATE = ("id", "status", "progress", "stage", "error", "remedy", "attempts", "created_at")


def get(db: Database, id: str) -> ComparisonJob:
    """A comparison by the id of its job, or its own, which a command's has only.

    Raises:
        NotFoundError: there is neither a job nor a result of that id.
    """
    job = queue.find(db, COMPARISON, id)
    if job is None:
        return _done(store.get(db, id))
    found = store.page(db, job=job.id)
    posted = ComparisonIn.model_validate_json(job.request or "")
    state = {name: getattr(job, name) for name in (*_STATE, "finished_at")}
    return ComparisonJob.model_validate(
        state
        | {
            "graph": posted.graph,
            "before": posted.before.word,
            "after": posted.after.word,
            "result": found[0] if found and job.status == "succeeded" else None,
            "links": _links(job.id),
        }
    )


def _done(result: ComparisonOut) -> ComparisonJob:
    return ComparisonJob(
        id=result.id,
        graph=result.graph,
        before=result.before.word,
        after=result.after.word,
        status="succeeded",
        progress=1.0,
        created_at=result.created_at,
        finished_at=result.created_at,
        result=result,
        links=_links(result.id),
    )


def _links(id: str) -> dict[str, str]:
    return {
        "self": f"/v1/comparisons/{id}",
        "page": f"/comparisons/{id}",
        "events": f"/v1/comparisons/{id}/events",
    }


def result(db: Database, id: str) -> ComparisonOut:
    """The result of a comparison by its id, or that of its job.

    Raises:
        NotFoundError: there is none.
        NothingStoredError: it has not succeeded.
    """
    found = get(db, id)
    if found.result is None:
        raise NothingStoredError(
            f"Comparison {id!r} is {found.status} and has no result: {found.error or found.stage}.",
            remedy=found.remedy or "Wait for it to end, or submit it again.",
        )
    return found.result


def cancel(db: Database, id: str) -> ComparisonJob:
    """Cancel a comparison at once if it is queued, within about a second if it runs.

    Raises:
        NotFoundError: there is none.
    """
    found = get(db, id)
    queue.cancel_all(db, [found.id], COMPARISON, AGAIN)
    return get(db, found.id)


def delete(db: Database, id: str) -> list[str]:
    """Delete a comparison with its graph, its job, and the edits that it alone scored; their ids.

    Raises:
        NotFoundError: there is none.
        ConflictError: it is queued or running.
    """
    found = get(db, id)
    if found.status in ("queued", "running"):
        raise ConflictError(f"Comparison {id!r} is {found.status}.", remedy="Cancel it first.")
    edits = store.delete(db, found.result.id) if found.result is not None else []
    db.write(int, "jobs/delete", id=found.id)
    return edits
