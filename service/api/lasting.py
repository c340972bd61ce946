"""/v1/lasting: whether the change of an edit lasts, as jobs; lines of states as data and tables."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi import Path as PathParam
from pydantic import BaseModel, Field
from sse_starlette import EventSourceResponse
from starlette.concurrency import run_in_threadpool

from ...cypher import rows
from ..errors import NotFoundError, NothingStoredError
from ..jobs import queue
from ..lasting import control, job, store, table
from ..lasting.schemas import LastingIn, LastingJob, LastingOut
from ..reports import formats
from ..reports.figures import MEDIA_TYPES
from ..schemas import Measure
from . import events
from .comparisons import TYPES
from .parameters import Limit, Skip
from .problems import DESCRIBED, QUEUE_FULL, IdempotencyKey
from .state import Db, Here

router = APIRouter(prefix="/v1/lasting", tags=["lasting"], responses=DESCRIBED)

LineId = Annotated[
    str, PathParam(min_length=1, max_length=300, description="Id of a line of states, or its job.")
]


class Lines(BaseModel):
    """Stored lines of states, newest first."""

    items: list[LastingOut] = Field(description="The items of this page, in order.")


@router.post(
    "",
    status_code=202,
    response_model=LastingJob,
    responses={200: {"description": "It was done already.", "model": LastingJob}, 429: QUEUE_FULL},
    summary="Put later changes on an edit",
)
def post_line(
    body: LastingIn,
    db: Db,
    here: Here,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> LastingJob:
    """Quantises, fine-tunes or edits the edited model further, and compares each state.

    Files to learn from and adapters are in folders that the operator allows. The same request is
    the same job.
    """
    accepted = job.post(db, here.settings, body, key=idempotency_key)
    if accepted.outcome != "known":
        here.supervisor.wake()
    found = control.get(db, accepted.edit)
    response.headers["Location"] = f"/v1/lasting/{found.id}"
    if found.status == "succeeded":
        response.status_code = 200
    return found


@router.get("", response_model=Lines, summary="List lines of states")
def list_lines(
    db: Db,
    graph: Annotated[str | None, Query(max_length=200, description="Only of a data set.")] = None,
    edit: Annotated[str | None, Query(max_length=200, description="Only of this edit.")] = None,
    skip: Skip = 0,
    limit: Limit = 100,
) -> Lines:
    """Those that are done, newest first."""
    return Lines(items=store.page(db, graph=graph, edit=edit, skip=skip, limit=limit))


@router.get("/{line}", response_model=LastingJob, summary="Get a line of states")
def get_line(line: LineId, db: Db) -> LastingJob:
    """Its status, and its result once it is done."""
    return control.get(db, line)


@router.get(
    "/{line}/states",
    response_class=Response,
    responses={200: {"content": {kind.split(";")[0]: {} for kind in TYPES.values()}}},
    summary="Get a line of states as a table or a figure",
)
def get_states(
    line: LineId,
    db: Db,
    format: Annotated[
        Literal["markdown", "latex", "csv", "svg", "pdf", "png"],
        Query(description="A table, or the figure."),
    ] = "csv",
    measure: Annotated[
        Measure | None, Query(description="Default: likelihood, where it was taken.")
    ] = None,
) -> Response:
    """Retention, IFR and Preservation of each state, and the chains that are open again."""
    found = control.get(db, line)
    if found.result is None:
        raise NothingStoredError(
            f"Line {line!r} is {found.status} and has no result: {found.error or found.stage}.",
            remedy=found.remedy or "Wait for it to end, or submit it again.",
        )
    chosen = table.measure_of(found.result, measure)
    if format in MEDIA_TYPES:
        return Response(table.figure(found.result, chosen, format), media_type=TYPES[format])
    columns = table.columns(found.result, chosen)
    states = formats.Table("states", "States", columns, found.result.states)
    return Response(formats.render(states, format), media_type=TYPES[format])


@router.get(
    "/{line}/events",
    summary="Follow a line of states until it ends (server-sent events)",
    response_class=EventSourceResponse,
    responses=events.STREAM,
)
async def follow_line(
    line: LineId, db: Db, here: Here, request: Request, last_event_id: events.LastEventId = None
) -> Response:
    """A `stage` event for each stage, `progress` in between, `end` as the last event."""
    row = await run_in_threadpool(_job, db, line)
    return events.stream(here.connection, request, job.LASTING, row, last_event_id)


def _job(db: Db, line: str) -> rows.JobRow:
    row = queue.find(db, job.LASTING, line)
    if row is None:
        raise NotFoundError("job of the line", line, [], listing=store.LISTING)
    return row


@router.post(
    "/{line}/cancel", status_code=202, response_model=LastingJob, summary="Cancel a line of states"
)
def cancel_line(line: LineId, db: Db, here: Here) -> LastingJob:
    """A queued one ends at once, a running one within about a second; comparisons stay."""
    found = control.cancel(db, line)
    here.supervisor.wake()
    return found


@router.delete("/{line}", status_code=204, summary="Delete a line of states")
def delete_line(line: LineId, db: Db, here: Here) -> Response:
    """Deletes it with its job, and fine-tunes that no other line has. 409 while it runs."""
    control.delete(db, here.settings, line)
    return Response(status_code=204)
