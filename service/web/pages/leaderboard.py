"""Values of the leaderboard: the report's table of methods for one graph, model and measure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlencode

from ....cypher import rows
from ...base.errors import NothingStoredError
from ...models.edit import MEASURES, Measure, Score
from ...reports import checks
from ...reports.comparison import Rewrites, compare
from ...reports.forms import by_method, methods_table
from ...reports.paired import paired
from ...reports.table import by_rank, caption, method_table, rows_of, unranked
from ...scoring import record
from . import charts
from .home import last_used

if TYPE_CHECKING:
    from ....cypher.run import Database
    from ...base.cache import Cache


COLUMNS = (
    "IFR", "Efficacy", "Preservation", "Subject retention", "IFR beyond subject", "Generalization",
)  # fmt: skip
MORE_COLUMNS = ("IFR mean", "1-step", "2-step", "3-step", "4-step", "5-step")
"""Shown on request."""
MEANINGS = {
    "IFR": "Indirect fact recovery: the part of the old fact that chains still deduce, over the"
    " chains of all rewrites. Good: 0",
    "Efficacy": "Probability of the new object. An edit that installs nothing leaks everything and"
    " preserves everything. Good: 1",
    "Preservation": "The part of other facts on the chains that is kept. Good: 1",
    "Subject retention": "The part of the other facts about the subject that is kept; where they"
    " change, IFR falls too. Good: 1",
    "IFR beyond subject": "IFR had the model kept its other facts about the subject",
    "Generalization": "Efficacy on paraphrases of the prompt. Good: 1",
    "IFR mean": "Mean IFR over the rewrites",
}
COVERED = 0.5
"""A method with fewer than this part of the rewrites of the best covered one is left out."""
Methods = Literal["covered", "all"]
"""Methods of comparable coverage, or all."""

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
    methods: Methods = "covered",
) -> dict[str, Any]:
    """Table and charts of the leaderboard.

    Args:
        boards: computed boards by request and state of the scores: reading a thousand scores takes
            a second, so a board is reused until a score is added or deleted.
        graph: "" for the graph of the newest edit.
        model: "" for all models.
        measure: None for the first measure that the edits have.
        rewrites: over those that all methods of a model have, or each method over its own.
        methods: of comparable coverage, as one method with few rewrites would leave few in common.
    """
    sets = [row.graph for row in db.read(rows.GraphRow, "graph/list_graphs", kind="dataset")]
    graph = last_used(db).graph_of(sets, graph)
    state = db.read(rows.ScoredStateRow, "edits/scored_state", dataset=graph or None)[0]
    key = (graph, model, measure, rewrites, methods, state)
    return boards.get(key, lambda: _board(db, graph, model, measure, rewrites, methods)) | {
        "sets": sets
    }


def _board(
    db: Database,
    graph: str,
    model: str,
    measure: Measure | None,
    rewrites: Rewrites,
    methods: Methods,
) -> dict[str, Any]:
    notes: list[str] = []
    try:
        scored = record.scores(db, [], graph=graph or None, notes=notes)
    except NothingStoredError:
        scored = []
    models = sorted({score.model for score in scored})
    scores = [score for score in scored if not model or score.model == model]
    measures = [m for m in MEASURES if any(m in score.measures for score in scores)]
    exact: Measure = "likelihood"
    by = measure or next((m for m in (exact, *measures) if m in measures), exact)
    measured = [score for score in scores if by in score.measures]
    few = _few(measured) if methods == "covered" and rewrites == "common" else {}
    measured = [score for score in measured if (score.model, score.method) not in few]
    found = compare(db, measured, by, rewrites, notes)
    shown, families = found.scores, found.families
    table: list[dict[str, Any]] = []
    last = ""
    if shown:
        # Incomparable methods are not ranked.
        frame = method_table(shown, by, families)
        frame = by_rank(frame, shown, by, ranked=found.comparable)
        last = unranked(shown, by) if found.comparable else ""
        table = charts.marked(rows_of(frame))
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
        "by_model": [list(rows) for _, rows in groupby(table, lambda row: row["Model"])],
        "few": [f"{method} ({n} of {most})" for (_, method), (n, most) in sorted(few.items())],
        "columns": COLUMNS,
        "more_columns": MORE_COLUMNS,
        "meanings": MEANINGS,
        "figures": figures,
        "figure_query": urlencode({k: v for k, v in asked.items() if v}),
        "caption": caption(shown, by, COLUMNS, families) if shown else "",
        "asked": methods_table(*forms),
        "checked": checks.methods_table(checks.by_method(db, shown, families)),
        "paired": charts.tables(paired(found, by)),
        "curves": charts.curves(table),
        "scatter": charts.scatter(table),
    }


def _few(scores: Sequence[Score]) -> dict[tuple[str, str], tuple[int, int]]:
    """{(model, method): (its rewrites, those of the best covered)} of methods with few rewrites."""
    own: dict[tuple[str, str], set[str]] = defaultdict(set)
    for score in scores:
        own[score.model, score.method].add(score.rewrite)
    most: dict[str, int] = defaultdict(int)
    for (model, _), rewrites in own.items():
        most[model] = max(most[model], len(rewrites))
    return {
        key: (len(rewrites), most[key[0]])
        for key, rewrites in own.items()
        if len(rewrites) < COVERED * most[key[0]]
    }
