"""Values of the comparison of two edits: the choices, and the diff of the chosen ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thinkeval.cypher import rows
from thinkeval.cypher.metric_options import headlines, integers
from thinkeval.service.reports import diff as diffs
from thinkeval.service.schemas import Measure
from thinkeval.service.scoring import record

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database
    from thinkeval.service.reports.schemas import Diff, MetricDelta

CHOICES = 300
"""Newest scored edits in a picker; any other edit can be named in the address."""


def compared(db: Database, a: str, b: str, measure: Measure | None) -> dict[str, Any]:
    """The choices of the pickers and, if both edits are named, their diff.

    Raises:
        NotFoundError, NothingStoredError, UsageError: an edit is unknown or unscored, or the
            edits belong to different data sets.
    """
    choices = list(db.read(rows.PageEditRow, status="succeeded", limit=CHOICES))
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
    choices += [row for edit in missing for row in db.read(rows.PageEditRow, posted_as=[edit])]
    return {"choices": choices, "a": a, "b": b, "counts": integers()} | found


def _headline(diff: Diff) -> list[MetricDelta]:
    """The headline metrics in the order of a score: overall values, then IFR by steps."""
    shown = [m for m in diff.metrics if m.measure == diff.measure]
    whole = {m.metric: m for m in shown if m.step is None}
    by_steps = [m for m in shown if m.metric == "ifr_by_steps" and m.n_a != 0]
    return [whole[name] for name in headlines() if name in whole] + by_steps
