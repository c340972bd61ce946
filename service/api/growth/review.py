"""/v1/growth/RUN: candidates, decisions and their log, the judge's report, agreement."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi import Path as PathParam

from ....cypher.rows.growth import CandidateState
from ...growth import decisions
from ...growth.review import judge_report, log, people, queue
from ...growth.review.schemas import (
    AddIn,
    AgreementReport,
    Appended,
    CandidateDetail,
    CandidatePage,
    DecisionIn,
    JudgeReport,
    LogOut,
    Verified,
)
from ..parameters import Cursor, Limit
from ..problems import DESCRIBED
from ..state import Db, Here
from .runs import RunId

router = APIRouter(prefix="/v1/growth/{run}", tags=["growth"], responses=DESCRIBED)

CandidateId = Annotated[
    str, PathParam(min_length=1, max_length=200, description="Id of a candidate within its run.")
]


@router.get("/candidates", response_model=CandidatePage, summary="List a run's candidates")
def list_candidates(
    run: RunId,
    db: Db,
    state: Annotated[
        list[CandidateState] | None, Query(description="Repeatable; none: all states.")
    ] = None,
    undecided_by: Annotated[
        str | None, Query(max_length=100, description="Only what this person has not decided.")
    ] = None,
    limit: Limit = queue.PAGE,
    cursor: Cursor = None,
) -> CandidatePage:
    """In order of appearance, one page at a time: pass `next` as `cursor` until it is null.

    Those in state `review` or `conflict` wait for a person.
    """
    return queue.page(db, run, state, limit=limit, cursor=cursor, undecided_by=undecided_by)


@router.post(
    "/candidates", status_code=201, response_model=Appended, summary="Add a triplet to a run"
)
def add_candidate(run: RunId, body: AddIn, db: Db, here: Here) -> Appended:
    """It is validated like any other triplet; 409 if it is a candidate already."""
    done = decisions.add(db, here.settings, run, body.triplet, body.by, reason=body.reason)
    here.supervisor.wake()
    return done


@router.get("/candidates/{candidate}", response_model=CandidateDetail, summary="Get a candidate")
def get_candidate(run: RunId, candidate: CandidateId, db: Db) -> CandidateDetail:
    """With the answers that it rests on, and the decisions about it."""
    return queue.detail(db, run, candidate)


@router.post(
    "/candidates/{candidate}/decision",
    status_code=201,
    response_model=Appended,
    summary="Decide about a candidate",
)
def decide_candidate(
    run: RunId, candidate: CandidateId, body: DecisionIn, db: Db, here: Here
) -> Appended:
    """Appends a record to the log; a person's latest decision counts.

    After the last decision that a run waits for, it is queued again.
    """
    done = decisions.decide(
        db, here.settings, run, candidate, body.verb, body.by, after=body.after, reason=body.reason
    )
    here.supervisor.wake()
    return done


@router.get("/log", response_model=LogOut, summary="Get the log of decisions")
def get_decision_log(
    run: RunId,
    db: Db,
    candidate: Annotated[
        str | None, Query(max_length=200, description="Only decisions about this candidate.")
    ] = None,
) -> LogOut:
    """Oldest first, each with the digest of the record before."""
    return log.log_of(db, run, candidate)


@router.get("/verify", response_model=Verified, summary="Verify the log of decisions")
def verify_decision_log(run: RunId, db: Db) -> Verified:
    """Whether the log is whole, or else its first broken record and what is wrong there."""
    return log.verify(db, run)


@router.get("/judge", response_model=JudgeReport, summary="Get the judge's report")
def get_judge_report(run: RunId, db: Db) -> JudgeReport:
    """The model judge against people, over the triplets that both decided.

    By iteration and in sum, with the number of triplets that people decided about.
    """
    return judge_report.stored(db, run)


@router.get("/agreement", response_model=AgreementReport, summary="Get the people's agreement")
def get_review_agreement(run: RunId, db: Db) -> AgreementReport:
    """Raw pairwise, raw unanimous, Gwet's AC1 and Krippendorff's alpha; null where undefined."""
    return people.stored(db, run)
