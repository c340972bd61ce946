"""The one row type of all metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from thinkeval.cypher.rows.base import Row


@dataclass(frozen=True)
class MetricRow(Row):
    """One value of one metric.

    Attributes:
        id: what the case was called.
        step: length of the chains it was taken over; None for all of them.
        value: the metric; defined even when `n` is 0, see the metric's header.
        n: how many chains, facts, records or prompts it was taken over.
        excluded: how many were left out because their probability before the edit is 0.
    """

    PROBABILITIES: ClassVar[frozenset[str]] = frozenset({"value"})
    id: str
    step: int | None
    value: float
    n: int
    excluded: int
