"""Routes of the pages of experiments: sweeps, the matrix of a data set, and one fact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import RedirectResponse, Response

from ....edits.sweep import SWEEP
from ....schemas import MEASURE_NAMES
from ...state import AppState, Db
from ..routes import Taken, Word, page
from . import compare as comparing
from . import facts, matrix, sweeps
from .sweeps import View

router = APIRouter(include_in_schema=False)

Id = Annotated[str, Path(max_length=400)]
PageNumber = Annotated[int, Query(alias="page", ge=1, le=100_000)]


# A coroutine, as in `service.api.state`: FastAPI runs a plain function in another thread.
async def view_of(
    measure: Taken = None, order: matrix.Order = "name", page_: PageNumber = 1
) -> View:
    """Return the view of a matrix that the address chooses; without a measure, likelihood."""
    return View(measure or "likelihood", order, page_)


Viewed = Annotated[View, Depends(view_of)]


def link(request: Request) -> Callable[..., str]:
    """For templates: the query of the address with some parameters changed, page 1 by default."""

    def changed(**values: object) -> str:
        kept = [
            (key, value)
            for key, value in request.query_params.multi_items()
            if key != "page" and key not in values
        ]
        new = [(key, str(value)) for key, value in values.items() if value not in (None, "")]
        return "?" + urlencode([*kept, *new])

    return changed


@router.get("/sweeps")
def experiments(
    request: Request,
    db: Db,
    graph: Word = "",
    page_: PageNumber = 1,
) -> Response:
    """The form that starts a sweep, and the sweeps, newest first."""
    values = sweeps.list_values(db, graph, page_)
    return page(request, "experiments/list.html", here="/sweeps", url=link(request), **values)


@router.get("/sweeps/matrix")
def data_set_matrix(
    request: Request,
    db: Db,
    here: AppState,
    graph: Word,
    view: Viewed,
    model: Word = "",
) -> Response:
    """The newest edit of each rewrite by each method of a data set."""
    values = sweeps.graph_values(db, here.boards, graph, model, view)
    return page(request, "experiments/graph.html", here="/sweeps", url=link(request), **values)


@router.get("/sweeps/{sweep}")
def one_sweep(
    sweep: Id,
    request: Request,
    db: Db,
    here: AppState,
    view: Viewed,
) -> Response:
    """A sweep: progress, failed cells with their reasons, the matrix."""
    values = sweeps.sweep_values(db, here.boards, sweep, view)
    return page(request, "experiments/sweep.html", here="/sweeps", url=link(request), **values)


@router.post("/sweeps/{sweep}/cancel")
def cancel(sweep: Id, db: Db, here: AppState) -> Response:
    """Cancel the cells of a sweep that are not scored yet, and show it."""
    SWEEP.store.cancel(db, sweep)
    here.supervisor.wake()
    here.statuses.clear()
    return RedirectResponse(f"/sweeps/{sweep}", 303)


@router.get("/compare")
def compare(
    request: Request,
    db: Db,
    edit: Annotated[list[Word] | None, Query(max_length=100)] = None,
    a: Word = "",
    b: Word = "",
    measure: Taken = None,
    chains: facts.Which = "all",
    page_: PageNumber = 1,
) -> Response:
    """Any number of edits side by side; two of them as their diff."""
    edits = comparing.named(edit or [], a, b)
    if len(edits) > 2:
        many = comparing.pluralize(db, edits, measure, chains, page_)
        return page(
            request, "experiments/several.html", here="/compare", names=MEASURE_NAMES,
            url=link(request), **many,
        )  # fmt: skip
    if edit:
        a, b = (*edits, "", "")[:2]
    values = comparing.compared(db, a, b, measure)
    return page(request, "compare.html", here="/compare", names=MEASURE_NAMES, **values)


@router.get("/facts")
def fact_list(
    request: Request,
    db: Db,
    here: AppState,
    view: Viewed,
    graph: Word = "",
    q: Word = "",
) -> Response:
    """The facts of a data set that can be rewritten, with their best method."""
    values = facts.list_values(db, here.boards, graph, q, view)
    return page(request, "experiments/facts.html", here="/facts", url=link(request), **values)


@router.get("/facts/{graph}/{rewrite}")
def one_fact(
    graph: Id,
    rewrite: Id,
    request: Request,
    db: Db,
    here: AppState,
    model: Word = "",
    measure: Taken = None,
    chains: facts.Which = "all",
    page_: PageNumber = 1,
) -> Response:
    """One fact by all methods: the best one, the differences, its chains."""
    asked = facts.Asked(model, measure, chains, page_)
    values = facts.values(db, here.boards, graph, rewrite, asked)
    return page(request, "experiments/fact.html", here="/facts", url=link(request), **values)
