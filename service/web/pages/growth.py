"""Pages of growth runs: the list with its form, one run with its review and drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from ....cypher import rows
from ...base.formatting import pluralize
from ...growth import review as reviews
from ...growth.review import current
from ...growth.schemas import CandidateDetail, CandidateOut, GrowthOut
from ...reports.formats import Table
from ..state import Db
from .render import words
from .routes import Word, page

if TYPE_CHECKING:
    from starlette.datastructures import FormData

    from ....cypher.run import Database


# Drawing of a growing graph: entities in columns by the iteration in which they appeared.
#
# An edge is a triplet. Of a crawl its colour is the fraction of answers that name the object,
# dashed below the thresholds, grey where the model does not know.

MOST = 200
"""Triplets that are drawn: facts first, then those that wait, failed or are unknown; each in order
of appearance."""
COLUMN, ROW, TOP, LEFT = 210, 34, 40, 90
SHOWN = ("validated", "discarded", "unknown", "review", "conflict", "new", "refused")
"""States of triplets that are drawn."""

Triplet = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Node:
    """An entity with its place."""

    name: str
    x: float
    y: float
    label: str


@dataclass(frozen=True, slots=True)
class Edge:
    """A triplet with its path and how it looks."""

    css: str
    path: str
    title: str
    column: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """The shapes that the template draws; `left_out` triplets are in the table only."""

    width: int
    height: int
    nodes: list[Node]
    edges: list[Edge]
    columns: list[tuple[int, str]]
    left_out: int
    crawled: bool


def draw(candidates: Sequence[CandidateOut], *, crawled: bool) -> Drawing:
    """Lay out the triplets of a run.

    Args:
        crawled: columns are depths, and states of pairs are drawn.
    """
    found = [row for row in candidates if row.state in SHOWN and row.object]
    # A crawl finds several unknown pairs for each fact; they must not displace the facts.
    drawn = sorted(((_triplet(row), row) for row in found), key=lambda each: _rank(each[1]))
    columns: dict[str, int] = {}
    edges: list[tuple[Triplet, int, str, str]] = []
    for triplet, row in drawn[:MOST]:
        depth = _column(row, crawled)
        columns.setdefault(triplet[0], max(0, depth - 1))
        columns.setdefault(triplet[2], max(depth, columns[triplet[0]]))
        edges.append((triplet, depth, _css(row, crawled), _title(row, triplet)))
    nodes = _placed(columns)
    places = {node.name: node for node in nodes}
    named = "depth" if crawled else "iteration"
    return Drawing(
        width=LEFT * 2 + COLUMN * max(columns.values(), default=0),
        height=round(max((node.y for node in nodes), default=0) + TOP),
        nodes=nodes,
        edges=[
            Edge(css, _path(places[t[0]], places[t[2]]), title, at) for t, at, css, title in edges
        ],
        columns=[
            (LEFT + COLUMN * n, "start" if n == 0 else f"{named} {n}")
            for n in sorted(set(columns.values()))
        ],
        left_out=len(drawn) - len(edges),
        crawled=crawled,
    )


def _rank(row: CandidateOut) -> int:
    return {"validated": 0, "discarded": 2, "unknown": 3}.get(row.state, 1)


def _triplet(row: CandidateOut) -> Triplet:
    now = current(row)
    return now.subject, now.relation, now.object


def _column(row: CandidateOut, crawled: bool) -> int:
    """The column of an object: of a crawl the depth, which is 1 for what the start is asked."""
    checks = row.checks or {}
    return int(checks["depth"]) if crawled and "depth" in checks else row.iteration


def _css(row: CandidateOut, crawled: bool) -> str:
    if row.state == "unknown":
        return "unknown"
    if row.state == "discarded":
        return "below"
    if row.state != "validated":
        return "waits"
    if crawled and row.share is not None:
        return f"share share{min(4, int(5 * row.share))}"
    return "fact"


def _title(row: CandidateOut, triplet: Triplet) -> str:
    answers = pluralize(row.n_answers, "answer")
    share = "" if row.share is None else f", {row.share:.2f} of {answers}"
    return f"{' | '.join(triplet)}: {row.state}{share}"


def _placed(columns: dict[str, int]) -> list[Node]:
    by_column: dict[int, list[str]] = {}
    for name, column in columns.items():
        by_column.setdefault(column, []).append(name)
    most = max(map(len, by_column.values()), default=0)
    return [
        Node(
            name,
            LEFT + COLUMN * column,
            TOP + ROW * ((most - len(names)) / 2 + place + 0.5),
            name if len(name) <= 24 else f"{name[:23]}…",
        )
        for column, names in sorted(by_column.items())
        for place, name in enumerate(names)
    ]


def _path(start: Node, end: Node) -> str:
    """A curve; within one column an arc beside it."""
    if start.x == end.x:
        bend = start.x + 30 + abs(end.y - start.y) / 3
        return f"M{start.x} {start.y} C{bend:.0f} {start.y} {bend:.0f} {end.y} {end.x} {end.y}"
    middle = (start.x + end.x) / 2
    return f"M{start.x} {start.y} C{middle} {start.y} {middle} {end.y} {end.x} {end.y}"


# Values of growth runs' pages beside those of every kind: form, drawing, review, decisions.

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
    page = reviews.page(
        db,
        run,
        reviews.WAITING,
        limit=WAITING_PAGE,
        cursor=cursor,
    )
    name = chosen or (page.items[0].id if page.items else "")
    items = [{"id": each.id, "text": _text(each)} for each in page.items]
    found = reviews.detail(db, run, name) if name else None
    return Queue(items, page.total, page.next, found)


def _text(candidate: CandidateOut) -> str:
    found = candidate.corrected or candidate
    return f"{found.subject} {words(found.relation)} {found.object}"


def more(db: Database, run: GrowthOut, asked: Mapping[str, str]) -> dict[str, Any]:
    """The values of `growth_run.html` beside those of every kind.

    Args:
        asked: of the address: `candidate` and `cursor` of the queue.

    Raises:
        NotFoundError: no such candidate.
    """
    found = db.read(CandidateOut, "growth/candidates", run=run.id)
    triplets = [each for each in found if each.kind == "triplet"]
    decided = reviews.decisions_of(db, run.id)
    newest = list(reversed(decided.items))[:DECIDED]
    return {
        "queue": review(db, run.id, asked.get("candidate", ""), asked.get("cursor") or None),
        "decisions": Table("decisions-made", "Decisions", reviews.DECISIONS, newest),
        "decided": decided.total,
        "drawing": draw(triplets, crawled=run.elicit == "crawl"),
    }
