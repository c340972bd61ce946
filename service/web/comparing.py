"""What the page of two edits shows: what may be chosen, and the diff of those that were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cypher import rows
from service import diffs, editrecords
from service.schemas import Measure
from service.score_table import HEADLINE

if TYPE_CHECKING:
    from cypher.run import Database

CHOICES = 300
"""Newest scored edits in a picker; any other is compared by its id in the address."""


def compared(db: Database, a: str, b: str, measure: Measure | None) -> dict[str, Any]:
    """The pickers and, when both edits are named, their diff.

    Raises:
        NotFoundError, NothingStoredError, UsageError: an edit is unknown, unscored, or of other
            data than the other.
    """
    choices = list(db.read(rows.PageEditRow, status="succeeded", limit=CHOICES))
    found: dict[str, Any] = {"diff": None, "metrics": [], "measures": [], "json": ""}
    if a and b:
        left, right = (editrecords.get_score(db, edit) for edit in (a, b))
        a, b = left.edit, right.edit
        both = [m for m in left.measures if m in right.measures]
        diff = diffs.diff(db, a, b, measure)
        shown = (*HEADLINE, "ifr_by_steps")
        found = {
            "diff": diff,
            "metrics": [m for m in diff.metrics if m.metric in shown and m.measure == diff.measure],
            "measures": both,
            "json": f"/v1/edits/{a}/diff/{b}?measure={diff.measure}",
        }
    listed = {row.id for row in choices}
    missing = [edit for edit in dict.fromkeys((a, b)) if edit and edit not in listed]
    choices += [row for edit in missing for row in db.read(rows.PageEditRow, posted_as=[edit])]
    return {"choices": choices, "a": a, "b": b} | found
