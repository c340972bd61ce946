"""/v1/coedits: co-edits as jobs, their frontiers as data, tables and figures."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi import Path as PathParam
from pydantic import BaseModel, Field
from sse_starlette import EventSourceResponse
from starlette.concurrency import run_in_threadpool

from ...cypher import rows
from ..errors import NotFoundError
from ..jobs import queue
from ..leakcut.coedit import control, frontier_table, job, store
from ..leakcut.schemas import CoEditIn, CoEditJob, CoEditOut
from . import events
from .parameters import Limit, Skip
from .problems import DESCRIBED, QUEUE_FULL, IdempotencyKey
from .state import Db, Here

router = APIRouter(prefix="/v1/coedits", tags=["coedits"], responses=DESCRIBED)

CoEditId = Annotated[str, PathParam(min_length=1, max_length=200, description="Id of a co-edit.")]

TYPES = {
    "markdown": "text/markdown; charset=utf-8",
    "latex": "application/x-latex; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "png": "image/png",
}
"""Media types of the frontier in each format."""


class CoEdits(BaseModel):
    """Frontiers, newest first."""

    items: list[CoEditOut] = Field(description="The items of this page, in order.")


@router.post(
    "",
    status_code=202,
    response_model=CoEditJob,
    responses={200: {"description": "It was done already.", "model": CoEditJob}, 429: QUEUE_FULL},
    summary="Co-edit a rewrite with further facts",
)
def post_coedit(
    body: CoEditIn,
    db: Db,
    here: Here,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> CoEditJob:
    """Edits further facts with a rewrite, round by round, and scores each round.

    The job is stored before the response is sent; the same request is the same co-edit.
    """
    accepted = job.post(db, here.settings, body, key=idempotency_key)
    if accepted.outcome != "known":
        here.supervisor.wake()
    found = control.get(db, accepted.edit)
    response.headers["Location"] = f"/v1/coedits/{found.id}"
    if found.status == "succeeded":
        response.status_code = 200
    return found


@router.get("", response_model=CoEdits, summary="List co-edits")
def list_coedits(
    db: Db,
    graph: Annotated[str | None, Query(max_length=200, description="Only of a data set.")] = None,
    edit: Annotated[
        str | None, Query(max_length=200, description="Only those with this edit as a round.")
    ] = None,
    skip: Skip = 0,
    limit: Limit = 100,
) -> CoEdits:
    """Those that are done, newest first."""
    return CoEdits(items=store.page(db, graph=graph, edit=edit, skip=skip, limit=limit))


@router.get("/{coedit}", response_model=CoEditJob, summary="Get a co-edit")
def get_coedit(coedit: CoEditId, db: Db) -> CoEditJob:
    """Its status, and its frontier once it is done."""
    return control.get(db, coedit)


@router.get(
    "/{coedit}/frontier",
    response_class=Response,
    responses={200: {"content": {kind.split(";")[0]: {} for kind in TYPES.values()}}},
    summary="Get a frontier as a table or a figure",
)
def get_frontier(
    coedit: CoEditId,
    db: Db,
    format: Annotated[
        Literal["markdown", "latex", "csv", "svg", "pdf", "png"],
        Query(description="A table, or the figure."),
    ] = "csv",
) -> Response:
    """The table or figure of `thinkeval coedits`."""
    out = store.get(db, coedit)
    if format in ("svg", "pdf", "png"):
        return Response(frontier_table.figure(out, format), media_type=TYPES[format])
    return Response(frontier_table.text(out, format), media_type=TYPES[format])


@router.get(
    "/{coedit}/events",
    summary="Follow a co-edit until it ends (server-sent events)",
    response_class=EventSourceResponse,
    responses=events.STREAM,
)
async def follow_coedit(
    coedit: CoEditId, db: Db, here: Here, request: Request, last_event_id: events.LastEventId = None
) -> Response:
    """A `stage` event for each round, `progress` in between, `end` as the last event."""
    row = await run_in_threadpool(_job, db, coedit)
    return events.stream(here.connection, request, job.COEDIT, row, last_event_id)


def _job(db: Db, coedit: str) -> rows.JobRow:
    row = queue.find(db, job.COEDIT, coedit)
    if row is None:
        raise NotFoundError("job of the co-edit", coedit, [], listing=store.LISTING)
    return row


@router.post(
    "/{coedit}/cancel", status_code=202, response_model=CoEditJob, summary="Cancel a co-edit"
)
def cancel_coedit(coedit: CoEditId, db: Db, here: Here) -> CoEditJob:
    """A queued or running one ends; rounds that were scored stay."""
    found = control.cancel(db, coedit)
    here.supervisor.wake()
    return found


@router.delete("/{coedit}", status_code=204, summary="Delete a co-edit")
def delete_coedit(coedit: CoEditId, db: Db) -> Response:
    """Deletes the frontier and its job; the edits of its rounds stay. 409 while it runs."""
    control.delete(db, coedit)
    return Response(status_code=204)
