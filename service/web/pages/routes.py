"""Routes of the web UI: HTML pages, errors as pages, data sets, and the forms that delete."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from pydantic import BeforeValidator

from ....cypher import rows
from ....cypher.metric_options import displays
from ....loaders import formats
from ....loaders import graphs as shipped
from ...base.errors import ConflictError, NotFoundError, Problem, UsageError
from ...base.formatting import pluralize
from ...experiments.edit import EDIT
from ...graphs import datasets, delete
from ...growth.export import tables
from ...growth.output import zipped
from ...models.edit import ENDED, MEASURE_NAMES, Measure
from ...reports.browser import start_link
from ...reports.comparison import Rewrites
from ...reports.formats import Table
from ...reports.graph_tables import GRAPHS
from ...rules import store
from ...scoring import deltas, record
from ..state import AppState, Db, InForce, state
from . import depedit, home
from . import methods as board
from . import render as rendering
from . import rules as ruling
from .depedit import Chosen
from .render import render

if TYPE_CHECKING:
    from ....cypher.run import Database
    from ...base.settings import Settings


# Deletion of edits and data sets from the web UI, with dependent data, and reasons against it.
#
# The web UI asks for confirmation and lists the deleted data; it deletes no data set that is in
# use.


@dataclass(frozen=True, slots=True)
class EditDeletion:
    """The data that are deleted with an edit.

    Attributes:
        facts, entities: of its edit graph; 0 if there is none.
        update_bytes: size of its saved update on this machine; None if none is saved.
        live: it is queued or running, and must be cancelled first.
    """

    edit: rows.GetEditRow
    facts: int
    entities: int
    update_bytes: int | None
    live: bool


@dataclass(frozen=True, slots=True)
class DataSetDeletion:
    """The data that are deleted with a data set, and those derived from it."""

    graph: rows.GraphRow
    rewrites: int
    derived: rows.DependentsRow

    @property
    def used(self) -> bool:
        """True if edits or knowledge sets use it; model graphs and rules are deleted with it."""
        return bool(self.derived.edits or self.derived.sets)


def edit_deletion(db: Database, settings: Settings, edit: str) -> EditDeletion:
    """List the data to be deleted with an edit, by any id that it has had.

    Raises:
        NotFoundError: there is none.
    """
    row = record.get_edit(db, edit)
    graph = next(iter(db.read(rows.GraphRow, "graph/get_graph", graph=row.id)), None)
    saved = deltas.path_of(settings, row.id)
    return EditDeletion(
        row,
        facts=graph.n_facts if graph else 0,
        entities=graph.n_entities if graph else 0,
        update_bytes=saved.stat().st_size if saved.is_file() else None,
        live=row.status not in ENDED,
    )


def data_set_deletion(db: Database, graph: str) -> DataSetDeletion:
    """List the data to be deleted with a data set, and the data that use it.

    Raises:
        NotFoundError: there is no such data set.
    """
    datasets.require_graph(db, graph)
    return DataSetDeletion(
        db.read(rows.GraphRow, "graph/get_graph", graph=graph)[0],
        rewrites=len(datasets.list_rewrites(db, graph)),
        derived=db.read(rows.DependentsRow, "graph/dependents", graph=graph)[0],
    )


def delete_with_derived(db: Database, graph: str) -> None:
    """Delete an unused data set with its rules and model graphs.

    Raises:
        NotFoundError: there is no such data set.
        ConflictError: edits or knowledge sets use it.
    """
    derived = data_set_deletion(db, graph).derived
    if derived.edits or derived.sets:
        raise ConflictError(
            f"{graph!r} is used by {pluralize(len(derived.edits), 'edit')} and"
            f" {pluralize(len(derived.sets), 'knowledge set')}.",
            remedy="Delete those first.",
        )
    delete.delete_graph(db, graph, with_dependents=True)


# The JSON interface is in the other modules of `service.web`.

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self';"
    " img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'",
    "Cache-Control": "no-store",
}

router = APIRouter(include_in_schema=False)
router.include_router(rendering.router)

EditId = Annotated[str, Path(max_length=200)]
GraphId = Annotated[str, Path(max_length=200)]
Word = Annotated[str, Query(max_length=400)]
Taken = Annotated[Measure | None, BeforeValidator(lambda text: text or None), Query()]
"""A measure; a form without a choice sends an empty text."""


def page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A template as a response; its policy allows only resources of this service."""
    signed_in = getattr(request.state, "signed_in", False)
    access = getattr(request.state, "access", None)
    text = render(template, signed_in=signed_in, access=access, **values)
    return HTMLResponse(text, status_code=status, headers=HEADERS)


def error_page(request: Request, problem: Problem, headers: Mapping[str, str]) -> Response:
    """An error as a page; one for a 503 reloads itself until the service is ready.

    A database that starts is no error for a reader: its page says how far it is.
    """
    response = page(
        request,
        "error.html",
        problem.status,
        here=request.url.path,
        title=problem.title,
        detail=problem.detail,
        remedy=problem.remedy,
        reload=problem.status == 503 and request.method == "GET",
        starting=problem.status == 503 and state(request).connection.starting,
    )
    response.headers.update(headers)
    return response


def login_form(request: Request, *, next: str, error: str | None, out: bool = False) -> Response:
    """The form for the token; `next` is the path to open after it."""
    status = 200 if error is None else 401
    values = {"here": request.url.path, "next": next, "error": error, "out": out}
    return page(request, "login.html", status, **values)


@router.get("/")
def front(
    request: Request,
    db: Db,
    here: AppState,
    graph: Word = "",
    method: Word = "",
    status: Word = "",
    rewrite: Word = "",
    model: Word = "",
    set_method: Word = "",
    q: Word = "",
    sort: home.Sort = "",
    cursor: Word = "",
    deleted: Word = "",
) -> Response:
    """Data sets, edits, and the form that submits one."""
    chosen = {"graph": graph, "method": method, "status": status}
    sets = home.data_sets(db, here.chain_counts)
    preset = {"graph": graph, "rewrite": rewrite, "method": set_method or method, "model": model}
    return page(
        request,
        "home.html",
        here="/",
        sets=sets,
        page=home.edits(db, chosen, cursor or None, text=q, sort=sort),
        paged=bool(cursor),
        chosen=chosen,
        narrowed=urlencode(
            {key: value for key, value in (chosen | {"q": q, "sort": sort}).items() if value}
        ),
        filters=urlencode({key: value for key, value in (chosen | {"q": q}).items() if value}),
        q=q,
        sort=sort,
        statuses=home.STATUSES,
        form=home.form(db, sets, preset),
        preset=bool(rewrite or set_method or model),
        deleted=deleted,
    )


@router.get("/docs")
def docs(request: Request) -> Response:
    """The API reference: Swagger UI over `/openapi.json`. Its style sheet has images as data."""
    response = page(request, "docs.html", here="/docs")
    policy = HEADERS["Content-Security-Policy"].replace("img-src", "img-src data:")
    response.headers["Content-Security-Policy"] = policy
    return response


@router.get("/documentation")
def documentation(request: Request) -> Response:
    """Explain every metric, and say where each question is answered."""
    built = (rendering.SITE / "index.html").is_file()
    return page(
        request, "documentation.html", here="/documentation", metrics=displays(), built=built
    )


@router.get("/documentation/{name:path}")
def site(name: str) -> Response:
    """A file of the documentation site; its pages have scripts and styles of the theme in them."""
    found = rendering.SITE.rglob("*")
    files = {p.relative_to(rendering.SITE).as_posix(): p for p in found if p.is_file()}
    if name not in files:
        raise NotFoundError("file", name, files, listing="GET /documentation")
    inline = "default-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'"
    headers = {"Content-Security-Policy": inline, "Cache-Control": "no-cache"}
    return FileResponse(files[name], headers=headers)


@router.get("/chain-counts/{graph}", response_model=None)
def chain_counts(graph: GraphId, db: Db, here: AppState) -> dict[str, int] | Response:
    """Chains of each rewrite of a data set, which a script of the front page requests.

    204 for a data set that was deleted since then.
    """
    try:
        return home.chain_counts(db, here.chain_counts, graph)
    except NotFoundError:
        return Response(status_code=204)


@router.get("/rules-choice/{graph}")
def rules_choice(graph: GraphId, request: Request, db: Db) -> Response:
    """The form's line on rules, which a script requests when another data set is chosen."""
    return page(request, "_rules_choice.html", rules=home.rules(db, graph))


@router.get("/neo4j")
def in_browser(db: Db, here: AppState) -> Response:
    """Open Neo4j Browser with server, user, database and a first query filled in.

    Raises:
        UsageError: its address is unknown.
    """
    if not (browser := here.connection.browser):
        raise UsageError(
            f"The address of Neo4j Browser for {db.uri} is unknown.",
            remedy="Set THINKEVAL_BROWSER_URL to it, and start the service again.",
            status=404,
        )
    return RedirectResponse(start_link(browser), 303)


@router.get("/methods")
def methods(
    request: Request,
    db: Db,
    here: AppState,
    graph: Word = "",
    model: Word = "",
    measure: Taken = None,
    rewrites: Rewrites = "common",
    chosen: Annotated[board.Methods, Query(alias="methods")] = "covered",
    rewrite: Word = "",
    columns: Literal["", "all"] = "",
) -> Response:
    """The methods by rank, over all rewrites or on one."""
    values = board.board(db, here.boards, graph, model, measure, rewrites, chosen, rewrite)
    if columns:
        values |= {"columns": (*values["columns"], *values["more_columns"]), "more_columns": ()}
    if not values["rows"] and graph and graph not in values["sets"]:
        datasets.require_graph(db, graph)
    return page(request, "methods.html", here="/methods", names=MEASURE_NAMES, **values)


@router.get("/rules")
def rules(
    request: Request,
    db: Db,
    graph: Word = "",
    status: Literal["", "candidate", "kept", "rejected"] = "",
    rank: store.Rank = store.RANK,
) -> Response:
    """The rules of a data set with their statistics."""
    values = ruling.values(db, graph, status, rank)
    return page(request, "rules.html", here="/rules", **values)


@router.get("/rules/review")
def rules_review(
    request: Request, db: Db, graph: Word, candidate: Word = "", by: Word = "", cursor: Word = ""
) -> Response:
    """The review queue alone, with which a script replaces the one that is shown."""
    del cursor  # of longer queues
    found = ruling.review(db, graph, by, candidate)
    return page(request, "_rules_review.html", queue=found)


@router.get("/edits/{edit}/delete")
def ask_edit(edit: EditId, request: Request, db: Db, here: AppState) -> Response:
    """Show the data deleted with an edit, and a form to confirm it."""
    deleted = edit_deletion(db, here.settings, edit)
    return page(request, "delete_edit.html", deletion=deleted)


@router.post("/edits/{edit}/delete")
def delete_edit(edit: EditId, db: Db, here: AppState) -> Response:
    """Delete an edit and open the list; 409 for a queued or running one."""
    (deleted,) = EDIT.store.delete(db, here.settings, edit)
    here.statuses.clear()
    return RedirectResponse(f"/?{urlencode({'deleted': f'edit {deleted}'})}", 303)


@router.get("/graphs/{graph}/delete")
def ask_data_set(graph: GraphId, request: Request, db: Db) -> Response:
    """Show the data deleted with a data set, the data that use it, and a form to confirm."""
    deleted = data_set_deletion(db, graph)
    return page(request, "delete_graph.html", deletion=deleted)


@router.post("/graphs/{graph}/delete")
def delete_data_set(graph: GraphId, db: Db) -> Response:
    """Delete a data set and open the list; 409 for one that is in use."""
    delete_with_derived(db, graph)
    return RedirectResponse(f"/?{urlencode({'deleted': f'data set {graph}'})}", 303)


depedit_router = APIRouter(prefix="/depedit", include_in_schema=False)

SetId = Annotated[str, Path(max_length=300)]
RunWord = Annotated[str, Query(max_length=500)]


@depedit_router.get("")
def protocol(
    request: Request,
    db: Db,
    here: AppState,
    graph: Word = "",
    setting: Word = "",
    model: Word = "",
) -> Response:
    """Knowledge sets, the paper's tables over stored runs, and the form that starts runs."""
    values = depedit.values(db, here.depedit_tables, Chosen(graph, setting, model))
    return page(request, "depedit.html", here="/depedit", **values)


@depedit_router.get("/report/{table}")
def report(
    table: Annotated[str, Path(max_length=40)],
    db: Db,
    here: AppState,
    format: Word = "markdown",
    graph: Word = "",
    setting: Word = "",
    model: Word = "",
) -> Response:
    """One of the tables as a file."""
    chosen = Chosen(graph, setting, model)
    text, name, media_type = depedit.download(db, here.depedit_tables, chosen, table, format)
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=media_type, headers=HEADERS | disposition)


@depedit_router.get("/sets/{knowledge_set}")
def one_set(
    knowledge_set: SetId,
    request: Request,
    db: Db,
    run: RunWord = "",
    copy: Word = "",
    role: Word = "",
) -> Response:
    """A knowledge set, and the answers of one of its runs."""
    values = depedit.set_values(db, knowledge_set, run=run, copy=copy, role=role)
    return page(request, "depedit_set.html", here="/depedit", **values)


# Address of the web UI's data sets.

data_router = APIRouter(include_in_schema=False)


@data_router.get("/data")
def data_sets(request: Request, db: Db, settings: InForce) -> Response:
    """The stored data sets, and the form that previews and imports one."""
    found = [graph for graph in datasets.list_graphs(db) if graph.kind == "dataset"]
    stored = {graph.id for graph in found}
    columns = [c for c in GRAPHS if c.header not in ("kind", "model")]
    return page(
        request,
        "data_sets.html",
        here="/data",
        sets=Table("sets", "Data sets", columns, found),
        shipped=[name for name in shipped.names() if name not in stored],
        formats=list(formats.formats().values()),
        limit_mb=settings.body_limit_mb,
    )


@data_router.get("/data/{graph}/csv")
def data_set_as_csv(graph: GraphId, db: Db) -> Response:
    """Return a zip of tables, which an import reads again; `left-out.txt` lists missing parts."""
    made = tables(datasets.stored_graph(db, graph))
    lost = {"left-out.txt": "\n".join([*made.lost, ""]).encode()} if made.lost else {}
    disposition = f"attachment; filename*=UTF-8''{quote(graph, safe='')}.zip"
    headers = HEADERS | {"Content-Disposition": disposition}
    return Response(zipped(made.files | lost), media_type="application/zip", headers=headers)
