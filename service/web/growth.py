"""/v1/growth: runs that grow a graph from a model, and their review."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, File, Form, Query, Response, UploadFile
from fastapi import Path as PathParam
from pydantic import BaseModel, Field

from ...cypher.rows.growth import CandidateState
from ..base.paging import LIMIT
from ..growth import control, review
from ..growth.export import exported
from ..growth.output import zipped
from ..growth.review import Decision
from ..growth.runs import require_run
from ..growth.schemas import (
    AddIn,
    CandidateDetail,
    CandidatePage,
    DecisionIn,
    Decisions,
    ExportFormat,
    Recorded,
    RecordedFile,
)
from ..reports.formats import Column, Table, render
from .parameters import PlaceCursor
from .problems import DESCRIBED
from .state import AppState, Db

export_router = APIRouter(prefix="/v1/growth", tags=["growth"], responses=DESCRIBED)

RunId = Annotated[str, PathParam(min_length=1, max_length=200, description="Id of a growth run.")]


class ExportedFiles(BaseModel):
    """The files of an export, in UTF-8 by name, and the parts that their format cannot hold."""

    format: ExportFormat = Field(description="Layout of the files.")
    files: dict[str, str] = Field(description="Text of each file, by name.")
    lost: list[str] = Field(description="Parts that the layout cannot hold, each a sentence.")


ZIP = "application/zip"


@export_router.get(
    "/{run}/export",
    response_model=ExportedFiles,
    responses={200: {"content": {ZIP: {"schema": {"type": "string", "format": "binary"}}}}},
    summary="Export a growth run",
)
def export_growth(
    run: RunId,
    db: Db,
    format: Annotated[
        ExportFormat,
        Query(description="KnowGIC's records of chains, or tables for a spreadsheet."),
    ] = "knowgic",
    max_steps: Annotated[int, Query(ge=1, le=5, description="Of the longest chain.")] = 5,
    packed: Annotated[bool, Query(description="One zip; else JSON, which lists lost parts.")] = (
        True
    ),
) -> Response:
    """The files of `thinkeval graph grow export`; of a finished run always the same bytes."""
    row = require_run(db, run)
    made = exported(db, row.id, format, max_steps=max_steps)
    if packed:
        attached = {"Content-Disposition": f'attachment; filename="{row.id}-{format}.zip"'}
        return Response(zipped(made.files), media_type=ZIP, headers=attached)
    files = {name: made.files[name].decode() for name in sorted(made.files)}
    shown = ExportedFiles(format=format, files=files, lost=made.lost)
    return Response(shown.model_dump_json(), media_type="application/json")


# /v1/growth/RUN: candidates and decisions, each as JSON or CSV.

router = APIRouter(prefix="/v1/growth/{run}", tags=["growth"], responses=DESCRIBED)

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


@router.get(
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
    cursor: PlaceCursor = None,
    format: Format = "json",
) -> Any:
    """In order of appearance, one page at a time: pass `next` as `cursor` until it is null.

    Those in state `review` or `conflict` wait for a person. The CSV has all of them, and an empty
    column `verb`: filled in, it can be sent to `decisions`.
    """
    most = limit if format == "json" else review.ALL
    page = review.page(db, run, state, limit=most, cursor=cursor, undecided_by=undecided_by)
    return page if format == "json" else _csv(review.SHEET, page.items, f"{run}-candidates")


@router.post(
    "/candidates", status_code=201, response_model=Recorded, summary="Add a triplet to a run"
)
def add_candidate(run: RunId, body: AddIn, db: Db, here: AppState) -> Recorded:
    """It is validated like any other triplet; 409 if it is a candidate already."""
    added = Decision(None, "keep", body.by, body.triplet, body.reason)
    done = control.decide(db, here.settings, run, [added])
    here.dispatcher.wake()
    return done


@router.get("/candidates/{candidate}", response_model=CandidateDetail, summary="Get a candidate")
def get_candidate(run: RunId, candidate: CandidateId, db: Db) -> CandidateDetail:
    """With the answers that it rests on, and the decisions about it."""
    return review.detail(db, run, candidate)


@router.post(
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
    here.dispatcher.wake()
    return done


@router.get(
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


@router.post(
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
    # Of at most THINKEVAL_BODY_LIMIT_MB, which bounds the time and memory that a CSV file takes.
    read = review.read_decisions(review.decoded(file.file.read(), name), name, by)
    done = control.decide_by_file(db, here.settings, run, read)
    here.dispatcher.wake()
    return done
