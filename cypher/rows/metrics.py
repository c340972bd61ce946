"""The one row type of all metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..errors import MissingProbabilityError
from .base import Row


@dataclass(frozen=True)
class MetricRow(Row):
    """One value of one metric.

    Attributes:
        id: label of the case.
        step: length of the chains it covers; None for all lengths.
        value: the metric; None where it is undefined, then `n` is 0. Counts, and what the papers
            define (`rule`), have a value even then.
        n: number of chains, facts, records or prompts it covers.
        excluded: number left out, as the model did not know them before the edit.
    """

    PROBABILITIES: ClassVar[frozenset[str]] = frozenset({"value"})
    id: str
    step: int | None
    value: float | None
    n: int
    excluded: int

    def check(self, name: str) -> None:
        """MissingProbabilityError if the value is null although there is something to measure."""
        if self.value is None and self.n:
            raise MissingProbabilityError(
                f"The value of {self.id!r} is null: a fact lacks the requested probability."
            )


@dataclass(frozen=True)
class ChainMetricRow(MetricRow):
    """One value of one of several metrics over chains; a MetricRow with the name of its metric."""

    metric: str
