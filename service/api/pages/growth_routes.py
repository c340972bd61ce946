"""Routes of the web UI's pages of growth runs: the list with its form, and one run."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from ..state import Db
from . import growth
from .routes import Word, page

router = APIRouter(prefix="/growth", include_in_schema=False)

RunId = Annotated[str, Path(max_length=200)]


@router.get("")
def growth_runs(request: Request, db: Db) -> Response:
    """Growth runs, newest first, and the form that starts one."""
    return page(request, "growth.html", here="/growth", **growth.list_values(db))


@router.get("/{run}")
def growth_run(
    run: RunId,
    request: Request,
    db: Db,
    candidate: Word = "",
    cursor: Word = "",
    truth: Word = "",
) -> Response:
    """One run: state, iterations, drawing, review queue, decisions and the judge."""
    values = growth.values(db, run, candidate, cursor or None, truth)
    return page(request, "growth_run.html", here="/growth", **values)


@router.get("/{run}/review")
def growth_review(
    run: RunId, request: Request, db: Db, candidate: Word = "", cursor: Word = ""
) -> Response:
    """The review queue alone, with which a script replaces the one that is shown."""
    found = growth.review(db, run, candidate, cursor or None)
    return page(request, "_growth_review.html", queue=found, run_id=run)
