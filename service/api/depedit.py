"""/v1/depedit/sets: knowledge sets built from a graph, imported, exported, read and deleted.

/v1/depedit/jobs: runs of the protocol posted to be done, followed, cancelled and removed.

They are posted at /v1/depedit/runs, and the runs themselves are read there.

/v1/depedit/runs and /report: stored runs of the protocol, and the paper's tables over them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, File, Form, Header, Query, Request, Response, UploadFile
from fastapi import Path as PathParam
from sse_starlette import EventSourceResponse
from starlette.concurrency import run_in_threadpool

from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.loaders import depedit as jsonl
from thinkeval.loaders.errors import LoaderError
from thinkeval.loaders.knowledge_sets import KnowledgeSet
from thinkeval.service.api import events
from thinkeval.service.api.problems import DESCRIBED
from thinkeval.service.api.state import JSON, Db, Here
from thinkeval.service.depedit import build as building
from thinkeval.service.depedit import job_posting, job_queue, report, store
from thinkeval.service.depedit.metrics import metrics_of
from thinkeval.service.depedit.questions import questions
from thinkeval.service.depedit.schemas import (
    BuiltSet,
    BuiltSets,
    ImportedSets,
    JobOut,
    JobPage,
    JobStands,
    Report,
    Runs,
    RunsIn,
    RunWithAnswers,
    SetIn,
    Sets,
    Setting,
    SetWithQuestions,
)
from thinkeval.service.schemas import ENDED, Name, Status

Id = Annotated[str, PathParam(min_length=1, max_length=300)]
Of = Annotated[Name | None, Query(description="Only of sets that were built from this graph.")]
In = Annotated[Setting | None, Query(description="Only of sets in this setting.")]
Limit = Annotated[int, Query(ge=1, le=5000, description="Items of a page.")]
Cursor = Annotated[
    str | None, Query(max_length=500, description="`next` of the page before; none: the first.")
]
MANY = 1000
"""Default number of items on a page."""

router = APIRouter(prefix="/v1/depedit", tags=["depedit"], responses=DESCRIBED)

JSONL = "application/jsonl"


@router.get("/sets", response_model=Sets, summary="List knowledge sets")
def list_knowledge_sets(
    db: Db, graph: Of = None, setting: In = None, limit: Limit = MANY, cursor: Cursor = None
) -> Sets:
    """By id, a page at a time: give `next` as `cursor` until it is null."""
    found, more, total = store.page_sets(db, limit, cursor, dataset=graph, setting=setting)
    return Sets(items=list(found), next=more, total=total)


@router.post(
    "/sets", response_model=BuiltSets, status_code=201, summary="Build knowledge sets from a graph"
)
def build_knowledge_sets(asked: SetIn, db: Db) -> BuiltSets:
    """Draw sets from a stored graph and its rules; asked again, the same sets come out.

    Where the graph is too small, the error says how many facts and groundings there are.
    """
    values = asked.model_dump(exclude={"graph", "rules", "candidates", "per_rule", "replace"})
    built = building.build(
        db,
        asked.graph,
        building.SetOptions(**values),
        rules=asked.rules,
        candidates=asked.candidates,
        per_rule=asked.per_rule,
    )
    items = _saved(db, built.sets, replace=asked.replace)
    return BuiltSets(items=items, skipped=list(built.skipped))


@router.post(
    "/sets/import",
    response_model=ImportedSets,
    status_code=201,
    summary="Import knowledge sets from JSONL",
)
def import_knowledge_sets(
    db: Db,
    file: Annotated[UploadFile, File(description="JSONL of ours, or as DepEdit publishes it.")],
    setting: Annotated[Setting, Form()] = "CQ_DT",
    strict: Annotated[bool, Form()] = False,
    replace: Annotated[bool, Form()] = False,
) -> ImportedSets:
    """A set a line; lines that are none are told by number, or refuse the file with `strict`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sets.jsonl"
        path.write_bytes(file.file.read())
        try:
            loaded = jsonl.read(path, setting=setting, strict=strict)
        except LoaderError as error:
            error.detail = error.detail.replace(f"{folder}/", "")
            raise
    return ImportedSets(
        items=_saved(db, loaded.sets, replace=replace),
        refused=list(loaded.refused),
        notes=list(loaded.notes),
    )


@router.get(
    "/export",
    response_class=Response,
    responses={200: {"content": {JSONL: {"schema": {"type": "string"}}}}},
    summary="Export knowledge sets as JSONL",
)
def export_knowledge_sets(db: Db, graph: Of = None, setting: In = None) -> Response:
    """In DepEdit's schema and with what it lacks, a set a line; empty where there is none."""
    found = store.list_sets(db, dataset=graph, setting=setting)
    text = jsonl.write(store.load_set(db, row.id) for row in found)
    return Response(text, media_type=JSONL)


@router.get("/sets/{knowledge_set}", response_model=SetWithQuestions, summary="See a knowledge set")
def get_knowledge_set(knowledge_set: Id, db: Db) -> SetWithQuestions:
    """With all it asks, phase by phase."""
    knowledge = store.load_set(db, knowledge_set)
    row = db.read(rows.KnowledgeSetRow, ids=[knowledge_set])[0]
    return SetWithQuestions.extend(row, questions=questions(knowledge))


@router.delete("/sets/{knowledge_set}", status_code=204, summary="Delete a knowledge set")
def delete_knowledge_set(knowledge_set: Id, db: Db) -> Response:
    """With the runs on it."""
    store.delete_set(db, knowledge_set)
    return Response(status_code=204)


def _saved(db: Database, sets: Iterable[KnowledgeSet], *, replace: bool) -> list[BuiltSet]:
    status = {each.id: store.save_set(db, each, replace=replace).status for each in sets}
    found = db.read(rows.KnowledgeSetRow, ids=list(status))
    return [BuiltSet.extend(row, status=status[row.id]) for row in found]


JobId = Annotated[str, PathParam(min_length=1, max_length=200)]


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


@router.get("/runs", response_model=Runs, summary="List runs of the protocol")
def list_protocol_runs(
    db: Db,
    graph: Of = None,
    setting: In = None,
    model: Annotated[str | None, Query(max_length=200)] = None,
    knowledge_set: Annotated[str | None, Query(max_length=300)] = None,
    limit: Limit = MANY,
    cursor: Cursor = None,
) -> Runs:
    """Oldest first, a page at a time: give `next` as `cursor` until it is null."""
    sets = None if knowledge_set is None else [knowledge_set]
    found, more, total = store.page_runs(
        db, limit, cursor, sets=sets, dataset=graph, setting=setting, model=model
    )
    return Runs(items=list(found), next=more, total=total)


@router.get("/runs/{run}", response_model=RunWithAnswers, summary="See a run of the protocol")
def get_protocol_run(run: Id, db: Db) -> RunWithAnswers:
    """With its seven metrics and every answer."""
    answers = store.answers_of(db, run)
    row = db.read(rows.ProtocolRunRow, ids=[run])[0]
    return RunWithAnswers.extend(row, metrics=metrics_of(db, run), answers=answers)


@router.delete("/runs/{run}", status_code=204, summary="Delete a run of the protocol")
def delete_protocol_run(run: Id, db: Db) -> Response:
    """With its answers; the set stays."""
    store.delete_run(db, run)
    return Response(status_code=204)


@router.get("/report", response_model=Report, summary="See the tables over runs")
def report_protocol_runs(
    db: Db,
    graph: Of = None,
    setting: In = None,
    model: Annotated[str | None, Query(max_length=200)] = None,
) -> Report:
    """A row a method, means over sets with their n; of one method on one set the newest counts."""
    found = report.methods(db, dataset=graph, setting=setting, model=model)
    return Report(items=found)
