"""Leak cuts over REST: of a scored edit, and of a rewrite of an unedited graph."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi import Path as PathParam
from pydantic import Field
from starlette.responses import Response

from ..leakcut.request import cut_of, edit_cut
from ..models.edit import Measure, Score
from ..models.leakcut import CutIn, CutOut
from ..reports.edit import measure_of
from ..scoring import record
from .edits import UNCHANGED, of_scored
from .graphs import GraphId
from .parameters import EditId
from .problems import DESCRIBED
from .state import AppState, Db

router = APIRouter(prefix="/v1", tags=["results"], responses=DESCRIBED)

RewriteId = Annotated[
    str,
    PathParam(
        min_length=1, max_length=300, description="Id of a rewrite, its beginning, or its subject."
    ),
]


class GraphCutQuery(CutIn):
    """The options of a cut in the query of an address, whose length is limited.

    A request waits for the solver.
    """

    lock: tuple[Annotated[str, Field(min_length=1, max_length=200)], ...] = Field(
        default=(), max_length=20, description=CutIn.model_fields["lock"].description
    )
    seconds: float = Field(default=5.0, gt=0, le=30, description="Longest time of the solver.")

    def options(self) -> CutIn:
        """The options without fields that are no part of them."""
        return CutIn(**self.model_dump(include=set(CutIn.model_fields)))


class CutQuery(GraphCutQuery):
    """The same of an edit, which has probabilities."""

    measure: Measure | None = Field(
        default=None, description="Default: the first measure that the edit has."
    )


@router.get(
    "/edits/{edit}/leakcut",
    response_model=CutOut,
    responses=UNCHANGED,
    summary="Get the leak cut of an edit",
)
def get_leak_cut(
    edit: EditId, db: Db, here: AppState, request: Request, asked: Annotated[CutQuery, Query()]
) -> Response:
    """The fewest further facts whose change closes every chain that still leaks.

    Without a leaking chain `facts` is empty. Chains that locks or keys keep open are in `open`.
    """

    def build(score: Score) -> CutOut:
        return edit_cut(db, score, measure_of(score, asked.measure), asked.options())

    if asked.rules:
        # Rules may have changed since, which the cache does not know.
        found = build(record.get_score(db, here.statuses.get(db, edit).id))
        return Response(found.model_dump_json(), media_type="application/json")
    return of_scored(request, here, db, edit, build)


@router.get(
    "/graphs/{graph}/rewrites/{rewrite}/leakcut",
    response_model=CutOut,
    summary="Get the leak cut of a rewrite",
)
def get_rewrite_leak_cut(
    graph: GraphId, rewrite: RewriteId, db: Db, asked: Annotated[GraphCutQuery, Query()]
) -> CutOut:
    """The fewest further facts whose change closes every chain of a rewrite, before any edit."""
    return cut_of(db, rewrite, asked.options(), graph=graph)
