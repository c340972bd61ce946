"""Values of `/growth` and `/growth/RUN`: growth runs, and one with its review."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ....cypher import rows
from ...graphs.datasets import require_graph
from ...growth import store
from ...growth.review import judge, queue, record, tables
from ...growth.review.schemas import CandidateDetail, CandidateOut
from ...growth.tables import ITERATIONS, RUNS, SUMS
from ...reports.formats import Table
from . import growth_drawing
from .render import words

if TYPE_CHECKING:
    from ....cypher.run import Database

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
        "drawing": growth_drawing.draw(candidates, known, crawled=row.elicit == "crawl"),
        "truth": truth,
    }


def _triplets(db: Database, graph: str) -> set[tuple[str, str, str]]:
    return {
        (f.subject, f.relation, f.object) for f in db.read(rows.FactRow, "graph/facts", graph=graph)
    }
