"""/v1/graphs: the stored graphs, listed, looked at and deleted."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi import Path as PathParam
from pydantic import BaseModel, ConfigDict

from thinkeval.service.api.problems import DESCRIBED
from thinkeval.service.api.state import Db, Here
from thinkeval.service.errors import NotFoundError
from thinkeval.service.graphs import datasets, delete
from thinkeval.service.scoring import deltas

router = APIRouter(prefix="/v1", tags=["graphs"], responses=DESCRIBED)

GraphId = Annotated[str, PathParam(min_length=1, max_length=200)]


class StoredGraphOut(BaseModel):
    """A stored graph: a data set, what a model knows of it, or an edit."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    kind: str
    dataset: str
    model: str | None
    edit: str | None
    n_facts: int
    n_entities: int
    n_rewrites: int
    measures: list[str]
    created_at: str


class Graphs(BaseModel):
    """The stored graphs."""

    items: list[StoredGraphOut]


@router.get("/graphs", response_model=Graphs, summary="List graphs")
def list_graphs(db: Db, kind: Annotated[str | None, Query(max_length=20)] = None) -> Graphs:
    """Data sets, what models know of them, and edits; `kind` is dataset, model or edit."""
    found = [g for g in datasets.list_graphs(db) if kind in (None, g.kind)]
    return Graphs(items=[StoredGraphOut.model_validate(g) for g in found])


@router.get("/graphs/{graph}", response_model=StoredGraphOut, summary="See a graph")
def get_graph(graph: GraphId, db: Db) -> StoredGraphOut:
    """One stored graph."""
    found = {g.id: g for g in datasets.list_graphs(db)}
    if graph not in found:
        raise NotFoundError("graph", graph, found, listing="thinkeval graphs")
    return StoredGraphOut.model_validate(found[graph])


@router.delete("/graphs/{graph}", status_code=204, summary="Delete a graph")
def delete_graph(
    graph: GraphId,
    db: Db,
    here: Here,
    with_dependents: Annotated[
        bool, Query(description="Delete with a data set all that was made of it.")
    ] = False,
) -> Response:
    """Delete a graph with its facts.

    A data set of which edits, model graphs, sweeps, rules or knowledge sets were made stays as it
    is (409, and says which) unless `with_dependents` is set. The graph of an edit goes with the
    edit only.
    """
    for edit in delete.delete_graph(db, graph, with_dependents=with_dependents):
        deltas.remove(here.settings, edit)
    here.looks.clear()
    return Response(status_code=204)
