"""The pages of co-edits: the list, and one with its frontier as a plot, rounds and facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from ...leakcut.coedit import control, frontier_table, store
from ...leakcut.schemas import CoEditOut
from ..state import Db
from .charts import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Axis
from .routes import page

if TYPE_CHECKING:
    from ....cypher.run import Database

router = APIRouter(prefix="/coedits", include_in_schema=False)

CoEditId = Annotated[str, Path(max_length=200)]

FILES = ("csv", "latex", "markdown", "svg", "pdf", "png")
"""Linked formats of `GET /v1/coedits/{id}/frontier`."""


@router.get("")
def coedits(request: Request, db: Db) -> Response:
    """Co-edits that are done, newest first."""
    return page(request, "coedits.html", here="/coedits", coedits=store.page(db))


@router.get("/{coedit}")
def coedit(coedit: CoEditId, request: Request, db: Db) -> Response:
    """One co-edit: its state while it runs, and its frontier."""
    return page(request, "coedit.html", here="/coedits", **values(db, coedit))


def values(db: Database, id: str) -> dict[str, Any]:
    """Values of `coedit.html`.

    Raises:
        NotFoundError: there is none.
    """
    found = control.get(db, id)
    out = found.result
    return {
        "job": found,
        "live": found.status in ("queued", "running"),
        "out": out,
        "plot": plot(out) if out else None,
        "columns": frontier_table.columns(out) if out else [],
        "facts": frontier_table.facts(out) if out else [],
        "fact_columns": frontier_table.FACTS,
        "caption": frontier_table.caption(out) if out else "",
        "files": FILES,
    }


def plot(out: CoEditOut) -> dict[str, Any]:
    """IFR against what was lost of the facts not edited, one point a round, as pixels.

    A filled point keeps the first edit; the chosen one is ringed. Each leads to its edit's page.
    """
    points = frontier_table.points(out)
    right = max([0.1, *(point.lost for point in points)])
    left = min([0.0, *(point.lost for point in points)])
    x = Axis(left, right * 1.05, LEFT + 8, WIDTH - RIGHT - 8)
    y = Axis(0.0, max([0.1, *(point.ifr for point in points)]) * 1.1, HEIGHT - BOTTOM, TOP)
    edits = {row.number: row.edit for row in out.rounds}
    spots = [
        {
            "x": x.at(point.lost), "y": y.at(point.ifr), "edit": edits[point.number],
            "label": str(point.facts), "installed": point.installed, "chosen": point.chosen,
            "title": f"Round {point.number}: {point.facts} facts edited, IFR {point.ifr:.3f},"
            f" {point.lost:.3f} of Preservation lost",
        }
        for point in points
    ]  # fmt: skip
    path = " ".join(f"{'L' if i else 'M'}{s['x']} {s['y']}" for i, s in enumerate(spots))
    return {
        "spots": spots, "path": path, "x_ticks": x.ticks, "y_ticks": y.ticks, "width": WIDTH,
        "height": HEIGHT, "left": LEFT, "bottom": HEIGHT - BOTTOM, "right": WIDTH - RIGHT,
        "top": TOP,
    }  # fmt: skip
