"""Catalogue (/v1/methods, models, queries, leaderboard), and Neo4j Browser's files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, Field

from ... import cypher
from ...cypher import rows
from ...cypher.browser import param_list, style
from ...editing import hparams as hparams_files
from ...editing import registry
from ..base.errors import NotFoundError
from ..models.checks import MethodCheck
from ..models.edit import Measure
from ..models.forms import MethodForm
from ..reports import checks, formats, paired, table
from ..reports.browser import FOLDER, QUESTIONS, RULE_QUESTIONS, params_of
from ..reports.comparison import Rewrites, compare
from ..reports.forms import by_method
from ..reports.paired import PairedOut
from ..scoring import record
from .experiments import TABLE_TYPES
from .parameters import InMeasure, OfGraph, OfModel
from .problems import DESCRIBED
from .state import AppState, Db, InForce, etag_response

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup


# Guide for Neo4j Browser: the questions a user asks first, with queries ready to run.
#
# The queries are the files of cypher/explore/, inserted when the guide is requested, so that the
# guide and the files agree.

NEWEST = (
    "COLLECT { MATCH (e:Edit {status: 'succeeded'})"
    " RETURN e.id ORDER BY datetime(e.created_at) DESC LIMIT 1 }[0]"
)
"""Value of $edit if no edit is named: the server evaluates a parameter's expression."""


@dataclass(frozen=True, slots=True)
class Slide:
    """One question with the query that answers it."""

    name: str
    question: str
    doc: str
    text: str


def questions(chapter: Mapping[str, str] = QUESTIONS) -> list[Slide]:
    """Slides of a chapter; the queries without their headers, whose text is beside them."""
    slides = []
    for name, question in chapter.items():
        found = cypher.query(f"{FOLDER}{name}")
        body = found.text[found.text.index("\n\n") :].strip()
        slides.append(Slide(name, question, found.doc, body))
    return slides


def settings(edit: str | None = None, **others: Any) -> str:
    """Lines that set every parameter of the queries; the newest edit if none is named."""
    params: dict[str, Any] = {"edit": edit}
    for name in (*QUESTIONS, *RULE_QUESTIONS):
        for key, param in params_of(name).items():
            params.setdefault(key, others.get(key, param.default))
    return param_list(params, {} if edit is not None else {"edit": NEWEST})


def render(service: str, edit: str | None = None, **others: Any) -> str:
    """The guide as HTML for Neo4j Browser.

    Args:
        service: address of this service, from which Browser fetches the guide.
        edit: the edit of the queries; None for the newest one.
        others: parameters whose values differ from the defaults.
    """
    return _template().render(
        service=service.rstrip("/"),
        edit=edit,
        params=settings(edit, **others),
        slides=questions(),
        rule_slides=questions(RULE_QUESTIONS),
    )


@cache
def _template() -> Template:
    import jinja2

    loader = jinja2.PackageLoader("thinkeval.service.web", "templates")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.filters["coded"] = _coded
    return environment.get_template("guide.html")


def _coded(text: str) -> Markup:
    """A paragraph of a query's header; text in backticks becomes code."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


# Neo4j Browser fetches the guide and the graph style from another origin, so both carry CORS
# headers and answer its preflight. They contain no stored data, so they need no token.

router = APIRouter(prefix="/v1", tags=["catalogue"], responses=DESCRIBED)
_ORGANISMS = ("organism", "organism:gpt2", "organism:llama", "organism-unknown")


ByName = Annotated[str, Path(min_length=1, max_length=200, description="Name in the catalogue.")]

RewritesQuery = Annotated[
    Rewrites,
    Query(description="Over the rewrites that all methods of a model have, or each over its own."),
]


class MethodOut(BaseModel):
    """An editing method, and the models it has hyperparameters for."""

    name: str = Field(description="Name of the method.")
    kind: str = Field(description="weights, prompt or control.")
    doc: str = Field(description="Its description.")
    paper: str = Field(description="The paper that it is from.")
    hparams: list[str] = Field(description="Models that it has shipped hyperparameters for.")


class Methods(BaseModel):
    """The editing methods."""

    items: list[MethodOut] = Field(description="The items of this page, in order.")


class Queries(BaseModel):
    """Queries of the catalogue."""

    items: list[cypher.Query] = Field(description="The items of this page, in order.")


class Models(BaseModel):
    """Models the service may load; `*` in a name matches any text."""

    names: list[str] = Field(description="Names that may be loaded; `*` matches any text.")
    folders: list[str] = Field(description="Folders from which models may be loaded.")


class Leaderboard(BaseModel):
    """One row per model and method, with the columns of ThinkEval's Table 4; undefined is null."""

    measure: Measure = Field(
        description="The measure: likelihood, p (share of sampled answers), or likelihood_norm."
    )
    rewrites: Rewrites = Field(
        default="common",
        description="Over the rewrites that all methods of a model have (common), or each over its"
        " own.",
    )
    caption: str = Field(description="The table, in one sentence.")
    warnings: list[str] = Field(
        default=[], description="Left out or incomparable parts, in sentences."
    )
    left_out: dict[str, list[str]] = Field(
        default={},
        description="Rewrites that some method lacks, by model; with `rewrites=common` no row"
        " covers them.",
    )
    differences: list[PairedOut] = Field(
        default=[],
        description="Every method against the best of its model, paired over common rewrites.",
    )
    forms: list[MethodForm] = Field(
        default=[], description="Each form of asking over the edits of a method."
    )
    checks: list[MethodCheck] = Field(
        default=[], description="Each criterion of the data set's questions over a method's edits."
    )
    edits: int = Field(description="Number of edits that the rows are taken over.")
    rows: list[dict[str, Any]] = Field(description="The table's rows, by the names of its columns.")


@router.get("/methods", response_model=Methods, summary="List the editing methods")
def list_methods() -> Methods:
    """The editing methods."""
    return Methods(items=[_method(name) for name in registry.names()])


def _method(name: ByName) -> MethodOut:
    info = registry.info(name)
    return MethodOut(
        name=info.name,
        kind=info.kind,
        doc=info.doc,
        paper=info.paper,
        hparams=list(hparams_files.available(name)),
    )


@router.get("/models", response_model=Models, summary="List the models that may be loaded")
def list_models(settings: InForce) -> Models:
    """Organisms, and the other models that the operator allows."""
    return Models(
        names=[*_ORGANISMS, *settings.models],
        folders=[str(folder) for folder in settings.model_dirs],
    )


@router.get("/queries", response_model=Queries, summary="List every query with its Cypher")
def list_queries(
    folder: Annotated[
        str, Query(max_length=100, description="Only of this folder, such as `metrics/`.")
    ] = "",
) -> Queries:
    """Every query the service runs; those of `metrics/` are the metrics."""
    return Queries(items=[cypher.query(name) for name in cypher.names(folder)])


@router.get(
    "/queries/{name:path}", response_model=cypher.Query, summary="Get a query with its Cypher"
)
def get_query(name: ByName) -> cypher.Query:
    """One query with its Cypher."""
    if name not in cypher.names():
        raise NotFoundError("query", name, cypher.names(), listing="thinkeval db queries")
    return cypher.query(name)


@router.get(
    "/leaderboard",
    response_model=Leaderboard,
    responses={200: {"content": {each.split(";")[0]: {} for each in TABLE_TYPES.values()}}},
    summary="Compare the methods",
)
def leaderboard(
    request: Request,
    db: Db,
    here: AppState,
    graph: OfGraph = None,
    model: OfModel = None,
    measure: InMeasure = "likelihood",
    rewrites: RewritesQuery = "common",
    format: Annotated[
        Literal["json", "csv", "markdown", "latex"],
        Query(description="json: as described; csv, markdown, latex: the table alone."),
    ] = "json",
) -> Response:
    """The newest edit of each rewrite by each method, pooled by method.

    Methods of one model are compared over the rewrites that all of them have; where they were
    scored on different ones, `warnings` says how many are left out and which.

    404 if there is no such graph, or no edit has the measure.
    """
    state = db.read(rows.ScoredStateRow, "edits/scored_state", dataset=graph)[0]
    key = ("leaderboard", graph, model, measure, rewrites, format, state)

    def body() -> bytes:
        notes: list[str] = []
        scores = record.scores_by(db, measure, graph=graph, model=model, notes=notes)
        found = compare(db, scores, measure, rewrites, notes)
        if format != "json":
            frame = table.method_table(found.scores, measure, found.families)
            frame = table.by_rank(frame, found.scores, measure, ranked=found.comparable)
            columns = table.PAPER if format == "latex" else None
            said = table.caption(found.scores, measure, columns, found.families)
            shaped = table.methods(frame, " ".join([*found.warnings, said]))
            return formats.render(shaped, format).encode()
        against = paired.paired(found, measure)
        forms, refused = by_method(found.scores, found.families)
        left_out = [said for each in against for said in each.refused]
        board = Leaderboard(
            measure=measure,
            rewrites=rewrites,
            caption=table.caption(found.scores, measure, families=found.families),
            warnings=[*found.warnings, *left_out, *refused],
            left_out=dict(found.left_out),
            differences=paired.out(against),
            forms=forms,
            checks=checks.by_method(db, found.scores, found.families),
            edits=len(found.scores),
            rows=table.records(table.method_table(found.scores, measure, found.families)),
        )
        return board.model_dump_json().encode()

    return etag_response(request, here.responses.get(key, body), TABLE_TYPES[format])


browser_router = APIRouter(prefix="/neo4j", tags=["Neo4j Browser"], include_in_schema=False)

CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, HEAD, OPTIONS",
    "Access-Control-Max-Age": "600",
    "Cache-Control": "no-cache",
}

EditId = Annotated[str | None, Query(pattern=r"^[\w.~@-]+$", max_length=200)]


@browser_router.api_route("/guide.html", methods=["GET", "HEAD"])
def guide_page(request: Request, edit: EditId = None) -> Response:
    """The guide about one edit; about the newest without `edit`."""
    page = render(str(request.base_url), edit)
    return Response(page, media_type="text/html", headers=CORS)


@browser_router.api_route("/thinkeval.grass", methods=["GET", "HEAD"])
def style_sheet() -> Response:
    """The style sheet, for `:style`."""
    return Response(style(), media_type="text/plain", headers=CORS)


@browser_router.options("/guide.html")
@browser_router.options("/thinkeval.grass")
def preflight(request: Request) -> Response:
    """Answer the CORS preflight of Neo4j Browser; any custom header is allowed."""
    names = request.headers.get("Access-Control-Request-Headers")
    headers = dict(CORS)
    if names:
        headers["Access-Control-Allow-Headers"] = names
        headers["Vary"] = "Access-Control-Request-Headers"
    return Response(status_code=204, headers=headers)
