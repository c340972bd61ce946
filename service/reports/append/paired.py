"""Paired tests of a variant against the bare method: the same requests, one difference a request.

PEAK tests APP against the bare method by a t-test (p < .05). Both that and a bootstrap over
requests, which assumes no distribution, are given.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from ...formatting import number, signed_interval
from ...scoring.append.variants import BARE
from ..formats import Column
from .table import COLUMNS, AppendTable, VariantRow, mean


@dataclass(frozen=True, slots=True)
class Difference:
    """A variant minus the bare method, over the requests where both are defined.

    Attributes:
        n: requests.
        value: mean difference; None with n = 0.
        low, high: 95 % interval of it by paired bootstrap; None with fewer than `LEAST` of
            `reports.append.table`.
        p: of the paired t-test, two-sided; None with fewer than two requests, or where all
            differences are equal.
    """

    model: str
    method: str
    variant: str
    metric: str
    n: int
    value: float | None
    low: float | None
    high: float | None
    p: float | None

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval lies on one side of 0."""
        return self.low is not None and self.high is not None and self.low * self.high > 0


def differences(found: AppendTable) -> list[Difference]:
    """Each variant against its bare method, metric by metric, in the order of the table."""
    return [each for row in found.rows for each in _of_row(row, found.rows)]


def _of_row(row: VariantRow, rows: Sequence[VariantRow]) -> Iterator[Difference]:
    if row.variant == BARE.name:
        return
    bare = next(
        (r for r in rows if (r.model, r.method, r.variant) == (row.model, row.method, BARE.name)),
        None,
    )
    if bare is None:
        return
    for metric in COLUMNS:
        pairs = [
            (bare.values[request][metric], values[metric])
            for request, values in row.values.items()
            if request in bare.values
        ]
        found = np.array([b - a for a, b in pairs if a is not None and b is not None])
        yield Difference(
            row.model, row.method, row.variant, metric, len(found), *of_differences(found)
        )


def of_differences(
    differences: np.ndarray, *, seed: int = 0
) -> tuple[float | None, float | None, float | None, float | None]:
    """Mean, bootstrap interval and p of the t-test of paired differences [n]."""
    found, p = mean(differences, seed=seed), None
    if found.n > 1 and differences.std() > 1e-12 * np.abs(differences).max():
        from scipy.stats import ttest_1samp  # slow to import

        result: Any = ttest_1samp(differences, 0.0)
        p = float(result.pvalue)
    return found.value, found.low, found.high, None if p is None or math.isnan(p) else p


def columns(style: str) -> list[Column[Difference]]:
    """The columns of the differences in a text format; for data each number by itself."""
    first: list[Column[Difference]] = [
        Column("Model", lambda d: d.model),
        Column("Method", lambda d: d.method),
        Column("Variant", lambda d: d.variant),
        Column("Metric", lambda d: COLUMNS[d.metric]),
    ]
    value: list[Column[Difference]] = [Column("Difference", _whole, _signed)]
    if style not in ("markdown", "latex"):
        value = [Column(t.capitalize(), attrgetter(t)) for t in ("value", "low", "high")]
    return [*first, *value, Column("p (t-test)", lambda d: d.p, _p), Column("n", lambda d: d.n)]


def _whole(each: Difference) -> tuple[float | None, float | None, float | None]:
    return each.value, each.low, each.high


def _signed(value: tuple[float | None, float | None, float | None]) -> str:
    return signed_interval(*value)


def _p(value: float | None) -> str:
    return "< .001" if value is not None and value < 0.001 else number(value)
