"""/v1/comparisons: two states of a model compared, as jobs; what changed, as data and tables."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi import Path as PathParam
from pydantic import BaseModel, Field
from sse_starlette import EventSourceResponse
from starlette.concurrency import run_in_threadpool

from ...cypher import rows
from ..audit import bundle
from ..errors import NotFoundError
from ..jobs import queue
from ..reports import formats
from ..reports.figures import MEDIA_TYPES
from ..schemas import Measure
from ..states import control, job, store, table
from ..states.schemas import ComparisonIn, ComparisonJob, ComparisonOut
from . import events
from .parameters import Limit, Skip
from .problems import DESCRIBED, QUEUE_FULL, IdempotencyKey
from .state import Db, Here

router = APIRouter(prefix="/v1/comparisons", tags=["comparisons"], responses=DESCRIBED)

ComparisonId = Annotated[
    str, PathParam(min_length=1, max_length=300, description="Id of a comparison, or of its job.")
]
TYPES = {
    "markdown": "text/markdown; charset=utf-8",
    "latex": "application/x-latex; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    **MEDIA_TYPES,
}
"""Media types of the drift in each format."""


class Comparisons(BaseModel):
    """Stored comparisons, newest first."""

    items: list[ComparisonOut] = Field(description="The items of this page, in order.")


@router.post(
    "",
    status_code=202,
    response_model=ComparisonJob,
    responses={
        200: {"description": "It was done already.", "model": ComparisonJob}, 429: QUEUE_FULL
    },
    summary="Compare two states of a model",
)  # fmt: skip
def post_comparison(
    body: ComparisonIn,
    db: Db,
    here: Here,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> ComparisonJob:
    """Asks both states for every fact of the graph, and scores the requests between them.

    States are those that the operator allows: models by name or folder, adapters by folder, saved
    edits by id, endpoints by address. The same request is the same job.
    """
    accepted = job.post(db, here.settings, body, key=idempotency_key)
    if accepted.outcome != "known":
        here.supervisor.wake()
    found = control.get(db, accepted.edit)
    response.headers["Location"] = f"/v1/comparisons/{found.id}"
    if found.status == "succeeded":
        response.status_code = 200
    return found


@router.get("", response_model=Comparisons, summary="List comparisons")
def list_comparisons(
    db: Db,
    graph: Annotated[str | None, Query(max_length=200, description="Only of a data set.")] = None,
    edit: Annotated[
        str | None, Query(max_length=200, description="Only those that scored this edit.")
    ] = None,
    skip: Skip = 0,
    limit: Limit = 100,
) -> Comparisons:
    """Those that are done, newest first."""
    return Comparisons(items=store.page(db, graph=graph, edit=edit, skip=skip, limit=limit))


@router.get("/{comparison}", response_model=ComparisonJob, summary="Get a comparison")
def get_comparison(comparison: ComparisonId, db: Db) -> ComparisonJob:
    """Its status, and its result once it is done."""
    return control.get(db, comparison)


@router.get(
    "/{comparison}/drift",
    response_class=Response,
    responses={200: {"content": {kind.split(";")[0]: {} for kind in TYPES.values()}}},
    summary="Get the drift of a comparison as a table or a figure",
)
def get_drift(
    comparison: ComparisonId,
    db: Db,
    format: Annotated[
        Literal["markdown", "latex", "csv", "svg", "pdf", "png"],
        Query(description="A table, or the figure."),
    ] = "csv",
    measure: Annotated[
        Measure | None, Query(description="Default: likelihood, where both states gave it.")
    ] = None,
) -> Response:
    """All facts, then by distance from the requests' subjects, then by relation."""
    found = control.result(db, comparison)
    if format in MEDIA_TYPES:
        return Response(table.figure(found, format, measure), media_type=TYPES[format])
    lines = table.drift_lines(found, table.measure_of(found, measure), None)
    drift = formats.Table("drift", "Drift", table.DRIFT, lines)
    return Response(formats.render(drift, format), media_type=TYPES[format])


@router.get(
    "/{comparison}/audit",
    response_class=Response,
    responses={200: {"content": {"application/zip": {}}}},
    summary="Get the audit of a comparison",
)
def get_audit(comparison: ComparisonId, db: Db) -> Response:
    """A zip of a folder with `audit.html`, `audit.json` and the digests of both, `SHA256SUMS`.

    422 for a comparison without requests.
    """
    found = control.result(db, comparison)
    name = f'attachment; filename="audit-{found.id}.zip"'
    content = bundle.as_zip(db, found.id)
    return Response(content, media_type="application/zip", headers={"Content-Disposition": name})


@router.get(
    "/{comparison}/events",
    summary="Follow a comparison until it ends (server-sent events)",
    response_class=EventSourceResponse,
    responses=events.STREAM,
)
async def follow_comparison(
    comparison: ComparisonId,
    db: Db,
    here: Here,
    request: Request,
    last_event_id: events.LastEventId = None,
) -> Response:
    """A `stage` event for each stage, `progress` in between, `end` as the last event."""
    row = await run_in_threadpool(_job, db, comparison)
    return events.stream(here.connection, request, job.COMPARISON, row, last_event_id)


def _job(db: Db, comparison: str) -> rows.JobRow:
    row = queue.find(db, job.COMPARISON, comparison)
    if row is None:
        raise NotFoundError("job of the comparison", comparison, [], listing=store.LISTING)
    return row


@router.post(
    "/{comparison}/cancel",
    status_code=202,
    response_model=ComparisonJob,
    summary="Cancel a comparison",
)
def cancel_comparison(comparison: ComparisonId, db: Db, here: Here) -> ComparisonJob:
    """A queued one ends at once, a running one within about a second."""
    found = control.cancel(db, comparison)
    here.supervisor.wake()
    return found


@router.delete("/{comparison}", status_code=204, summary="Delete a comparison")
def delete_comparison(comparison: ComparisonId, db: Db) -> Response:
    """Deletes it with its graph, its job, and the edits that it alone scored. 409 while it runs."""
    control.delete(db, comparison)
    return Response(status_code=204)
