"""Pages of growth runs: the list with its form, one run with its review and drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from ....cypher import rows
from ...graphs.datasets import require_graph
from ...growth import review as judge
from ...growth import review as queue
from ...growth import review as record
from ...growth import review as tables
from ...growth import store
from ...growth.review import current
from ...growth.schemas import CandidateDetail, CandidateOut
from ...growth.tables import ITERATIONS, RUNS, SUMS
from ...reports.formats import Table
from ..state import Db
from .render import words
from .routes import Word, page

if TYPE_CHECKING:
    from ....cypher.run import Database


# Drawing of a growing graph: entities in columns by the iteration in which they appeared.
#
# An edge is a triplet. Of a crawl its colour is the fraction of answers that name the object,
# dashed below the thresholds, grey where the model does not know; beside a truth graph green is
# in both, red in the run alone, and dotted in the truth alone (missing).

MOST = 200
"""Triplets that are drawn: facts first, then those that wait, are missing, failed or are unknown;
each in order of appearance."""
COLUMN, ROW, TOP, LEFT = 210, 34, 40, 90
FAILED = 2
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
    compared: bool
    known: int
    wrong: int
    missing: int


def draw(
    candidates: Sequence[CandidateOut],
    truth: set[Triplet] | None,
    *,
    crawled: bool,
) -> Drawing:
    """Lay out the triplets of a run.

    Args:
        truth: facts to compare with; those about the run's subjects that it lacks are missing.
        crawled: columns are depths, and states of pairs are drawn.
    """
    found = [row for row in candidates if row.state in SHOWN and row.object]
    # A crawl finds several unknown pairs for each fact; they must not displace the facts.
    drawn = sorted(((_triplet(row), row) for row in found), key=lambda each: _rank(each[1]))
    facts = {triplet for triplet, row in drawn if row.state == "validated"}
    asked = {triplet[0] for triplet, _ in drawn}
    missing = sorted({t for t in truth or () if t[0] in asked} - facts)
    columns: dict[str, int] = {}
    edges: list[tuple[Triplet, int, str, str]] = []
    first = sum(_rank(row) < FAILED for _, row in drawn)
    for triplet, row in drawn[: max(first, MOST - len(missing))][:MOST]:
        depth = _column(row, crawled)
        columns.setdefault(triplet[0], max(0, depth - 1))
        columns.setdefault(triplet[2], max(depth, columns[triplet[0]]))
        edges.append((triplet, depth, _css(row, triplet, truth, crawled), _title(row, triplet)))
    for triplet in missing[: MOST - len(edges)]:
        columns.setdefault(triplet[0], 0)
        columns.setdefault(triplet[2], columns[triplet[0]] + 1)
        edges.append((triplet, columns[triplet[2]], "missing", f"missing: {' | '.join(triplet)}"))
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
        left_out=len(drawn) + len(missing) - len(edges),
        crawled=crawled,
        compared=truth is not None,
        known=len(facts & (truth or set())),
        wrong=len(facts - (truth or facts)),
        missing=len(missing),
    )


def _rank(row: CandidateOut) -> int:
    return {"validated": 0, "discarded": FAILED, "unknown": FAILED + 1}.get(row.state, 1)


def _triplet(row: CandidateOut) -> Triplet:
    now = current(row)
    return now.subject, now.relation, now.object


def _column(row: CandidateOut, crawled: bool) -> int:
    """The column of an object: of a crawl the depth, which is 1 for what the start is asked."""
    checks = row.checks or {}
    return int(checks["depth"]) if crawled and "depth" in checks else row.iteration


def _css(row: CandidateOut, triplet: Triplet, truth: set[Triplet] | None, crawled: bool) -> str:
    if row.state == "unknown":
        return "unknown"
    if row.state == "discarded":
        return "below"
    if row.state != "validated":
        return "waits"
    if truth is not None:
        return "right" if triplet in truth else "wrong"
    if crawled and row.share is not None:
        return f"share share{min(4, int(5 * row.share))}"
    return "fact"


def _title(row: CandidateOut, triplet: Triplet) -> str:
    share = "" if row.share is None else f", {row.share:.2f} of {row.n_answers} answers"
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


# Values of `/growth` and `/growth/RUN`: growth runs, and one with its review.

WAITING_PAGE = 20
"""Candidates of the review queue that are listed at once."""
DECIDED = 200
"""Newest decisions that are listed."""


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


def list_values(db: Database) -> dict[str, Any]:
    """Values of `growth.html`."""
    return {
        "runs": Table("runs", "Runs", RUNS, store.list_runs(db)),
        "graphs": [
            row.graph for row in db.read(rows.GraphRow, "graph/list_graphs", kind="dataset")
        ],
    }


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


def values(db: Database, run: str, chosen: str, cursor: str | None, truth: str) -> dict[str, Any]:
    """Values of `growth_run.html`.

    Args:
        truth: a stored graph to compare with; "" for none.

    Raises:
        NotFoundError: no such run, candidate or graph.
    """
    row = store.require_run(db, run)
    candidates = [
        each
        for each in db.read(CandidateOut, "growth/candidates", run=row.id)
        if each.kind == "triplet"
    ]
    known = _triplets(db, require_graph(db, truth, kind=None).graph) if truth else None
    decided = record.decisions_of(db, row.id)
    newest = list(reversed(decided.items))[:DECIDED]
    iterations = db.read(rows.IterationRow, "growth/iterations", run=row.id)
    judged, note = judge.judge_table(db, row.id).items, tables.JUDGED_NOTE
    return {
        "run": row,
        "live": row.status in ("queued", "running"),
        "iterations": Table("iterations", "Iterations", ITERATIONS, iterations, SUMS),
        "counts": [
            asdict(each)
            for each in db.read(rows.CandidateCountRow, "growth/candidate_counts", run=row.id)
        ],
        "queue": review(db, row.id, chosen, cursor),
        "decisions": Table("decisions-made", "Decisions", tables.DECISIONS, newest),
        "decided": decided.total,
        "judged": Table("judge", "The judge against people", tables.JUDGED, judged, note),
        "drawing": draw(candidates, known, crawled=row.elicit == "crawl"),
        "truth": truth,
    }


def _triplets(db: Database, graph: str) -> set[tuple[str, str, str]]:
    return {
        (f.subject, f.relation, f.object) for f in db.read(rows.FactRow, "graph/facts", graph=graph)
    }


# Routes of the web UI's pages of growth runs: the list with its form, and one run.

router = APIRouter(prefix="/growth", include_in_schema=False)

RunId = Annotated[str, Path(max_length=200)]


@router.get("")
def growth_runs(request: Request, db: Db) -> Response:
    """Growth runs, newest first, and the form that starts one."""
    return page(request, "growth.html", here="/growth", **list_values(db))


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
    values_ = values(db, run, candidate, cursor or None, truth)
    return page(request, "growth_run.html", here="/growth", **values_)


@router.get("/{run}/review")
def growth_review(
    run: RunId, request: Request, db: Db, candidate: Word = "", cursor: Word = ""
) -> Response:
    """The review queue alone, with which a script replaces the one that is shown."""
    found = review(db, run, candidate, cursor or None)
    return page(request, "_growth_review.html", queue=found, run_id=run)
