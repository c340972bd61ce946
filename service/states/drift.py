"""Drift: what changed on a whole graph between two states, by relation and by distance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...cypher import rows
from ..graphs.edges import KEPT_RATIO, REMOVED_RATIO
from ..schemas import KNOWN, Measure
from .schemas import DriftLine, DriftOut

if TYPE_CHECKING:
    from ...cypher.run import Database

DISTANCES = {
    0: "0 steps: facts with the subject at one end",
    1: "1 step",
    2: "2 steps",
    3: "3 steps and more, or not connected",
}
"""Labels of distances."""
ALL = "all facts"


def drift(
    db: Database,
    graph: str,
    measure: Measure,
    subjects: Sequence[str],
    known: float = KNOWN,
) -> DriftOut:
    """The drift over a stored graph that has the probabilities of both states.

    Args:
        subjects: of the requests; distances are counted from them.
        known: probability from which a fact counts as known.
    """
    found = db.read(
        rows.DriftRow,
        "states/drift",
        graph=graph,
        subjects=sorted(set(subjects)),
        pre=f"{measure}_pre",
        post=f"{measure}_post",
        known=known,
        kept=KEPT_RATIO,
        removed=REMOVED_RATIO,
    )
    by_relation = _grouped(found, lambda row: row.relation)
    by_relation.sort(key=lambda line: (-(line.mean_moved or 0.0), line.label))
    by_distance = _grouped(
        [row for row in found if row.distance is not None],
        lambda row: DISTANCES[row.distance or 0],
    )
    by_distance.sort(key=lambda line: line.label)
    (total,) = _grouped(found, lambda row: ALL) or [_line(ALL, [])]
    return DriftOut(total=total, by_distance=by_distance, by_relation=by_relation)


def _grouped(
    found: Sequence[rows.DriftRow], label: Callable[[rows.DriftRow], str]
) -> list[DriftLine]:
    groups: dict[str, list[rows.DriftRow]] = {}
    for row in found:
        groups.setdefault(label(row), []).append(row)
    return [_line(name, group) for name, group in groups.items()]


def _line(label: str, group: Sequence[rows.DriftRow]) -> DriftLine:
    """The sums over some rows, and means over their facts."""
    counts = {
        name: sum(getattr(row, name) for row in group) for name in rows.DriftCounts.model_fields
    }
    n = counts["n"]
    return DriftLine(
        **counts,
        label=label,
        mean_moved=sum(row.moved for row in group) / n if n else None,
        mean_shift=sum(row.shift for row in group) / n if n else None,
    )
