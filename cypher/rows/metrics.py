"""The one row type of all metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from thinkeval.cypher.rows.base import Row


@dataclass(frozen=True)
class MetricRow(Row):
    """One value of one metric.

    Attributes:
        id: label of the case.
        step: length of the chains it covers; None for all lengths.
        value: the metric; defined even when `n` is 0, see the metric's header.
        n: number of chains, facts, records or prompts it covers.
        excluded: number left out because their probability before the edit is 0.
    """

    PROBABILITIES: ClassVar[frozenset[str]] = frozenset({"value"})
    id: str
    step: int | None
    value: float
    n: int
    excluded: int
