"""/v1/rewrites and /v1/graphs/GRAPH/rewrites: what may be rewritten, with its chains counted."""

from __future__ import annotations

from dataclasses import asdict
from itertools import groupby
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from thinkeval.cypher.run import Database
from thinkeval.loaders.records import RewriteRequest
from thinkeval.service.api.graphs import GraphId
from thinkeval.service.api.problems import DESCRIBED
from thinkeval.service.api.state import Db
from thinkeval.service.edit_schemas import Name
from thinkeval.service.graphs import datasets
from thinkeval.service.reports.edit import offset_of

router = APIRouter(prefix="/v1", tags=["graphs"], responses=DESCRIBED)


class RewriteOut(BaseModel):
    """A rewrite request of a graph, and its chains by number of facts."""

    graph: str
    id: str
    subject: str
    relation: str
    prompt: str
    target_true: str
    target_new: str
    question: str | None
    paraphrases: list[str] = []
    chains: dict[int, int]


class Rewrites(BaseModel):
    """The rewrite requests of a graph."""

    items: list[RewriteOut]


class RewritePage(Rewrites):
    """Rewrite requests of all graphs, or of one, by graph and id."""

    next: str | None = Field(default=None, description="`cursor` of the next page; null at the end")
    total: int = Field(description="How many there are on all pages.")


@router.get(
    "/graphs/{graph}/rewrites", response_model=Rewrites, summary="List a graph's rewrite requests"
)
def list_rewrites_of_graph(graph: GraphId, db: Db) -> Rewrites:
    """By id, each with the number of its chains of 1 to 5 facts.

    A graph that ships with ThinkEval is imported when it is first asked for.
    """
    datasets.ensure(db, graph)
    return Rewrites(items=_rewrites(db, graph, datasets.list_rewrites(db, graph)))


@router.get("/rewrites", response_model=RewritePage, summary="List rewrite requests")
def list_rewrites(
    db: Db,
    graph: Annotated[Name | None, Query(description="Only of this graph.")] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    cursor: Annotated[str | None, Query(max_length=20)] = None,
) -> RewritePage:
    """Of all data sets, or of one; by data set and id, a page at a time."""
    if graph is not None:
        datasets.ensure(db, graph)
    start = offset_of(cursor)
    found = datasets.all_rewrites(db, graph)
    shown = found[start : start + limit]
    items = [
        out
        for dataset, part in groupby(shown, key=lambda rewrite: rewrite.dataset)
        for out in _rewrites(db, dataset, list(part))
    ]
    more = start + limit < len(found)
    return RewritePage(items=items, next=str(start + limit) if more else None, total=len(found))


def _rewrites(db: Database, graph: str, found: list[RewriteRequest]) -> list[RewriteOut]:
    chains = datasets.chain_counts(db, graph, found)
    return [
        RewriteOut.model_validate(asdict(each) | {"graph": graph, "chains": chains[each.id]})
        for each in found
    ]
