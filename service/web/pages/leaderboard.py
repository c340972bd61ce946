"""Values of the leaderboard: the report's table of methods for one graph, model and measure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from ....cypher import rows
from ...base.errors import NothingStoredError
from ...models.edit import MEASURES, Measure
from ...reports.comparison import Rewrites, compare
from ...reports.forms import by_method, methods_table
from ...reports.paired import paired
from ...reports.table import by_ifr, caption, method_table, rows_of, unranked
from ...scoring import record
from . import charts

if TYPE_CHECKING:
    from ....cypher.run import Database
    from ...base.cache import Cache


COLUMNS = (
    "Efficacy", "Generalization", "IFR", "IFR mean", "IFR beyond subject", "Subject retention",
    "Preservation", "1-step", "2-step", "3-step", "4-step", "5-step",
)  # fmt: skip

FIGURES = (
    ("ifr_by_steps", "IFR by steps"),
    ("ifr_preservation", "IFR against Preservation"),
    ("forms", "forms of asking"),
)


def board(
    db: Database,
    boards: Cache[dict[str, Any]],
    graph: str,
    model: str,
    measure: Measure | None,
    rewrites: Rewrites = "common",
) -> dict[str, Any]:
    """Table and charts of the leaderboard.

    Args:
        boards: computed boards by request and state of the scores: reading a thousand scores takes
            a second, so a board is reused until a score is added or deleted.
        graph: "" for the graph of the newest edit.
        model: "" for all models.
        measure: None for the first measure that the edits have.
        rewrites: over those that all methods of a model have, or each method over its own.
    """
    sets = [row.graph for row in db.read(rows.GraphRow, "graph/list_graphs", kind="dataset")]
    graph = graph or _newest(db) or (sets[0] if sets else "")
    state = db.read(rows.ScoredStateRow, "edits/scored_state", dataset=graph or None)[0]
    key = (graph, model, measure, rewrites, state.edits, state.newest)
    return boards.get(key, lambda: _board(db, graph, model, measure, rewrites)) | {"sets": sets}


def _board(
    db: Database, graph: str, model: str, measure: Measure | None, rewrites: Rewrites
) -> dict[str, Any]:
    try:
        scored = record.scores(db, [], graph=graph or None)
    except NothingStoredError:
        scored = []
    models = sorted({score.model for score in scored})
    scores = [score for score in scored if not model or score.model == model]
    measures = [m for m in MEASURES if any(m in score.measures for score in scores)]
    exact: Measure = "likelihood"
    by = measure or next((m for m in (exact, *measures) if m in measures), exact)
    found = compare(db, [score for score in scores if by in score.measures], by, rewrites)
    shown, families = found.scores, found.families
    table: list[dict[str, Any]] = []
    last = ""
    if shown:
        # Incomparable methods are not ranked.
        frame = by_ifr(method_table(shown, by, families), ranked=found.comparable)
        last = unranked(frame) if found.comparable else ""
        table = rows_of(frame)
    forms = by_method(shown, families)
    figures = FIGURES if forms[0] else FIGURES[:-1]
    asked = {"graph": graph, "model": model, "measure": by}
    if rewrites != "common":
        asked["rewrites"] = rewrites
    return {
        "graph": graph,
        "models": models,
        "model": model,
        "measures": measures,
        "measure": by,
        "rewrites": rewrites,
        "warnings": found.warnings,
        "partial": bool(found.left_out),
        "ranked": found.comparable,
        "last": last,
        "rows": table,
        "columns": COLUMNS,
        "figures": figures,
        "figure_query": urlencode({k: v for k, v in asked.items() if v}),
        "series": charts.series(table),
        "caption": caption(shown, by, COLUMNS, families) if shown else "",
        "asked": methods_table(*forms),
        "paired": charts.tables(paired(found, by)),
        "curves": charts.curves(table),
        "scatter": charts.scatter(table),
    }


def _newest(db: Database) -> str:
    found = db.read(rows.PageEditRow, "edits/page_edits", status="succeeded", limit=1)
    return found[0].dataset if found else ""
