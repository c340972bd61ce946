"""/v1/edits: post an edit to be scored, see how it stands, cancel and remove it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Request, Response
from pydantic import BaseModel, Field

from thinkeval.service.api.problems import DESCRIBED
from thinkeval.service.api.state import JSON, Db, Here, etag_response
from thinkeval.service.jobs import queue, submit
from thinkeval.service.schemas import ENDED, EditIn, EditOut, Name, Status

router = APIRouter(prefix="/v1/edits", tags=["edits"], responses=DESCRIBED)

EditId = Annotated[str, Path(min_length=1, max_length=200, description="Any id the edit ever had.")]
Filter = Annotated[Name | None, Query()]


class EditPage(BaseModel):
    """Edits, newest first, without their scores' details."""

    items: list[EditOut]
    next: str | None = Field(default=None, description="`cursor` of the next page; null at the end")
    total: int = Field(description="How many there are on all pages.")


class Stands(BaseModel):
    """An edit's id and status."""

    id: str
    status: Status


@router.post(
    "",
    summary="Score an edit",
    status_code=202,
    response_model=EditOut,
    responses={
        200: {"description": "It is there already, with its score.", "model": EditOut},
        429: {
            "description": "Too many edits wait; `Retry-After` says when to try again.",
            "content": DESCRIBED["default"]["content"],
        },
    },
)
def post_edit(
    posted: EditIn,
    db: Db,
    here: Here,
    response: Response,
    idempotency_key: Annotated[
        str | None,
        Header(min_length=1, max_length=200, description="The same key never scores twice."),
    ] = None,
) -> EditOut:
    """The edit is stored before this answers; a worker takes it up as soon as it can.

    Posting the same again finds the same edit. What failed or was cancelled is queued anew.
    """
    accepted = submit.post(db, here.settings, posted, key=idempotency_key)
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
    graph: Filter = None,
    rewrite: Filter = None,
    model: Filter = None,
    method: Filter = None,
    status: Status | None = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    cursor: Annotated[str | None, Query(max_length=300)] = None,
) -> EditPage:
    """Newest first, a page at a time: give `next` as `cursor` until it is null."""
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


@router.get("/{edit}", response_model=EditOut, summary="See how an edit stands")
def get_edit(edit: EditId, db: Db, here: Here, request: Request) -> Any:
    """Status, stage and progress; the score once it has one. Carries an ETag once it has ended."""
    job = here.statuses.get(db, edit)
    if job.status not in ENDED:
        return queue.edit_out(db, job.id)
    body = here.responses.get(
        ("edit", job.id, job.finished_at, job.posted_as),
        lambda: queue.edit_out(db, job.id).model_dump_json().encode(),
    )
    return etag_response(request, body)


@router.post("/{edit}/cancel", status_code=202, response_model=Stands, summary="Cancel an edit")
def cancel_edit(edit: EditId, db: Db, here: Here) -> Stands:
    """One that waits stops at once, one that runs within a second or so.

    What has ended stays as it is.
    """
    found, status = queue.cancel(db, edit)
    here.statuses.clear()
    return Stands(id=found, status=status)


@router.delete(
    "/{edit}",
    summary="Remove or cancel an edit",
    status_code=204,
    response_model=None,
    responses={202: {"description": "It waited or ran, and is being cancelled.", "model": Stands}},
)
def delete_edit(edit: EditId, db: Db, here: Here) -> Response:
    """One that has ended is removed with its graph, score and saved update.

    One that waits or runs is cancelled instead (202).
    """
    job = queue.job_of(db, edit)
    if job.status in ENDED:
        queue.delete_edit(db, here.settings, job.id)
        here.statuses.clear()
        return Response(status_code=204)
    found, status = queue.cancel(db, job.id)
    here.statuses.clear()
    stands = Stands(id=found, status=status)
    return Response(stands.model_dump_json(), 202, media_type=JSON)
