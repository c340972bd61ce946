"""Values of growth runs' pages beside those of every kind: form, drawing, review, decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from ....cypher import rows
from ...graphs.datasets import require_graph
from ...growth.review import queue, record, tables
from ...growth.review.schemas import CandidateDetail, CandidateOut
from ...growth.schemas import GrowthOut
from ...reports.formats import Table
from ..state import Db
from . import growth_drawing
from .render import words
from .routes import Word, page

if TYPE_CHECKING:
    from starlette.datastructures import FormData

    from ....cypher.run import Database

WAITING_PAGE = 20
"""Candidates of the review queue that are listed at once."""
DECIDED = 200
"""Newest decisions that are listed."""

router = APIRouter(prefix="/growth", include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Queue:
    """A page of the review queue, and the candidate that is shown beside its answers.

    Attributes:
        items: id and text of the candidates.
    """

    items: list[dict[str, str]]
    total: int
    next: str | None
    chosen: CandidateDetail | None


@router.get("/{run}/review")
def growth_review(
    run: Annotated[str, Path(max_length=200)],
    request: Request,
    db: Db,
    candidate: Word = "",
    cursor: Word = "",
) -> Response:
    """The review queue alone, with which a script replaces the one that is shown."""
    found = review(db, run, candidate, cursor or None)
    return page(request, "_growth_review.html", queue=found, run_id=run)


def form(db: Database, edit: str | None) -> dict[str, Any]:
    """The values of the form that starts a run."""
    sets = [row.graph for row in db.read(rows.GraphRow, "graph/list_graphs", kind="dataset")]
    return {
        "seed": "", "elicit": "crawl", "base": "", "model": "organism", "url": "", "judge": "none",
        "chains": 100, "sets": sets,
    }  # fmt: skip


def request_of(form: FormData) -> dict[str, Any]:
    """The request that the form asks for."""
    given = {name: str(form.get(name, "")).strip() for name in form}
    answers = {"model": given.pop("model", ""), "url": given.pop("url", "") or None}
    return {**given, "base": given.get("base") or None, "answers": answers}


def review(db: Database, run: str, chosen: str, cursor: str | None) -> Queue:
    """The part of the review queue that begins at the cursor.

    Args:
        chosen: id of a candidate; "" for the first one that waits.
    """
    page = queue.page(
        db,
        run,
        [queue.state_of(each) for each in record.WAITING],
        limit=WAITING_PAGE,
        cursor=cursor,
    )
    name = chosen or (page.items[0].id if page.items else "")
    items = [{"id": each.id, "text": _text(each)} for each in page.items]
    found = queue.detail(db, run, name) if name else None
    return Queue(items, page.total, page.next, found)


def _text(candidate: CandidateOut) -> str:
    found = candidate.corrected or candidate
    return f"{found.subject} {words(found.relation)} {found.object}"


def more(db: Database, run: GrowthOut, asked: Mapping[str, str]) -> dict[str, Any]:
    """The values of `growth_run.html` beside those of every kind.

    Args:
        asked: of the address: `candidate` and `cursor` of the queue; `truth`, a graph to compare.

    Raises:
        NotFoundError: no such candidate or graph.
    """
    truth = asked.get("truth", "")
    found = db.read(CandidateOut, "growth/candidates", run=run.id)
    triplets = [each for each in found if each.kind == "triplet"]
    known = _triplets(db, require_graph(db, truth, kind=None).graph) if truth else None
    decided = record.decisions_of(db, run.id)
    newest = list(reversed(decided.items))[:DECIDED]
    return {
        "queue": review(db, run.id, asked.get("candidate", ""), asked.get("cursor") or None),
        "decisions": Table("decisions-made", "Decisions", tables.DECISIONS, newest),
        "decided": decided.total,
        "drawing": growth_drawing.draw(triplets, known, crawled=run.elicit == "crawl"),
        "truth": truth,
    }


def _triplets(db: Database, graph: str) -> set[tuple[str, str, str]]:
    return {
        (f.subject, f.relation, f.object) for f in db.read(rows.FactRow, "graph/facts", graph=graph)
    }
