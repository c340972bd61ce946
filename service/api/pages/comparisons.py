"""The pages of comparisons: the list, and one with its verdict, requests and drift."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Form, Path, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from ...errors import KNOWN_ERRORS, Problem, describe
from ...graphs import datasets
from ...reports import implied
from ...schemas import MEASURE_NAMES, Measure
from ...states import control, job, store, table
from ...states.schemas import ComparisonIn
from ...states.words import parse
from ..state import Db, Here
from .routes import page

if TYPE_CHECKING:
    from ....cypher.run import Database

router = APIRouter(prefix="/comparisons", include_in_schema=False)

ComparisonId = Annotated[str, Path(max_length=300)]
ChosenEdit = Annotated[str | None, Query(max_length=200)]
ChosenMeasure = Annotated[Measure | None, Query()]


@router.get("")
def comparisons(request: Request, db: Db, edit: ChosenEdit = None) -> Response:
    """Comparisons that are done, newest first, and a form that starts one."""
    filled = {"after": f"organism+edit:{edit}"} if edit else {}
    return _listed(request, db, filled)


@router.post("")
def start(
    request: Request,
    db: Db,
    here: Here,
    before: Annotated[str, Form(max_length=1000)] = "",
    after: Annotated[str, Form(max_length=1000)] = "",
    graph: Annotated[str, Form(max_length=200)] = "",
    ask: Annotated[Literal["watch", "all"], Form()] = "watch",
    forget: Annotated[str, Form(max_length=50_000)] = "",
    samples: Annotated[int, Form(ge=0, le=200)] = 0,
    implications: Annotated[bool, Form()] = False,
) -> Response:
    """Submit a comparison; errors are shown above the form, which keeps its values."""
    filled = {
        "before": before, "after": after, "graph": graph, "ask": ask, "forget": forget,
        "samples": samples, "implications": implications,
    }  # fmt: skip
    try:
        posted = ComparisonIn(
            before=parse(before.strip()),
            after=parse(after.strip()),
            graph=graph,
            all_rewrites=ask == "all",
            forget=[line.strip() for line in forget.splitlines() if line.strip()],
            samples=samples,
            implications=implications,
        )
        accepted = job.post(db, here.settings, posted)
    except ValidationError as error:
        text = "; ".join(each["msg"] for each in error.errors())
        return _listed(request, db, filled, Problem("", text, "Correct the form.", 422))
    except KNOWN_ERRORS as error:
        return _listed(request, db, filled, describe(error))
    here.supervisor.wake()
    return RedirectResponse(f"/comparisons/{quote(accepted.edit)}", status_code=303)


def _listed(
    request: Request, db: Database, filled: Mapping[str, Any], problem: Problem | None = None
) -> Response:
    """The list, and the form with these values."""
    sets = [graph.id for graph in datasets.list_graphs(db) if graph.kind == "dataset"]
    form = {
        "before": "organism", "after": "", "graph": sets[0] if sets else "", "ask": "watch",
        "forget": "", "samples": 0, "implications": False,
    }  # fmt: skip
    return page(
        request,
        "comparisons.html",
        problem.status if problem else 200,
        here="/comparisons",
        comparisons=store.page(db),
        sets=sets,
        form={**form, **filled},
        problem=problem,
    )


@router.get("/{comparison}")
def comparison(
    comparison: ComparisonId, request: Request, db: Db, measure: ChosenMeasure = None
) -> Response:
    """One comparison: its state while it runs, then what changed."""
    return page(request, "comparison.html", here="/comparisons", **values(db, comparison, measure))


def values(db: Database, id: str, measure: Measure | None) -> dict[str, Any]:
    """Values of `comparison.html`.

    Raises:
        NotFoundError: there is none.
        UsageError: the states were not compared by this measure.
    """
    found = control.get(db, id)
    out = found.result
    shown: dict[str, Any] = {
        "job": found, "live": found.status in ("queued", "running"), "out": out,
    }  # fmt: skip
    if out is None:
        return shown
    chosen = table.measure_of(out, measure)
    drift = out.drift[chosen]
    return shown | {
        "measure": chosen,
        "names": MEASURE_NAMES,
        "verdict": table.verdict(out, chosen),
        "kinds": [
            (
                table.TITLES.get(kind, kind),
                table.request_columns(kind, chosen)[:-1],
                [each for each in out.requests if each.kind == kind],
            )
            for kind in table.kinds(out)
        ],
        "request_note": table.request_note(out, chosen),
        "columns": table.DRIFT,
        "near": [drift.total, *drift.by_distance],
        "by_relation": drift.by_relation,
        "meaning": table.MEANING,
        "unknown": table.forgotten_unknown(out.requests, chosen),
        "implied": implied.by_group(db, table.edits_by_kind(out), chosen)
        if out.request.get("implications")
        else {},
        "implied_columns": implied.COLUMNS,
        "implied_header": "Requests",
        "implied_note": implied.NOTE,
        "max_moved": max((line.mean_moved or 0.0 for line in drift.by_relation), default=0.0),
    }
