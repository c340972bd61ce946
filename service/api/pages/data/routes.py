"""Address of the web UI's data sets."""

from __future__ import annotations

from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import Response

from .....loaders import formats
from .....loaders import graphs as shipped
from ....graphs import datasets
from ....growth.files.output import zipped
from ....growth.files.triples_layout import tables
from ....reports.formats import Table
from ....reports.graph_tables import GRAPHS
from ...state import Db, InForce
from ..routes import HEADERS, GraphId, page

router = APIRouter(include_in_schema=False)


@router.get("/data")
def data_sets(request: Request, db: Db, settings: InForce) -> Response:
    """The stored data sets, and the form that previews and imports one."""
    found = [graph for graph in datasets.list_graphs(db) if graph.kind == "dataset"]
    stored = {graph.id for graph in found}
    columns = [c for c in GRAPHS if c.header not in ("kind", "model")]
    return page(
        request,
        "data/sets.html",
        here="/data",
        sets=Table("sets", "Data sets", columns, found),
        shipped=[name for name in shipped.names() if name not in stored],
        formats=list(formats.formats().values()),
        limit_mb=settings.body_limit_mb,
    )


@router.get("/data/{graph}/csv")
def data_set_as_csv(graph: GraphId, db: Db) -> Response:
    """Return a zip of tables, which an import reads again; `left-out.txt` lists missing parts."""
    made = tables(datasets.stored_graph(db, graph))
    lost = {"left-out.txt": "\n".join([*made.lost, ""]).encode()} if made.lost else {}
    disposition = f"attachment; filename*=UTF-8''{quote(graph, safe='')}.zip"
    headers = HEADERS | {"Content-Disposition": disposition}
    return Response(zipped(made.files | lost), media_type="application/zip", headers=headers)
