"""Values of the comparison of edits: the choices, the diff of two, the table and chains of more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .....cypher import rows
from .....cypher.metric_options import headlines, integers
from ....errors import UsageError
from ....reports import diff as diffs
from ....reports.figures import style
from ....schemas import MEASURE_NAMES, Measure, MetricValue, Score
from ....scoring import record
from .. import charts
from . import facts, grid, matrix

if TYPE_CHECKING:
    from .....cypher.run import Database
    from ....reports.schemas import Diff, MetricDelta

CHOICES = 300
"""Newest scored edits in a picker; any other edit can be named in the address."""


MOST = 12
"""Edits that are compared at most."""


def named(edits: Sequence[str], a: str, b: str) -> list[str]:
    """The edits of an address, each once: those ticked in a list, or the two pickers' a and b.

    Raises:
        UsageError: there are more than `MOST`.
    """
    found = list(dict.fromkeys(edit for edit in (*edits, a, b) if edit))
    if len(found) > MOST:
        raise UsageError(
            f"{len(found)} edits are chosen; at most {MOST} are compared.", remedy="Untick some."
        )
    return found


def pluralize(
    db: Database, edits: Sequence[str], measure: Measure | None, which: grid.Which, page: int
) -> dict[str, Any]:
    """Three edits or more: their scores as columns, and their chains where they have the same.

    Raises:
        NotFoundError, NothingStoredError: an edit is unknown or unscored.
        UsageError: they are of several data sets, or have no measure in common.
    """
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
    by: Measure = measure if measure in common else facts.first(common)
    alike = len({(s.subject, s.target_true) for s in scores}) == 1
    models = len({s.model for s in scores}) > 1
    placed = style.places(score.method for score in scores)
    columns = [
        (s, charts.Series(f"{s.method} · {s.model}" if models else s.method, i, placed[s.method]))
        for i, s in enumerate(scores)
    ]
    return {
        "edits": [score.edit for score in scores],
        "columns": columns,
        "alike": alike,
        "one_fact": len({s.rewrite for s in scores}) == 1,
        "measures": common,
        "measure": by,
        "metrics": [(name, _across(scores, name, by)) for name in SHOWN],
        "grid": grid.shown(grid.read(db, scores, by), which, page) if alike else None,
        "bands": matrix.BANDS,
    }


SHOWN = (
    "efficacy", "generalization", "ifr", "ifr_beyond_subject", "preservation", "subject_retention",
)  # fmt: skip
"""The metrics of a table of several edits."""


def _across(scores: Sequence[Score], metric: str, measure: Measure) -> list[MetricValue | None]:
    return [score.get(metric, measure) for score in scores]


def compared(db: Database, a: str, b: str, measure: Measure | None) -> dict[str, Any]:
    """The choices of the pickers and, if both edits are named, their diff.

    Raises:
        NotFoundError, NothingStoredError, UsageError: an edit is unknown or unscored, or the
            edits belong to different data sets.
    """
    choices = list(db.read(rows.PageEditRow, "edits/page_edits", status="succeeded", limit=CHOICES))
    found: dict[str, Any] = {"diff": None, "metrics": [], "measures": [], "json": ""}
    if a and b:
        left, right = (record.get_score(db, edit) for edit in (a, b))
        a, b = left.edit, right.edit
        both = [m for m in left.measures if m in right.measures]
        diff = diffs.diff(db, a, b, measure)
        found = {
            "diff": diff,
            "metrics": _headline(diff),
            "measures": both,
            "json": f"/v1/edits/{a}/diff/{b}?measure={diff.measure}",
        }
    listed = {row.id for row in choices}
    missing = [edit for edit in dict.fromkeys((a, b)) if edit and edit not in listed]
    choices += [
        row
        for edit in missing
        for row in db.read(rows.PageEditRow, "edits/page_edits", posted_as=[edit])
    ]
    return {"choices": choices, "a": a, "b": b, "counts": integers()} | found


def _headline(diff: Diff) -> list[MetricDelta]:
    """The headline metrics in the order of a score: overall values, then IFR by steps."""
    shown = [m for m in diff.metrics if m.measure == diff.measure]
    whole = {m.metric: m for m in shown if m.step is None}
    by_steps = [m for m in shown if m.metric == "ifr_by_steps" and m.n_a != 0]
    return [whole[name] for name in headlines() if name in whole] + by_steps
