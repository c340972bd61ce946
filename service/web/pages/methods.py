"""Values of `/methods`, the report's table of methods, and of `/compare`, edits side by side."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlencode

from ....cypher import rows
from ...base.errors import NothingStoredError, UsageError
from ...models.edit import MEASURE_NAMES, MEASURES, Measure, Score
from ...reports import checks
from ...reports.comparison import Rewrites, compare
from ...reports.forms import by_method, methods_table
from ...reports.paired import paired
from ...reports.table import by_rank, caption, method_table, rows_of, unranked
from ...reports.verdict import in_a_word
from ...scoring import record
from ...scoring.request import posted
from . import charts, matrix
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
    rewrite: str = "",
) -> dict[str, Any]:
    """Return the table of methods over all rewrites, or on one.

    Args:
        boards: computed boards by request and state of the scores: reading a thousand scores takes
            a second, so a board is reused until a score is added or deleted.
        graph: "" for the graph of the newest edit.
        model: "" for all models.
        measure: None for the first measure that the edits have.
        rewrites: over those that all methods of a model have, or each method over its own.
        methods: of comparable coverage, as one method with few rewrites would leave few in common.
        rewrite: "" for all.
    """
    sets = [row.graph for row in db.read(rows.GraphRow, "graph/list_graphs", kind="dataset")]
    graph = last_used(db).graph_of(sets, graph)
    state = db.read(rows.ScoredStateRow, "edits/scored_state", dataset=graph or None)[0]
    asked = (graph, model, measure, rewrites, methods, rewrite)
    return boards.get((*asked, state), lambda: _board(db, *asked)) | {"sets": sets}


def _board(
    db: Database,
    graph: str,
    model: str,
    measure: Measure | None,
    rewrites: Rewrites,
    methods: Methods,
    rewrite: str,
) -> dict[str, Any]:
    notes: list[str] = []
    try:
        scored = record.scores(db, [], graph=graph or None, notes=notes)
    except NothingStoredError:
        scored = []
    if rewrite:
        scored = [score for score in scored if score.rewrite == rewrite]
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
    table, last = [], ""
    if shown:
        # Incomparable methods are not ranked.
        frame = method_table(shown, by, families)
        frame = by_rank(frame, shown, by, ranked=found.comparable)
        last = unranked(shown, by) if found.comparable else ""
        table = rows_of(frame)
    forms = by_method(shown, families)
    figures = () if rewrite else FIGURES if forms[0] else FIGURES[:-1]
    asked = {"graph": graph, "model": model, "measure": by, "rewrite": rewrite}
    if rewrites != "common":
        asked["rewrites"] = rewrites
    return {
        "graph": graph,
        "models": models,
        "model": model,
        "measures": measures,
        "measure": by,
        "rewrites": rewrites,
        "rewrite": rewrite,
        "edits": {(score.model, score.method): score for score in shown} if rewrite else {},
        "word": in_a_word,
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


# Values of the comparison of edits: the table and the chains.

MOST = 12
"""Edits that are compared at most."""
COMPARED = (
    "efficacy", "generalization", "ifr", "ifr_beyond_subject", "preservation", "subject_retention",
)  # fmt: skip
"""The metrics of the table."""


def side_by_side(
    db: Database, edits: Sequence[str], measure: Measure | None, which: matrix.Which, page: int
) -> dict[str, Any]:
    """Return the scores of edits as columns, and their chains where they have the same.

    Raises:
        NotFoundError, NothingStoredError: an edit is unknown or unscored.
        UsageError: they are fewer than two, more than `MOST` or of several data sets, or have no
            measure in common.
    """
    edits = list(dict.fromkeys(edits))
    if not 2 <= len(edits) <= MOST:
        raise UsageError(
            f"Two to {MOST} edits are compared; {len(edits)} are named.",
            remedy="Tick them in the list of edits.",
        )
    scores = list({s.edit: s for s in (record.get_score(db, edit) for edit in edits)}.values())
    sets = sorted({score.dataset for score in scores})
    if len(sets) > 1:
        raise UsageError(
            f"The edits are of several data sets ({', '.join(sets)}): they share no facts.",
            remedy="Compare edits of one data set.",
        )
    common = [m for m in MEASURE_NAMES if all(m in score.measures for score in scores)]
    if not common:
        raise UsageError(
            "The edits have no measure in common.", remedy="Score one of them again as the others."
        )
    by: Any = next(m for m in (measure, "likelihood", *common) if m in common)
    alike = len({(s.subject, s.target_true) for s in scores}) == 1
    models = len({s.model for s in scores}) > 1
    one_fact = len({s.rewrite for s in scores}) == 1
    columns = [(s, f"{s.method} · {s.model}" if models else s.method) for s in scores]
    states = [f"{posted(s)['model']}+edit:{s.edit}" for s in scores]
    return {
        "columns": columns,
        "one_fact": one_fact,
        "measures": common,
        "measure": by,
        "metrics": [name for name in COMPARED if any(s.get(name, by) for s in scores)],
        "grid": matrix.shown(matrix.read(db, scores, by), which, page) if alike else None,
        "bands": matrix.BANDS,
        "command": shlex.join(
            ["thinkeval", "compare", *states, "-g", sets[0], "-r", scores[0].rewrite]
        )
        if one_fact
        else "",
    }
