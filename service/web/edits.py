"""/v1/edits: edits and sweeps as requests, and the results of scored edits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from ... import cypher
from ...cypher import rows
from ...cypher.browser import filled
from ...cypher.run import Database
from ..base.errors import NotFoundError, UsageError
from ..leakcut.request import marked
from ..models.edit import AdditivityOptions, Measure, Score
from ..reports import figures, paired
from ..reports.browser import query_link
from ..reports.comparison import Rewrites, compare
from ..reports.edit import (
    ChainFilter,
    ChainPage,
    GraphOut,
    chain_page,
    graph_of,
    measure_of,
)
from ..reports.figure_style import MEDIA_TYPES, Format
from ..reports.figures import EditKind, MethodsKind
from ..scoring import metrics, record
from .parameters import Cursor, EditId, InMeasure, Limit, OfGraph, OfModel, Selected
from .problems import DESCRIBED
from .state import AppState, Db, State, etag_response

UNCHANGED: dict[int | str, dict[str, Any]] = {
    304: {"description": "The client has this response already (`If-None-Match`)."}
}

router = APIRouter(prefix="/v1/edits/{edit}", tags=["results"], responses=DESCRIBED | UNCHANGED)

MeasureQuery = Annotated[
    Measure | None,
    Query(description="Default: the first measure that the edit has, usually likelihood."),
]

FigureFormat = Annotated[Format, Path(description="Format of the figure.")]

QueryName = Annotated[
    str,
    Path(
        min_length=1,
        max_length=200,
        description="Name of a query, as `GET /v1/queries` lists it.",
        examples=["metrics/ifr"],
    ),
]


class AppendAnswersOut(BaseModel):
    """The prompts of a request to append, in order, by `likelihood_norm` of each name."""

    edit: str = Field(description="Id of the edit.")
    items: list[rows.AppendAnswersRow] = Field(description="The prompts of the request, in order.")


class AdditivityOut(BaseModel):
    """The other answers that an append moved: one item a set of false answers."""

    edit: str = Field(description="Id of the edit.")
    items: list[rows.AdditivityRow] = Field(description="One row for each set of false answers.")


class QueryOut(BaseModel):
    """A query with its parameters for one edit, and the same for Neo4j Browser."""

    name: str = Field(description="Name of the query.")
    text: str = Field(description="Its complete Cypher.")
    params: dict[str, Any] = Field(description="Its parameters for this edit.")
    browser_text: str = Field(description="`:param` lines, then the query; to paste in two steps.")
    browser_url: str | None = Field(
        description="Opens Neo4j Browser with the query; null if its address is unknown."
    )


def of_scored(
    request: Request, here: State, db: Database, edit: str, build: Callable[[Score], BaseModel]
) -> Response:
    """A cached response about a scored edit, computed once for each path and query.

    Raises:
        NotFoundError, NothingStoredError: no such edit, or it has no score.
    """
    job = here.statuses.get(db, edit)
    key = ("of", job.id, job.finished_at, request.url.path, str(request.url.query))

    def body() -> bytes:
        return build(record.get_score(db, job.id)).model_dump_json().encode()

    if job.status != "succeeded":
        record.get_score(db, job.id)  # raises, with the status
    return etag_response(request, here.responses.get(key, body))


def _link(browser: str, name: str, params: dict[str, Any]) -> str | None:
    """Address that opens Neo4j Browser; None if it is unknown, or the address would be too long."""
    if not browser:
        return None
    try:
        return query_link(browser, filled(name, **params))
    except UsageError:
        return None


@router.get("/chains", response_model=ChainPage, summary="List the chains of an edit")
def get_chains(
    edit: EditId,
    db: Db,
    here: AppState,
    request: Request,
    chosen: Annotated[ChainFilter, Query()],
    measure: MeasureQuery = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """The chains from the subject to the old object, largest part of IFR first."""

    def build(score: Score) -> ChainPage:
        by = measure_of(score, measure)
        found = metrics.chain_rows(db, score, by)
        return chain_page(found, by, chosen, limit=limit, cursor=cursor)

    return of_scored(request, here, db, edit, build)


@router.get(
    "/answers", response_model=AppendAnswersOut, summary="List the answers of an appended edit"
)
def get_answers(edit: EditId, db: Db, here: AppState, request: Request) -> Response:
    """P of each correct and false answer before and after the edit, prompt by prompt."""

    def build(score: Score) -> AppendAnswersOut:
        _require_append(score)
        items = db.read(rows.AppendAnswersRow, "append/answers", edit=score.edit)
        return AppendAnswersOut(edit=score.edit, items=items)

    return of_scored(request, here, db, edit, build)


@router.get(
    "/additivity", response_model=AdditivityOut, summary="Get the additivity of an appended edit"
)
def get_additivity(
    edit: EditId,
    db: Db,
    here: AppState,
    request: Request,
    options: Annotated[AdditivityOptions, Query()],
) -> Response:
    """RFF to ANF against hard and random false answers, with prompts dropped by reason.

    With its defaults the values are those of the score.
    """

    def build(score: Score) -> AdditivityOut:
        _require_append(score)
        items = db.read(
            rows.AdditivityRow, "append/additivity", edits=[score.edit], **options.model_dump()
        )
        return AdditivityOut(edit=score.edit, items=items)

    return of_scored(request, here, db, edit, build)


def _require_append(score: Score) -> None:
    """Refuse an edit whose request replaces an object.

    Raises:
        NotFoundError: it is no append.
    """
    if score.append is None:
        raise NotFoundError("append", score.edit, [], listing="thinkeval graph rewrites GRAPH")


@router.get("/graph", response_model=GraphOut, summary="Get the graph of an edit")
def get_edit_graph(
    edit: EditId, db: Db, here: AppState, request: Request, measure: MeasureQuery = None
) -> Response:
    """Every fact in the edit's scope: probabilities before and after, answers, and chains."""

    def build(score: Score) -> GraphOut:
        by = measure_of(score, measure)
        return graph_of(db, score, by, metrics.chain_rows(db, score, by))

    return of_scored(request, here, db, edit, build)


@router.get(
    "/queries/{name:path}",
    response_model=QueryOut,
    summary="Get a query with its parameters for an edit",
)
def get_edit_query(
    edit: EditId,
    name: QueryName,
    db: Db,
    here: AppState,
    request: Request,
    measure: MeasureQuery = None,
) -> Response:
    """Text and parameters of a query, and both to paste into Neo4j Browser.

    For the queries of `metrics/`, `chains/` and `explore/`, which are about one edit.
    """

    def build(score: Score) -> QueryOut:
        by = measure_of(score, measure)
        params = metrics.query_params(db, score, by, name)
        text = metrics.browser_text(db, score, by, name)
        browser = here.connection.browser
        return QueryOut(
            name=name,
            text=cypher.query(name).text,
            params=params,
            browser_text=text,
            browser_url=_link(browser, name, params),
        )

    return of_scored(request, here, db, edit, build)


DRAWN: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The figure.",
        "content": {
            kind: {"schema": {"type": "string", "format": "binary"}}
            for kind in MEDIA_TYPES.values()
        },
    },
    304: {"description": "The client has this figure already (`If-None-Match`)."},
}

figures_router = APIRouter(prefix="/v1", tags=["figures"], responses=DESCRIBED | DRAWN)


@figures_router.get(
    "/edits/{edit}/figures/{kind}.{fmt}", response_class=Response, summary="Draw an edit"
)
def edit_figure(
    edit: EditId,
    kind: Annotated[EditKind, Path(description="Kind of figure.")],
    fmt: FigureFormat,
    db: Db,
    here: AppState,
    request: Request,
    selection: Selected,
    measure: MeasureQuery = None,
    n: Annotated[
        int | None,
        Query(
            ge=1,
            le=100_000,
            description="Number of the chain that `chain` shows, in the order of /chains without"
            " filters; default: the first that survives.",
        ),
    ] = None,
    limit: Annotated[
        int,
        Query(ge=1, le=1000, description="Surviving chains that `leakage` shows at most."),
    ] = figures.SHOWN,
    caption: Annotated[
        bool, Query(description="True if `leakage` has its title and caption.")
    ] = True,
) -> Response:
    """An edit's leakage map, or one of its chains with the retention of each link.

    `leakage` draws the chains that fit the selection (`through`, `fact` and so on): the map that
    the web UI shows at the same parameters.
    """
    job = here.statuses.get(db, edit)
    score = record.get_score(db, job.id)
    by = measure_of(score, measure)
    body = here.responses.get(
        ("figure", job.id, job.finished_at, kind, fmt, by, n, limit, selection, caption),
        lambda: figures.draw_edit(
            db,
            score,
            kind,
            by,
            fmt,
            n=n,
            limit=limit,
            selection=selection,
            caption=caption,
            marked=marked(db, score, by) if kind == "leakage" else (),
        ),
    )
    return etag_response(request, body, MEDIA_TYPES[fmt])


@figures_router.get(
    "/figures/{kind}.{fmt}", response_class=Response, summary="Draw the comparison of the methods"
)
def methods_figure(
    kind: Annotated[MethodsKind, Path(description="Kind of figure.")],
    fmt: FigureFormat,
    db: Db,
    here: AppState,
    request: Request,
    graph: OfGraph = None,
    model: OfModel = None,
    measure: InMeasure = "likelihood",
    rewrites: Annotated[
        Rewrites, Query(description="As of the leaderboard: `common` to all methods, or `all`.")
    ] = "common",
) -> Response:
    """Comparison of the methods: IFR by steps, or IFR against Preservation.

    Over the edits that the leaderboard of the same graph, model, measure and rewrites shows.
    """
    said: list[str] = []
    scores = record.scores_by(db, measure, graph=graph, model=model, notes=said)

    def drawn() -> bytes:
        found = compare(db, scores, measure, rewrites, said)
        notes = paired.notes(found, measure)
        return figures.draw_methods(
            found.scores, kind, measure, fmt, families=found.families, warnings=notes
        )

    # An edit that is scored again has the same id and new values.
    edits = tuple(sorted((score.edit, hash(score.stored())) for score in scores))
    body = here.responses.get(
        ("figure", kind, fmt, measure, rewrites, edits, *said),
        drawn,
    )
    return etag_response(request, body, MEDIA_TYPES[fmt])
