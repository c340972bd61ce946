"""Values of `_experiments_paired.html`: paired differences to the best method, one bar a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...reports.paired import Against, Difference, further, verdict

BAR_WIDTH, MIDDLE = 240.0, 120.0
"""Width of a row's bar, and where 0 is, in pixels."""
PAD = 8.0

METRICS = (("ifr", "IFR"), ("preservation", "Preservation"), ("subject_retention", "retention"))


@dataclass(frozen=True, slots=True)
class PairedRow:
    """One method beside the best one.

    Attributes:
        at, bar: the IFR difference and its interval in pixels; None without an interval.
        others: (title, difference) in the metrics beside IFR; None where undefined.
    """

    method: str
    ifr: Difference
    at: float
    bar: tuple[float, float] | None
    others: tuple[tuple[str, Difference | None], ...]


@dataclass(frozen=True, slots=True)
class PairedTable:
    """The best method of a model and the others beside it.

    Attributes:
        scale: the value at either edge.
        comparisons: the number that p is adjusted over.
        refused: sentences on methods that are not paired.
        why: the reason to compare with the best one.
        methods: those compared; `like` is an edit whose request further ones repeat.
        more: unrelated facts that are missing to show a difference.
    """

    model: str
    best: str
    verdict: str
    rows: tuple[PairedRow, ...]
    scale: float
    comparisons: int
    refused: tuple[str, ...]
    methods: tuple[str, ...]
    like: str
    more: int
    why: str


def tables(found: Sequence[Against]) -> list[PairedTable]:
    """One table a model, its bars on one scale."""
    return [_table(against) for against in found if against.of("ifr") or against.refused]


def _table(against: Against) -> PairedTable:
    rows = against.of("ifr")
    ends = [abs(end) for row in rows for end in (row.value, *(row.interval or ()))]
    scale = max([0.05, *ends])
    others = {metric: {row.first: row for row in against.of(metric)} for metric, _ in METRICS[1:]}

    def place(value: float) -> float:
        return round(MIDDLE + value / scale * (MIDDLE - PAD), 1)

    drawn = tuple(
        PairedRow(
            row.first,
            row,
            place(row.value),
            (place(row.interval[0]), place(row.interval[1])) if row.interval else None,
            tuple((title, others[metric].get(row.first)) for metric, title in METRICS[1:]),
        )
        for row in rows
    )
    comparisons = max((row.comparisons for row in rows), default=0)
    return PairedTable(
        against.model, against.best, verdict(rows), drawn, scale, comparisons, against.refused,
        tuple(against.methods), against.like.edit if against.like else "", further(rows),
        against.why,
    )  # fmt: skip
