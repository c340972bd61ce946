"""DepEdit routes (/v1/depedit): knowledge sets, stored runs of the protocol and their tables.

`POST /v1/protocols` runs strategies on sets (`service.depedit.kind`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi import Path as PathParam

from ...cypher import rows
from ...cypher.run import Database
from ...loaders.knowledge_sets import KnowledgeSet
from ..base.paging import LIMIT
from ..depedit import report, store
from ..depedit import sets as building
from ..depedit.questions import questions
from ..depedit.report import metrics_of
from ..models.depedit import (
    BuiltSet,
    BuiltSets,
    Report,
    Runs,
    RunWithAnswers,
    SetIn,
    Sets,
    Setting,
    SetWithQuestions,
)
from ..models.edit import Name
from .parameters import Cursor, OfModel
from .problems import DESCRIBED
from .state import Db

SetId = Annotated[
    str, PathParam(min_length=1, max_length=300, description="Id of the knowledge set.")
]
RunId = Annotated[str, PathParam(min_length=1, max_length=300, description="Id of the run.")]
Of = Annotated[Name | None, Query(description="Only of sets that were built from this graph.")]
In = Annotated[Setting | None, Query(description="Only of sets in this setting.")]
Limit = Annotated[int, Query(ge=1, le=5000, description=LIMIT)]
PAGE = 1000
"""Default number of items on a page."""

router = APIRouter(prefix="/v1/depedit", tags=["depedit"], responses=DESCRIBED)


@router.get("/sets", response_model=Sets, summary="List knowledge sets")
def list_knowledge_sets(
    db: Db, graph: Of = None, setting: In = None, limit: Limit = PAGE, cursor: Cursor = None
) -> Sets:
    """By id, one page at a time: pass `next` as `cursor` until it is null."""
    found, more, total = store.page_sets(db, limit, cursor, dataset=graph, setting=setting)
    return Sets(items=list(found), next=more, total=total)


@router.post(
    "/sets", response_model=BuiltSets, status_code=201, summary="Build knowledge sets from a graph"
)
def build_knowledge_sets(body: SetIn, db: Db) -> BuiltSets:
    """Draw sets from a stored graph and its rules; the same request draws the same sets.

    If the graph is too small, the error states how many facts and groundings it has.
    """
    values = body.model_dump(exclude={"graph", "rules", "candidates", "per_rule", "replace"})
    built = building.build(
        db,
        body.graph,
        building.SetOptions(**values),
        rules=body.rules,
        candidates=body.candidates,
        per_rule=body.per_rule,
    )
    items = _saved(db, built.sets, replace=body.replace)
    return BuiltSets(items=items, skipped=list(built.skipped))


@router.get("/sets/{knowledge_set}", response_model=SetWithQuestions, summary="Get a knowledge set")
def get_knowledge_set(knowledge_set: SetId, db: Db) -> SetWithQuestions:
    """With all its questions, phase by phase."""
    knowledge = store.load_set(db, knowledge_set)
    row = db.read(rows.KnowledgeSetRow, "depedit/list_sets", ids=[knowledge_set])[0]
    return SetWithQuestions.extend(row, questions=questions(knowledge))


@router.delete("/sets/{knowledge_set}", status_code=204, summary="Delete a knowledge set")
def delete_knowledge_set(knowledge_set: SetId, db: Db) -> Response:
    """Delete a set together with its runs."""
    store.delete_set(db, knowledge_set)
    return Response(status_code=204)


def _saved(db: Database, sets: Iterable[KnowledgeSet], *, replace: bool) -> list[BuiltSet]:
    status = {each.id: store.save_set(db, each, replace=replace).status for each in sets}
    found = db.read(rows.KnowledgeSetRow, "depedit/list_sets", ids=list(status))
    return [BuiltSet.extend(row, status=status[row.id]) for row in found]


@router.get("/runs", response_model=Runs, summary="List runs of the protocol")
def list_protocol_runs(
    db: Db,
    graph: Of = None,
    setting: In = None,
    model: OfModel = None,
    knowledge_set: Annotated[
        str | None, Query(max_length=300, description="Only runs on the set of this id.")
    ] = None,
    limit: Limit = PAGE,
    cursor: Cursor = None,
) -> Runs:
    """Oldest first, one page at a time: pass `next` as `cursor` until it is null."""
    sets = None if knowledge_set is None else [knowledge_set]
    found, more, total = store.page_runs(
        db, limit, cursor, sets=sets, dataset=graph, setting=setting, model=model
    )
    return Runs(items=list(found), next=more, total=total)


@router.get("/runs/{run}", response_model=RunWithAnswers, summary="Get a run of the protocol")
def get_protocol_run(run: RunId, db: Db) -> RunWithAnswers:
    """With its seven metrics and every answer."""
    answers = store.answers_of(db, run)
    row = db.read(rows.ProtocolRunRow, "depedit/list_runs", ids=[run])[0]
    return RunWithAnswers.extend(row, metrics=metrics_of(db, run), answers=answers)


@router.delete("/runs/{run}", status_code=204, summary="Delete a run of the protocol")
def delete_protocol_run(run: RunId, db: Db) -> Response:
    """Delete a run with its answers; the set remains."""
    store.delete_run(db, run)
    return Response(status_code=204)


@router.get("/report", response_model=Report, summary="Get the tables over runs")
def report_protocol_runs(
    db: Db,
    graph: Of = None,
    setting: In = None,
    model: OfModel = None,
) -> Report:
    """One row per method: means over sets with their n, of the newest run per method and set."""
    found = report.methods(db, dataset=graph, setting=setting, model=model)
    return Report(items=found)
