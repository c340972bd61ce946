"""Routes of the pages of sweeps, and of every kind of experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi import Form as FormBody
from fastapi import Path as PathParam
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, Field, ValidationError

from ....cypher import rows
from ...base.errors import KNOWN_ERRORS, NotFoundError, NothingStoredError, Problem, describe
from ...experiments.edit import EDIT
from ...experiments.kind import Kind
from ...experiments.sweep import SWEEP
from ...graphs import datasets
from ...growth.kind import GROWTH
from ...kinds import KINDS
from ...leakcut.coedit_kind import COEDIT
from ...models.edit import MEASURE_NAMES, Measure
from ...reports.verdict import NAMED, changed_words
from ...scoring import record
from ...scoring.metrics import changed_facts
from ...scoring.request import posted
from ...scoring.runtime import SMOLLM2, as_option
from ...states import table as states
from ...states.kind import COMPARISON
from ..state import AppState, Db
from . import growth, matrix, methods
from .home import last_used
from .matrix import View
from .routes import Taken, Word, page

if TYPE_CHECKING:
    from starlette.datastructures import FormData

    from ....cypher.run import Database
    from ...models.leakcut import CoEditOut


router = APIRouter(include_in_schema=False)

Id = Annotated[str, Path(max_length=400)]
PageNumber = Annotated[int, Query(alias="page", ge=1, le=100_000)]


# A coroutine, as in `service.web.state`: FastAPI runs a plain function in another thread.
async def view_of(
    measure: Taken = None, order: matrix.Order = "name", page_: PageNumber = 1
) -> View:
    """Return the view of a matrix that the address chooses; without a measure, likelihood."""
    return View(measure or "likelihood", order, page_)


Viewed = Annotated[View, Depends(view_of)]


class More(BaseModel):
    """The form that scores methods on further facts, with the options of the edit `like`."""

    like: str = Field(max_length=400)
    methods: list[str] = Field(min_length=1, max_length=50)
    facts: int = Field(ge=1, le=1000)


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
    values = matrix.list_values(db, graph, page_)
    return page(request, "experiments_list.html", here="/sweeps", url=link(request), **values)


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
    values = matrix.graph_values(db, here.boards, graph, model, view)
    return page(request, "experiments_graph.html", here="/sweeps", url=link(request), **values)


@router.get("/sweeps/{sweep}")
def one_sweep(
    sweep: Id,
    request: Request,
    db: Db,
    here: AppState,
    view: Viewed,
) -> Response:
    """A sweep: progress, failed cells with their reasons, the matrix."""
    values = matrix.sweep_values(db, here.boards, sweep, view)
    return page(request, "experiments_sweep.html", here="/sweeps", url=link(request), **values)


@router.post("/sweeps/more")
def score_more(asked: Annotated[More, FormBody()], db: Db, here: AppState) -> Response:
    """Start a sweep on further facts, which are unrelated to those scored by its methods."""
    wanted = matrix.further_sweep(db, here.boards, asked.like, asked.methods, asked.facts)
    accepted = SWEEP.store.submit(db, here.settings, wanted)
    here.dispatcher.wake()
    return RedirectResponse(f"/sweeps/{quote(accepted.edit)}", 303)


@router.post("/sweeps/{sweep}/cancel")
def cancel(sweep: Id, db: Db, here: AppState) -> Response:
    """Cancel the cells of a sweep that are not scored yet, and show it."""
    SWEEP.store.cancel(db, sweep)
    here.dispatcher.wake()
    here.statuses.clear()
    return RedirectResponse(f"/sweeps/{sweep}", 303)


@router.get("/compare")
def compare(
    request: Request,
    db: Db,
    edit: Annotated[list[Word], Query(max_length=100, default_factory=list)],
    measure: Taken = None,
    chains: matrix.Which = "all",
    page_: PageNumber = 1,
) -> Response:
    """Edits side by side."""
    values = methods.side_by_side(db, edit, measure, chains, page_)
    return page(
        request, "experiments_several.html", names=MEASURE_NAMES, url=link(request), **values
    )


# The pages of every kind of experiment: the list, with a form where there is one, and a result.

ExperimentId = Annotated[str, PathParam(max_length=300)]
ChosenEdit = Annotated[str | None, Query(max_length=200)]
ChosenMeasure = Annotated[Measure | None, Query()]


EDITS = 200
"""Edits that the form of a comparison offers, newest first."""


def _comparison_form(db: Database, edit: str | None) -> dict[str, Any]:
    """The values of the form that starts a comparison; of an edit, with its unedited model."""
    sets = [graph.id for graph in datasets.list_graphs(db) if graph.kind == "dataset"]
    newest = [
        row
        for row in db.read(rows.PageEditRow, "edits/page_edits", status="succeeded", limit=EDITS)
        if not row.method.startswith("compare:")
    ]
    used = last_used(db)
    form = {
        "base": used.model, "states": "", "graph": used.graph_of(sets), "ask": "watch",
        "rewrites": "", "forget": "", "samples": 0, "implications": False, "sets": sets,
        "put": f"+edit:{edit}" if edit else "", "source": "", "place": "", "bits": "",
        "models": sorted({"organism", SMOLLM2, *(row.model for row in newest)}),
        "edits": newest, "example": newest[0].id if newest and edit is None else "",
    }  # fmt: skip
    if edit is None:
        return form
    for row in newest:
        if row.id == edit:
            form |= {"base": as_option(row.model), "graph": row.dataset, "rewrites": row.rewrite}
    try:
        score = record.get_score(db, edit)
    except (NotFoundError, NothingStoredError):
        return form
    base = posted(score).get("model") or form["base"]
    return form | {"base": base, "graph": score.dataset, "rewrites": score.rewrite}


def _picked(form: FormData) -> list[str]:
    """The state that is picked rather than written: a model with an edit, adapter, fewer bits."""
    base, put, source, place, bits = (
        str(form.get(name, "")).strip() for name in ("base", "put", "source", "place", "bits")
    )
    if not (put or (source and place) or bits):
        return []
    model = {"folder": place, "endpoint": f"endpoint:{place}"}.get(source, base)
    adapter = f"+adapter:{place}" if source == "adapter" else ""
    return [f"{model}{put}{adapter}{bits}"]


def _comparison_request(form: FormData) -> dict[str, Any]:
    """The request that the form asks for."""

    def lines(name: str) -> list[str]:
        return [each.strip() for each in str(form.get(name, "")).splitlines() if each.strip()]

    return {
        "base": str(form.get("base", "")).strip(),
        "states": _picked(form) + lines("states"),
        "graph": str(form.get("graph", "")),
        "all_rewrites": form.get("ask") == "all",
        "rewrites": lines("rewrites"),
        "forget": lines("forget"),
        "samples": str(form.get("samples", 0)),
        "implications": "implications" in form,
    }


def _moved(db: Database, out: CoEditOut) -> list[str]:
    """Return the facts that the chosen round of a co-edit moved most, in words."""
    try:
        score = record.get_score(db, out.rounds[out.chosen].edit)
        found = changed_facts(db, score, out.measure, NAMED)
    except (NotFoundError, NothingStoredError):
        return []
    return [changed_words(fact) for fact in found]


Form = tuple[Callable[..., dict[str, Any]], Callable[..., dict[str, Any]]]
FORMS: Mapping[str, Form] = {
    COMPARISON.name: (_comparison_form, _comparison_request),
    GROWTH.name: (growth.form, growth.request_of),
}
"""Of kinds that a page starts: the values of the form, and the request that it asks for."""
MORE: Mapping[str, Callable[[Database, Any, Mapping[str, str]], dict[str, Any]]] = {
    COEDIT.name: lambda db, out, asked: {"moved": _moved(db, out)},
    COMPARISON.name: lambda db, out, asked: states.page_values(out),
    GROWTH.name: growth.more,
}
"""Of kinds whose template shows more of a result: its values, by what the address asks for."""


def router_of(kind: Kind[Any, Any]) -> APIRouter:
    """The pages of a kind."""
    router = APIRouter(prefix=f"/{kind.plural}", include_in_schema=False)
    here_is = f"/{kind.plural}"

    def listed(
        request: Request, db: Database, form: Mapping[str, Any], problem: Problem | None = None
    ) -> Response:
        return page(
            request,
            _own_or(f"{kind.plural}.html", "experiment_list.html"),
            problem.status if problem else 200,
            here=here_is,
            kind=kind,
            found=kind.store.listing(db),
            form=form,
            problem=problem,
        )

    @router.get("")
    def listing(request: Request, db: Db, edit: ChosenEdit = None) -> Response:
        form = FORMS[kind.name][0](db, edit) if kind.name in FORMS else {}
        return listed(request, db, form)

    @router.get("/{id}")
    def shown(
        id: ExperimentId, request: Request, db: Db, measure: ChosenMeasure = None
    ) -> Response:
        return page(
            request,
            _own_or(f"{kind.noun.replace(' ', '_')}.html", "experiment.html"),
            here=here_is,
            **values(db, kind, id, measure, request.query_params),
        )

    if kind.name not in FORMS:
        return router
    defaults, read = FORMS[kind.name]

    @router.post("")
    async def start(request: Request, db: Db, here: AppState) -> Response:
        filled = await request.form()
        form = {**defaults(db, None), **{name: filled[name] for name in filled}}
        form["implications"] = "implications" in filled
        try:
            wanted = kind.request.model_validate(read(filled))
            accepted = kind.store.submit(db, here.settings, wanted)
        except ValidationError as error:
            text = "; ".join(_said(each["loc"], each["msg"]) for each in error.errors())
            return listed(request, db, form, Problem("", text, "Correct the form.", 422))
        except KNOWN_ERRORS as error:
            return listed(request, db, form, describe(error))
        here.dispatcher.wake()
        return RedirectResponse(f"{here_is}/{quote(accepted.edit)}", status_code=303)

    return router


def _own_or(name: str, common: str) -> str:
    """Return the template of a kind, or that of all kinds where it has none."""
    return name if (FilePath(__file__).parent.parent / "templates" / name).is_file() else common


def _said(place: tuple[int | str, ...], message: str) -> str:
    """A problem of a form with the name of its field; one of the whole request names none."""
    text = message.removeprefix("Value error, ")
    return f"{place[0]}: {text}" if place else text


def values(
    db: Database,
    kind: Kind[Any, Any],
    id: str,
    measure: Measure | None,
    asked: Mapping[str, str],
) -> dict[str, Any]:
    """Values of the template of an experiment.

    Args:
        asked: parameters of the address.

    Raises:
        NotFoundError: there is none.
        UsageError: the measure was not taken.
    """
    found = kind.store.get(db, id)
    out = found.result
    shown: dict[str, Any] = {
        "kind": kind, "job": found, "live": found.status in ("queued", "running"), "out": out,
        "record": f"/v1/{kind.plural}/{quote(found.id)}",
    }  # fmt: skip
    if out is None:
        return shown
    taken = getattr(out, "measures", [])
    return shown | {
        "title": kind.title(out),
        "sentences": kind.sentences(out, measure),
        "tables": kind.tables(out, measure),
        "further": kind.further(db, out, measure),
        "measures": taken,
        "measure": measure or (out.measure if taken else None),
        "names": MEASURE_NAMES,
        **(MORE[kind.name](db, out, asked) if kind.name in MORE else {}),
    }


ROUTERS = [router_of(kind) for kind in KINDS if kind not in (EDIT, SWEEP)]
"""The pages of the kinds that have none of their own."""
