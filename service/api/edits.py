"""/v1/edits: submit an edit for scoring, get its status, cancel and delete it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, Field

from ..jobs import queue, submit
from ..schemas import ENDED, EditIn, EditOut, Name, Status
from .parameters import LIMIT, Cursor, OfGraph, OfModel
from .problems import DESCRIBED, QUEUE_FULL, IdempotencyKey
from .state import JSON, AppState, Db, etag_response

router = APIRouter(prefix="/v1/edits", tags=["edits"], responses=DESCRIBED)

EditId = Annotated[
    str, Path(min_length=1, max_length=200, description="Any id that the edit has had.")
]


class EditPage(BaseModel):
    """Edits, newest first, without the details of their scores."""

    items: list[EditOut] = Field(description="The items of this page, in order.")
    next: str | None = Field(default=None, description="`cursor` of the next page, or null.")
    total: int = Field(description="Number of edits on all pages.")


class EditStatus(BaseModel):
    """An edit's id and status."""

    id: str = Field(description="Id of the edit.")
    status: Status = Field(description="Its status after the request.")


@router.post(
    "",
    summary="Score an edit",
    status_code=202,
    response_model=EditOut,
    responses={
        200: {"description": "The edit is scored already.", "model": EditOut},
        429: QUEUE_FULL,
    },
)
def post_edit(
    body: EditIn,
    db: Db,
    here: AppState,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> EditOut:
    """The edit is stored before the response is sent; a worker claims it as soon as it can.

    The same request returns the same edit. A failed or cancelled edit is requeued.
    """
    accepted = submit.post(db, here.settings, body, key=idempotency_key)
    here.statuses.clear()
    if accepted.outcome != "known":
        here.supervisor.wake()
    edit = queue.edit_out(db, accepted.edit)
    response.headers["Location"] = f"/v1/edits/{accepted.edit}"
    if edit.status == "succeeded":
        response.status_code = 200
    return edit


@router.get("", response_model=EditPage, summary="List edits")
def list_edits(
    db: Db,
    graph: OfGraph = None,
    rewrite: Annotated[Name | None, Query(description="Only edits of this request.")] = None,
    model: OfModel = None,
    method: Annotated[Name | None, Query(description="Only edits by this method.")] = None,
    status: Annotated[Status | None, Query(description="Only edits with this status.")] = None,
    limit: Annotated[int, Query(ge=1, le=500, description=LIMIT)] = 50,
    cursor: Cursor = None,
) -> EditPage:
    """Newest first, one page at a time: pass `next` as `cursor` until it is null."""
    items, following, total = queue.page(
        db,
        limit=limit,
        cursor=cursor,
        dataset=graph,
        rewrite=rewrite,
        model=model,
        method=method,
        status=status,
    )
    return EditPage(items=items, next=following, total=total)


@router.get("/{edit}", response_model=EditOut, summary="Get the status of an edit")
def get_edit(edit: EditId, db: Db, here: AppState, request: Request) -> Any:
    """Status, stage and progress, and the score once there is one; with an ETag once finished."""
    job = here.statuses.get(db, edit)
    if job.status not in ENDED:
        return queue.edit_out(db, job.id)
    stored = here.responses.get(
        ("edit", job.id, job.finished_at, job.posted_as),
        lambda: queue.edit_out(db, job.id).model_dump_json().encode(),
    )
    return etag_response(request, stored)


@router.post("/{edit}/cancel", status_code=202, response_model=EditStatus, summary="Cancel an edit")
def cancel_edit(edit: EditId, db: Db, here: AppState) -> EditStatus:
    """Queued edits are cancelled immediately, running ones within about a second.

    Finished edits are unaffected.
    """
    found, status = queue.cancel(db, edit)
    here.supervisor.wake()
    here.statuses.clear()
    return EditStatus(id=found, status=status)


@router.delete(
    "/{edit}",
    summary="Delete or cancel an edit",
    status_code=204,
    response_model=None,
    responses={
        202: {
            "description": "The edit was queued or running and is being cancelled.",
            "model": EditStatus,
        }
    },
)
def delete_edit(edit: EditId, db: Db, here: AppState) -> Response:
    """A finished edit is deleted with its graph, score and saved update.

    A queued or running edit is cancelled instead (202).
    """
    job = queue.job_of(db, edit)
    if job.status in ENDED:
        queue.delete_edit(db, here.settings, job.id)
        here.statuses.clear()
        return Response(status_code=204)
    found, status = queue.cancel(db, job.id)
    here.supervisor.wake()
    here.statuses.clear()
    shown = EditStatus(id=found, status=status)
    return Response(shown.model_dump_json(), 202, media_type=JSON)
