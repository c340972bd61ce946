"""/v1/growth/RUN: candidates and decisions, each as JSON or CSV."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, File, Form, Query, Response, UploadFile
from fastapi import Path as PathParam

from ....cypher.rows.growth import CandidateState
from ...growth import decisions
from ...growth.review import queue, record, tables
from ...growth.review.record import Decision
from ...growth.review.schemas import (
    AddIn,
    CandidateDetail,
    CandidatePage,
    DecisionIn,
    Decisions,
    Recorded,
    RecordedFile,
)
from ...reports.formats import Column, Table, render
from ..parameters import LIMIT, Cursor
from ..problems import DESCRIBED
from ..state import AppState, Db
from .export import RunId

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
    limit: Annotated[int, Query(ge=1, le=1000, description=f"{LIMIT} CSV has all.")] = queue.PAGE,
    cursor: Cursor = None,
    format: Format = "json",
) -> Any:
    """In order of appearance, one page at a time: pass `next` as `cursor` until it is null.

    Those in state `review` or `conflict` wait for a person. The CSV has all of them, and an empty
    column `verb`: filled in, it can be sent to `decisions`.
    """
    most = limit if format == "json" else queue.ALL
    page = queue.page(db, run, state, limit=most, cursor=cursor, undecided_by=undecided_by)
    return page if format == "json" else _csv(tables.SHEET, page.items, f"{run}-candidates")


@router.post(
    "/candidates", status_code=201, response_model=Recorded, summary="Add a triplet to a run"
)
def add_candidate(run: RunId, body: AddIn, db: Db, here: AppState) -> Recorded:
    """It is validated like any other triplet; 409 if it is a candidate already."""
    added = Decision(None, "keep", body.by, body.triplet, body.reason)
    done = decisions.decide(db, here.settings, run, [added])
    here.supervisor.wake()
    return done


@router.get("/candidates/{candidate}", response_model=CandidateDetail, summary="Get a candidate")
def get_candidate(run: RunId, candidate: CandidateId, db: Db) -> CandidateDetail:
    """With the answers that it rests on, and the decisions about it."""
    return queue.detail(db, run, candidate)


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
    done = decisions.decide(db, here.settings, run, [made])
    here.supervisor.wake()
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
    found = record.decisions_of(db, run, candidate)
    return found if format == "json" else _csv(tables.DECISIONS, found.items, f"{run}-decisions")


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
    text = tables.decoded(file.file.read(), name)
    done = decisions.decide_by_file(db, here.settings, run, text, name, by)
    here.supervisor.wake()
    return done
