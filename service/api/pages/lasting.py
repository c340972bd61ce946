"""The pages of lines of states: the list with a form, and one with its figure and its states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Form, Path, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from ...errors import KNOWN_ERRORS, Problem, describe
from ...lasting import control, job, store, table
from ...lasting.schemas import LastingIn
from ...reports import implied
from ...schemas import MEASURE_NAMES, Measure
from ..state import Db, Here
from .routes import page

if TYPE_CHECKING:
    from ....cypher.run import Database

router = APIRouter(prefix="/lasting", include_in_schema=False)

LineId = Annotated[str, Path(max_length=300)]
ChosenEdit = Annotated[str | None, Query(max_length=200)]
ChosenMeasure = Annotated[Measure | None, Query()]


@router.get("")
def lines(request: Request, db: Db, edit: ChosenEdit = None) -> Response:
    """Lines that are done, newest first, and a form that starts one."""
    return _listed(request, db, {"edit": edit} if edit else {})


@router.post("")
def start(
    request: Request,
    db: Db,
    here: Here,
    edit: Annotated[str, Form(max_length=200)] = "",
    then: Annotated[str, Form(max_length=50_000)] = "",
    samples: Annotated[int, Form(ge=0, le=200)] = 0,
    implications: Annotated[bool, Form()] = False,
) -> Response:
    """Submit a line; errors are shown above the form, which keeps its values."""
    filled = {"edit": edit, "then": then, "samples": samples, "implications": implications}
    try:
        changes = [line.strip() for line in then.splitlines() if line.strip()]
        posted = LastingIn(
            edit=edit.strip(), then=changes, samples=samples, implications=implications
        )
        accepted = job.post(db, here.settings, posted)
    except ValidationError as error:
        text = "; ".join(f"{each['loc'][0]}: {each['msg']}" for each in error.errors())
        return _listed(request, db, filled, Problem("", text, "Correct the form.", 422))
    except KNOWN_ERRORS as error:
        return _listed(request, db, filled, describe(error))
    here.supervisor.wake()
    return RedirectResponse(f"/lasting/{quote(accepted.edit)}", status_code=303)


def _listed(
    request: Request, db: Database, filled: Mapping[str, Any], problem: Problem | None = None
) -> Response:
    """The list, and the form with these values."""
    form = {
        "edit": "", "then": "8bit\nfinetune:graph:steps=200", "samples": 0, "implications": False,
    }  # fmt: skip
    return page(
        request,
        "lines.html",
        problem.status if problem else 200,
        here="/comparisons",
        lines=store.page(db),
        form={**form, **filled},
        problem=problem,
    )


@router.get("/{line}")
def line(line: LineId, request: Request, db: Db, measure: ChosenMeasure = None) -> Response:
    """One line: its state while it runs, then whether the change lasted."""
    return page(request, "line.html", here="/comparisons", **values(db, line, measure))


def values(db: Database, id: str, measure: Measure | None) -> dict[str, Any]:
    """Values of `line.html`.

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
    return shown | {
        "measure": chosen,
        "names": MEASURE_NAMES,
        "title": table.title(out),
        "sentences": table.sentences(out, chosen),
        "columns": table.columns(out, chosen)[:-1],
        "meaning": table.note(out, chosen),
        "implied": implied.by_group(db, table.edit_by_state(out), chosen)
        if out.request.get("implications")
        else {},
        "implied_columns": implied.COLUMNS,
        "implied_header": "State",
        "implied_note": implied.NOTE,
    }
