"""Tables of requests to append and to forget: one row a method, means over requests.

Rows are over the requests that all rows of a model have, so that they can be compared. Each mean is
over the requests where the value is defined and carries their number; its 95 % interval is a
bootstrap over requests.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..formatting import pluralize, with_interval
from ..schemas import Score
from ..scoring.intervals import QUANTILES
from .formats import Column
from .pooling import DRAWS

if TYPE_CHECKING:
    import pandas as pd

LEAST = 3
"""Requests of which an interval is given at least."""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over requests.

    Attributes:
        value: None where no request has a defined value.
        n: requests with a defined value.
        low, high: 95 % interval; None with fewer than `LEAST`.
    """

    value: float | None
    n: int
    low: float | None = None
    high: float | None = None


def mean(values: Iterable[float | None], *, seed: int = 0) -> Mean:
    """Return the mean of the defined values with its bootstrap interval over them."""
    found = np.array([v for v in values if v is not None and not math.isnan(v)])
    if not len(found):
        return Mean(None, 0)
    if len(found) < LEAST:
        return Mean(float(found.mean()), len(found))
    drawn = np.random.default_rng(seed).choice(found, (DRAWS, len(found))).mean(axis=1)
    low, high = np.quantile(drawn, QUANTILES)
    return Mean(float(found.mean()), len(found), float(low), float(high))


@dataclass(frozen=True, slots=True)
class MeansRow:
    """One method.

    Attributes:
        variant: which of several ways the method was used; `bare` for the only one.
        values: {request: {metric: value}}, None where undefined.
        means: by metric.
        unknown: requests whose fact the model did not know before; None where that is not asked.
    """

    model: str
    method: str
    variant: str
    values: Mapping[str, Mapping[str, float | None]]
    means: Mapping[str, Mean]
    unknown: int | None = None

    @property
    def name(self) -> str:
        """Method and variant: `memit`, `memit+`, `memit APP −L1`."""
        if self.variant == "bare":
            return self.method
        return self.method + ("+" if self.variant == "+" else f" {self.variant}")


def _text(found: Mean) -> str:
    return with_interval(found.value, found.low, found.high)


@dataclass(frozen=True, slots=True)
class MeansTable:
    """The rows, and the sentences that a reader must know about them.

    Attributes:
        counted: the requests of a row, as the title of their number.
        titles: {metric: title of its column}.
        text: writes a mean.
    """

    title: str
    counted: str
    titles: Mapping[str, str]
    rows: Sequence[MeansRow]
    caption: str
    text: Callable[[Mean], str] = field(default=_text)

    @property
    def columns(self) -> list[Column[MeansRow]]:
        """The columns of terminal, Markdown and LaTeX: means with their intervals."""
        return [
            Column("Model", lambda row: row.model),
            Column("Method", lambda row: row.name, whole=True),
            Column(self.counted, lambda row: len(row.values)),
            *(
                Column(title, partial(_mean_of, metric), self.text)
                for metric, title in self.titles.items()
            ),
        ]

    def frame(self) -> pd.DataFrame:
        """Return each metric, with `.n`, `.low` and `.high` beside it, as numbers."""
        import pandas as pd

        out = []
        for row in self.rows:
            values: dict[str, object] = {"Model": row.model, "Method": row.method}
            if any(each.variant != "bare" for each in self.rows):
                values["Variant"] = row.variant
            values[self.counted] = len(row.values)
            if row.unknown is not None:
                values["unknown"] = row.unknown
            for metric, title in self.titles.items():
                found = row.means[metric]
                values |= {
                    title: found.value, f"{title}.n": found.n,
                    f"{title}.low": found.low, f"{title}.high": found.high,
                }  # fmt: skip
            out.append(values)
        return pd.DataFrame(out)


def _mean_of(metric: str, row: MeansRow) -> Mean:
    return row.means[metric]


Key = tuple[str, str, str]
"""Model, method and variant of a row."""


def rows_over(
    groups: Mapping[Key, Mapping[str, Score]],
    values: Callable[[Score], Mapping[str, float | None]],
    *,
    all_requests: bool = False,
) -> tuple[list[MeansRow], str]:
    """Return one row a group, in their order, and a sentence about requests that are left out.

    Args:
        groups: {(model, method, variant): {request: score}}; not empty.
        values: of a score, by metric; every score has the same metrics.
        all_requests: each row over its own requests, not over those that all rows of a model have.
    """
    shared: dict[str, set[str]] = {}
    for (model, _, _), found in groups.items():
        shared[model] = shared.get(model, set(found)) & set(found)
    rows, left_out = [], 0
    for (model, method, variant), found in groups.items():
        over = {
            request: values(score)
            for request, score in found.items()
            if all_requests or not shared[model] or request in shared[model]
        }
        left_out += len(found) - len(over)
        metrics = next(iter(over.values()))
        means = {metric: mean(each[metric] for each in over.values()) for metric in metrics}
        rows.append(MeansRow(model, method, variant, over, means))
    said = ""
    if left_out:
        said = (
            f" {pluralize(left_out, 'score')} of requests that some row lacks"
            f" {'is' if left_out == 1 else 'are'} left out."
        )
    if not all(shared.values()):
        said += " No request is common to all rows: they cannot be compared."
    return rows, said
