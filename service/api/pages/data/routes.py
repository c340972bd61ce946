"""Address of the web UI's data sets."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from .....loaders import formats
from .....loaders import graphs as shipped
from ....graphs import datasets
from ...state import Db, InForce
from ..editor.form import MOST_ROWS
from ..routes import page

router = APIRouter(include_in_schema=False)


@router.get("/data")
def data_sets(request: Request, db: Db, settings: InForce) -> Response:
    """The stored data sets, and the form that previews and imports one."""
    found = [graph for graph in datasets.list_graphs(db) if graph.kind == "dataset"]
    stored = {graph.id for graph in found}
    return page(
        request,
        "data/sets.html",
        here="/data",
        sets=found,
        shipped=[name for name in shipped.names() if name not in stored],
        formats=list(formats.formats().values()),
        most_rows=MOST_ROWS,
        limit_mb=settings.body_limit_mb,
    )
