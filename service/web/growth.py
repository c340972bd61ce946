"""/v1/growth: runs that grow a graph from a model, their review, and reports of crawls."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, File, Form, Query, Response, UploadFile
from fastapi import Path as PathParam
from pydantic import BaseModel, Field

from ...cypher import rows
from ...cypher.rows.growth import CandidateState
from ..growth import control, job, review, store
from ..growth.crawl_report import agreement, crawl_report
from ..growth.export import Format as export_Format
from ..growth.export import exported
from ..growth.output import zipped
from ..growth.review import Decision
from ..growth.schemas import (
    AddIn,
    Agreement,
    CandidateDetail,
    CandidatePage,
    CrawlReport,
    DecisionIn,
    Decisions,
    GrowthIn,
    GrowthOut,
    JudgeTable,
    Recorded,
    RecordedFile,
)
from ..reports.formats import Column, Table, render
from .parameters import LIMIT, Cursor, Limit
from .problems import DESCRIBED, QUEUE_FULL, IdempotencyKey
from .state import AppState, Db

router = APIRouter(prefix="/v1/growth", tags=["growth"], responses=DESCRIBED)

RunId = Annotated[str, PathParam(min_length=1, max_length=200, description="Id of a growth run.")]


class GrowthRuns(BaseModel):
    """Growth runs, newest first."""

    items: list[GrowthOut] = Field(description="The items of this page, in order.")


class Iterations(BaseModel):
    """The iterations of a run."""

    items: list[rows.IterationRow] = Field(description="The items of this page, in order.")


@router.post(
    "",
    status_code=202,
    response_model=GrowthOut,
    responses={200: {"description": "It has run already.", "model": GrowthOut}, 429: QUEUE_FULL},
    summary="Grow a graph from a model",
)
def post_growth(
    body: GrowthIn,
    db: Db,
    here: AppState,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> GrowthOut:
    """The run is stored before the response is sent; the same request continues the same run.

    Its questions are never asked again. Addresses of models must be among those that the
    operator allows.
    """
    accepted = job.post(db, here.settings, body, key=idempotency_key)
    if accepted.outcome != "known":
        here.supervisor.wake()
    found = store.require_run(db, accepted.edit)
    response.headers["Location"] = f"/v1/growth/{found.id}"
    if found.status == "succeeded":
        response.status_code = 200
    return found


@router.get("", response_model=GrowthRuns, summary="List growth runs")
def list_growth(db: Db, limit: Limit = 100) -> GrowthRuns:
    """Newest first."""
    return GrowthRuns(items=store.list_runs(db, limit))


@router.get("/{run}", response_model=GrowthOut, summary="Get a growth run")
def get_growth(run: RunId, db: Db) -> GrowthOut:
    """Status, counts, and why it stopped; `waiting_review`: a person must decide."""
    return store.require_run(db, run)


@router.get("/{run}/iterations", response_model=Iterations, summary="List a run's iterations")
def get_growth_iterations(run: RunId, db: Db) -> Iterations:
    """Triplets, chains, calls, tokens and seconds after each iteration."""
    row = store.require_run(db, run)
    found = db.read(rows.IterationRow, "growth/iterations", run=row.id)
    return Iterations(items=found)


@router.post(
    "/{run}/pause", status_code=202, response_model=GrowthOut, summary="Pause a growth run"
)
def pause_growth(run: RunId, db: Db, here: AppState) -> GrowthOut:
    """Stop a running one within about a second; its questions and findings are kept."""
    row = control.pause(db, run)
    here.supervisor.wake()
    return row


@router.post(
    "/{run}/resume",
    status_code=202,
    response_model=GrowthOut,
    responses={429: QUEUE_FULL},
    summary="Resume a growth run",
)
def resume_growth(run: RunId, db: Db, here: AppState) -> GrowthOut:
    """Queues a run again that was paused, cancelled or failed, or that waits for people."""
    row = control.resume(db, here.settings, run)
    here.supervisor.wake()
    return row


@router.post(
    "/{run}/cancel", status_code=202, response_model=GrowthOut, summary="Cancel a growth run"
)
def cancel_growth(run: RunId, db: Db, here: AppState) -> GrowthOut:
    """A queued or running one ends; others are unaffected. Its answers stay stored."""
    row = control.cancel(db, run)
    here.supervisor.wake()
    return row


class ExportedFiles(BaseModel):
    """The files of an export, in UTF-8 by name, and the parts that their format cannot hold."""

    format: export_Format = Field(description="Layout of the files.")
    files: dict[str, str] = Field(description="Text of each file, by name.")
    lost: list[str] = Field(description="Parts that the layout cannot hold, each a sentence.")


ZIP = "application/zip"


@router.get(
    "/{run}/export",
    response_model=ExportedFiles,
    responses={200: {"content": {ZIP: {"schema": {"type": "string", "format": "binary"}}}}},
    summary="Export a growth run",
)
def export_growth(
    run: RunId,
    db: Db,
    format: Annotated[
        export_Format,
        Query(description="KnowGIC's two layouts; csv: tables; audit: all of the run."),
    ] = "knowgic",
    single_link: Annotated[
        bool, Query(description="At most one fact from one entity to another; chains are equal.")
    ] = True,
    max_steps: Annotated[int, Query(ge=1, le=5, description="Of the longest chain.")] = 5,
    packed: Annotated[bool, Query(description="One zip; else JSON, which lists lost parts.")] = (
        True
    ),
) -> Response:
    """The files of `thinkeval grow export`; of a finished run always the same bytes."""
    row = store.require_run(db, run)
    made = exported(db, row.id, format, single_link=single_link, max_steps=max_steps)
    if packed:
        attached = {"Content-Disposition": f'attachment; filename="{row.id}-{format}.zip"'}
        return Response(zipped(made.files), media_type=ZIP, headers=attached)
    files = {name: made.files[name].decode() for name in sorted(made.files)}
    shown = ExportedFiles(format=format, files=files, lost=made.lost)
    return Response(shown.model_dump_json(), media_type="application/json")


@router.delete("/{run}", status_code=204, summary="Delete a growth run")
def delete_growth(run: RunId, db: Db) -> Response:
    """Deletes a run with answers, candidates and decisions; its graph stays. 409 while it runs."""
    store.delete(db, run)
    return Response(status_code=204)


# /v1/growth/RUN: candidates, decisions, and the judge against people; each as JSON or CSV.

review_router = APIRouter(prefix="/v1/growth/{run}", tags=["growth"], responses=DESCRIBED)

CandidateId = Annotated[
    str, PathParam(min_length=1, max_length=200, description="Id of a candidate within its run.")
]
Format = Annotated[Literal["json", "csv"], Query(description="json or csv.")]
CSV = "text/csv"
WITH_CSV: dict[int | str, dict[str, Any]] = {
    200: {"content": {CSV: {"schema": {"type": "string"}}}}
}


def _csv(columns: list[Column[Any]], items: list[Any], name: str) -> Response:
    attached = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    body = render(Table(name, "", columns, items), "csv")
    return Response(body, media_type=f"{CSV}; charset=utf-8", headers=attached)


@review_router.get(
    "/candidates",
    response_model=CandidatePage,
    responses=WITH_CSV,
    summary="List a run's candidates",
)
def list_candidates(
    run: RunId,
    db: Db,
    state: Annotated[
        list[CandidateState] | None, Query(description="Repeatable; none: all states.")
    ] = None,
    undecided_by: Annotated[
        str | None, Query(max_length=100, description="Only undecided ones of this person.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1000, description=f"{LIMIT} CSV has all.")] = review.PAGE,
    cursor: Cursor = None,
    format: Format = "json",
) -> Any:
    """In order of appearance, one page at a time: pass `next` as `cursor` until it is null.

    Those in state `review` or `conflict` wait for a person. The CSV has all of them, and an empty
    column `verb`: filled in, it can be sent to `decisions`.
    """
    most = limit if format == "json" else review.ALL
    page = review.page(db, run, state, limit=most, cursor=cursor, undecided_by=undecided_by)
    return page if format == "json" else _csv(review.SHEET, page.items, f"{run}-candidates")


@review_router.post(
    "/candidates", status_code=201, response_model=Recorded, summary="Add a triplet to a run"
)
def add_candidate(run: RunId, body: AddIn, db: Db, here: AppState) -> Recorded:
    """It is validated like any other triplet; 409 if it is a candidate already."""
    added = Decision(None, "keep", body.by, body.triplet, body.reason)
    done = control.decide(db, here.settings, run, [added])
    here.supervisor.wake()
    return done


@review_router.get(
    "/candidates/{candidate}", response_model=CandidateDetail, summary="Get a candidate"
)
def get_candidate(run: RunId, candidate: CandidateId, db: Db) -> CandidateDetail:
    """With the answers that it rests on, and the decisions about it."""
    return review.detail(db, run, candidate)


@review_router.post(
    "/candidates/{candidate}/decision",
    status_code=201,
    response_model=Recorded,
    summary="Decide about a candidate",
)
def decide_candidate(
    run: RunId, candidate: CandidateId, body: DecisionIn, db: Db, here: AppState
) -> Recorded:
    """Stores the decision beside earlier ones; a person's latest decision counts.

    After the last decision that a run waits for, it is queued again.
    """
    made = Decision(candidate, body.verb, body.by, body.after, body.reason)
    done = control.decide(db, here.settings, run, [made])
    here.supervisor.wake()
    return done


@review_router.get(
    "/decisions", response_model=Decisions, responses=WITH_CSV, summary="List a run's decisions"
)
def list_decisions(
    run: RunId,
    db: Db,
    candidate: Annotated[
        str | None, Query(max_length=200, description="Only those about this candidate.")
    ] = None,
    format: Format = "json",
) -> Any:
    """List decisions, oldest first, with person, time and reason; the CSV fits another run."""
    found = review.decisions_of(db, run, candidate)
    return found if format == "json" else _csv(review.DECISIONS, found.items, f"{run}-decisions")


@review_router.post(
    "/decisions",
    status_code=201,
    response_model=RecordedFile,
    summary="Record the decisions of a CSV file",
)
def post_decisions(
    run: RunId,
    db: Db,
    here: AppState,
    file: Annotated[
        UploadFile,
        File(
            description="CSV with the columns candidate and verb; subject, relation, object,"
            " question, reason and by where needed."
        ),
    ],
    by: Annotated[
        str | None,
        Form(max_length=100, description="Who decides where a row has no `by` of its own."),
    ] = None,
) -> RecordedFile:
    """All of them, or none where one is refused. Rows without a verb are left out."""
    name = file.filename or "the file"
    text = review.decoded(file.file.read(), name)
    done = control.decide_by_file(db, here.settings, run, text, name, by)
    here.supervisor.wake()
    return done


@review_router.get(
    "/judge",
    response_model=JudgeTable,
    responses=WITH_CSV,
    summary="Compare the judge with people, and people with each other",
)
def get_judge_table(run: RunId, db: Db, format: Format = "json") -> Any:
    """Precision, recall and F1 of the model judge, and agreement of people: a row an iteration.

    The last row is over all iterations. An undefined value is null; its n is in the same row.
    """
    found = review.judge_table(db, run)
    return found if format == "json" else _csv(review.JUDGED, found.items, f"{run}-judge")


# /v1/growth/{run}/crawl-report: results of a crawl, also against a graph that holds the truth.

crawl_router = APIRouter(prefix="/v1/growth", tags=["growth"], responses=DESCRIBED)

CrawlRunId = Annotated[
    str, PathParam(min_length=1, max_length=200, description="Id of a crawl's run.")
]


@crawl_router.get("/{run}/crawl-report", response_model=CrawlReport, summary="Report a crawl")
def get_crawl_report(
    run: CrawlRunId,
    db: Db,
    truth: Annotated[
        str | None, Query(max_length=200, description="Graph that holds the truth.")
    ] = None,
    to: Annotated[
        str | None, Query(max_length=1200, description="Object of the compared chains.")
    ] = None,
) -> CrawlReport:
    """Facts, unknown pairs and levels; with `truth` precision, recall, chains and calibration."""
    return crawl_report(db, run, truth=truth, to=to)


@crawl_router.get(
    "/{run}/crawl-agreement", response_model=Agreement, summary="Compare the facts of two crawls"
)
def get_crawl_agreement(
    run: CrawlRunId,
    db: Db,
    other: Annotated[str, Query(min_length=1, max_length=200, description="The other run.")],
) -> Agreement:
    """Facts of both, common facts, and Jaccard: how reproducible a crawl is over seeds."""
    return agreement(db, run, other)
