"""Addresses of the table editor: a new graph, a stored one, and its YAML as a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response

from ....errors import ConflictError, UsageError
from ....graphs import datasets
from ....graphs.datasets import GRAPH_NAME
from ....graphs.tables import COLUMNS, LINES, NEEDED, Tables, tables_of, to_yaml
from ...state import Db
from ..routes import HEADERS, GraphId, page
from .form import MOST_ROWS, Checked, Sent, check, sent

router = APIRouter(prefix="/data", include_in_schema=False)

SPARE = {"relations": 2, "facts": 4, "rewrites": 1, "entities": 1}
"""Empty rows at the end of each table, for what is added."""
LABELS = {"target_true": "Old object", "target_new": "New object"}
"""Headings of columns whose names are no words."""
STARTED = Tables(
    relations=({"relation": "lives in", "prompt": "{} lives in",
                "question": "Where does {} live?", "paraphrases": ""},),
)  # fmt: skip
"""What a new graph begins with: one relation as an example."""


@router.get("/new")
def new_graph(request: Request) -> Response:
    """Empty tables."""
    return _editor(request, STARTED, Checked())


@router.get("/{graph}/edit")
def edit_graph(graph: GraphId, request: Request, db: Db) -> Response:
    """The tables of a stored data set.

    Raises:
        UsageError: it has more facts than the editor takes.
    """
    if (n := datasets.require_graph(db, graph).n_facts) > MOST_ROWS:
        raise UsageError(
            f"{graph!r} has {n:,} facts; the table editor takes {MOST_ROWS:,}.",
            remedy=f"Change its file, and import it again. As YAML: /data/{quote(graph)}/yaml.",
        )
    tables, left_out = tables_of(datasets.stored_graph(db, graph))
    return _editor(request, tables, Checked(), graph=graph, left_out=left_out)


@router.get("/{graph}/yaml")
def graph_as_yaml(graph: GraphId, db: Db) -> Response:
    """A stored data set as a file of the format `graph_yaml`; what it cannot hold, as comments."""
    tables, left_out = tables_of(datasets.stored_graph(db, graph))
    return _file(_as_comments(left_out) + to_yaml(tables), graph)


@router.post("/new")
@router.post("/{graph}/edit")
def sent_graph(
    request: Request, db: Db, form: Annotated[Sent, Depends(sent)], graph: str = ""
) -> Response:
    """Check the tables; then, as the button says, show the result, send the YAML, or store it."""
    checked = check(form.tables, GRAPH_NAME)
    if checked.loaded is None or form.action not in ("yaml", "store"):
        status = 422 if checked.loaded is None else 200
        return _editor(request, form.tables, checked, status, graph=graph, replace=form.replace)
    if form.action == "yaml":
        return _file(checked.text, form.tables.name)
    try:
        done = datasets.store(db, checked.loaded, replace=form.replace)
    except ConflictError:
        said = f"A data set {form.tables.name!r} with other content is stored already: tick"
        refused = Checked(problem=f"{said} “Replace”, or give another name.")
        return _editor(request, form.tables, refused, 409, graph=graph, replace=form.replace)
    return RedirectResponse(f"/?{urlencode({'graph': done.graph})}", 303)


def _as_comments(left_out: Sequence[str]) -> str:
    """What a file leaves out, as comments of YAML; nothing where it holds everything."""
    if not left_out:
        return ""
    said = ["This file leaves out what its format cannot hold:", *(f"- {e}" for e in left_out)]
    return "".join(f"# {line}\n" for each in said for line in each.splitlines())


def _file(text: str, name: str) -> Response:
    disposition = f"attachment; filename*=UTF-8''{quote(name, safe='')}.yaml"
    headers = HEADERS | {"Content-Disposition": disposition}
    return Response(text, media_type="application/yaml", headers=headers)


def _editor(
    request: Request, tables: Tables, checked: Checked, status: int = 200, **values: Any
) -> Response:
    shown = {
        table: [*tables.rows(table), *[dict.fromkeys(columns, "")] * SPARE[table]]
        for table, columns in COLUMNS.items()
    }
    defaults = {"graph": "", "left_out": [], "replace": False}
    return page(
        request,
        "editor/editor.html",
        status,
        here="/data",
        tables=tables,
        shown=shown,
        columns=COLUMNS,
        needed=NEEDED,
        lines=LINES,
        labels=LABELS,
        checked=checked,
        flaws={(flaw.table, flaw.row): flaw for flaw in checked.flaws},
        **(defaults | values),
    )
