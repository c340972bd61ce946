"""/v1/depedit/runs and /report: stored runs of the protocol, and the paper's tables over them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query, Response

from thinkeval.cypher import rows
from thinkeval.service.api.problems import DESCRIBED
from thinkeval.service.api.state import Db
from thinkeval.service.depedit import report, store
from thinkeval.service.depedit.depedit_run_schemas import (
    AnswerOut,
    MethodRow,
    Report,
    RunOut,
    Runs,
    RunWithAnswers,
    ShareOut,
)
from thinkeval.service.depedit.metrics import Share, metrics_of
from thinkeval.service.depedit.schemas import MANY, Cursor, Id, In, Limit, Of

router = APIRouter(prefix="/v1/depedit", tags=["depedit"], responses=DESCRIBED)


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
    return Runs(items=[RunOut.model_validate(row) for row in found], next=more, total=total)


@router.get("/runs/{run}", response_model=RunWithAnswers, summary="See a run of the protocol")
def get_protocol_run(run: Id, db: Db) -> RunWithAnswers:
    """With its seven metrics and every answer."""
    answers = store.answers_of(db, run)
    row = db.read(rows.ProtocolRunRow, ids=[run])[0]
    shares: dict[str, Share] = metrics_of(db, run)
    return RunWithAnswers(
        **RunOut.model_validate(row).model_dump(),
        metrics={name: ShareOut.model_validate(share) for name, share in shares.items()},
        answers=[AnswerOut.model_validate(asdict(answer)) for answer in answers],
    )


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
    return Report(items=[MethodRow.model_validate(method) for method in found])
