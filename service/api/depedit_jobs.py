"""/v1/depedit/jobs: runs of the protocol posted to be done, followed, cancelled and removed.

They are posted at /v1/depedit/runs, and the runs themselves are read there.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Path, Query, Request, Response
from sse_starlette import EventSourceResponse
from starlette.concurrency import run_in_threadpool

from thinkeval.cypher import rows
from thinkeval.service.api import events
from thinkeval.service.api.problems import DESCRIBED
from thinkeval.service.api.state import JSON, Db, Here
from thinkeval.service.depedit import job_posting, job_queue
from thinkeval.service.depedit.job_schemas import JobOut, JobPage, JobStands, RunsIn
from thinkeval.service.edit_schemas import ENDED, Status

router = APIRouter(prefix="/v1/depedit", tags=["depedit"], responses=DESCRIBED)

JobId = Annotated[str, Path(min_length=1, max_length=200)]


@router.post(
    "/runs",
    summary="Run the protocol",
    status_code=202,
    response_model=JobOut,
    responses={
        200: {"description": "All its runs are stored already.", "model": JobOut},
        429: {
            "description": "Too many edits and jobs wait; `Retry-After` says when to try again.",
            "content": DESCRIBED["default"]["content"],
        },
    },
)
def post_protocol_runs(
    posted: RunsIn,
    db: Db,
    here: Here,
    response: Response,
    idempotency_key: Annotated[
        str | None,
        Header(min_length=1, max_length=200, description="The same key never runs twice."),
    ] = None,
) -> JobOut:
    """Every strategy on every set, as one job; it is stored before this answers.

    A worker takes it up as soon as it can. Posting the same again finds the same job. What failed
    or was cancelled is queued anew; runs that are stored are not done again, but with `force`.
    """
    accepted = job_posting.post(db, here.settings, posted, key=idempotency_key)
    if accepted.outcome != "known":
        here.supervisor.wake()
    job = job_queue.out(job_queue.row_of(db, accepted.edit))
    response.headers["Location"] = f"/v1/depedit/jobs/{job.id}"
    if job.status == "succeeded":
        response.status_code = 200
    return job


@router.get("/jobs", response_model=JobPage, summary="List the jobs")
def list_protocol_jobs(
    db: Db,
    status: Status | None = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    cursor: Annotated[str | None, Query(max_length=300)] = None,
) -> JobPage:
    """Newest first, a page at a time: give `next` as `cursor` until it is null."""
    items, following, total = job_queue.page(db, limit=limit, cursor=cursor, status=status)
    return JobPage(items=items, next=following, total=total)


@router.get("/jobs/{job}", response_model=JobOut, summary="See how a job stands")
def get_protocol_job(job: JobId, db: Db) -> JobOut:
    """Status, stage and progress; the runs that are done so far."""
    return job_queue.out(job_queue.row_of(db, job))


@router.post(
    "/jobs/{job}/cancel", status_code=202, response_model=JobStands, summary="Cancel a job"
)
def cancel_protocol_job(job: JobId, db: Db) -> JobStands:
    """One that waits stops at once, one that runs within a second or so.

    What has ended stays as it is, and so do runs that are stored.
    """
    found, status = job_queue.cancel(db, job)
    return JobStands(id=found, status=status)


@router.delete(
    "/jobs/{job}",
    summary="Remove or cancel a job",
    status_code=204,
    response_model=None,
    responses={
        202: {"description": "It waited or ran, and is being cancelled.", "model": JobStands}
    },
)
def delete_protocol_job(job: JobId, db: Db) -> Response:
    """One that has ended is removed; its runs stay.

    One that waits or runs is cancelled instead (202).
    """
    if job_queue.row_of(db, job).status in ENDED:
        job_queue.remove(db, job)
        return Response(status_code=204)
    found, status = job_queue.cancel(db, job)
    return Response(JobStands(id=found, status=status).model_dump_json(), 202, media_type=JSON)


@router.get(
    "/jobs/{job}/events",
    summary="Follow a job until it ends (server-sent events)",
    response_class=EventSourceResponse,
    responses=events.STREAM,
)
async def follow_protocol_job(
    job: JobId, db: Db, here: Here, request: Request, last_event_id: events.LastEventId = None
) -> Response:
    """A `stage` event for each run that is done, `progress` in between, `end` at last.

    A client that comes back with `Last-Event-ID` gets every `stage` and `end` it missed, once.
    """
    row = await run_in_threadpool(job_queue.row_of, db, job)
    return events.stream(here.connection, request, rows.ProtocolJobRow, row, last_event_id)
