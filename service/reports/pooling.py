"""Several edits as one: means of metrics, IFR over all their chains, a row a method."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..base.formatting import pluralize, with_interval
from ..models.edit import Score
from ..scoring.intervals import QUANTILES
from .formats import Column

if TYPE_CHECKING:
    import pandas as pd


# Definition 3 on the union of chains: within one length the weights cancel, so each edit adds Σ_n
# (N_n / √n) · IFR_n to the numerator and Σ_n N_n / √n to the denominator, N_n its chains of n
# steps that count. IFR beyond the subject is over the same chains. Terms are an array, so that
# intervals over families of rewrites (drawn anew with replacement) cost one product.

POOLED = ("efficacy", "ifr", "preservation", "subject_retention", "ifr_beyond_subject")
"""Metrics that `pooled` returns, in order."""

MEANS = {"efficacy": 0, "preservation": 1, "subject_retention": 4}
"""The metrics whose value over several edits is the mean, with their column in `terms`."""
RATIOS = {"ifr": 2, "ifr_beyond_subject": 5}
"""The metrics over the chains of all edits, with the column of their numerator in `terms`."""
WEIGHT = 3
"""The column of the denominator of both."""

DRAWS = 2000


def terms(scores: Sequence[Score], measure: str) -> np.ndarray:
    """Return the addends of each edit to means and sums: [edits, 6].

    The columns are efficacy, Preservation, numerator and denominator of IFR, subject retention,
    numerator of IFR beyond the subject. NaN where a metric was not taken or has n = 0; the sums
    of IFR are 0 there.
    """
    return np.array([_terms(score, measure) for score in scores]).reshape(len(scores), 6)


def pooled(rows: np.ndarray) -> tuple[float, float, float, float, float]:
    """The values of POOLED of edits as `terms` gives them: [edits, 6].

    A mean over nothing is NaN, and so is IFR without a chain that counts.
    """
    weight = rows[:, WEIGHT].sum()
    ifr, beyond = (
        float(rows[:, column].sum() / weight) if weight else math.nan for column in RATIOS.values()
    )
    efficacy, preservation, retention = (_mean(rows[:, column]) for column in MEANS.values())
    return efficacy, ifr, preservation, retention, beyond


def defined(rows: np.ndarray, metric: str) -> np.ndarray:
    """For each edit of `terms`, True if the metric is defined there: [edits]."""
    column = (MEANS | RATIOS)[metric]
    known = ~np.isnan(rows[:, column])
    return known & (rows[:, WEIGHT] > 0) if metric in RATIOS else known


def interval_over_edits(
    rows: np.ndarray,
    families: Sequence[str] | None = None,
    *,
    seed: int = 0,
    draws: int = DRAWS,
) -> dict[str, tuple[float, float]]:
    """95 % bootstrap interval over families of edits of each of POOLED; {} with fewer than three.

    A family is drawn with all its edits. A metric that is undefined for some edits is over the
    others; one with fewer than three families that have it gets no interval.

    Args:
        families: the family of each edit; None: each edit is drawn by itself.
    """
    member = membership(families, len(rows))
    n = len(member)
    if n < 3:
        return {}
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(n, np.full(n, 1 / n), size=draws) @ member
    out: dict[str, tuple[float, float]] = {}
    for name, column in (MEANS | RATIOS).items():
        known = defined(rows, name)
        if member[:, known].any(axis=1).sum() < 3:
            continue
        of = counts[:, known]
        weights = of @ (rows[known, WEIGHT] if name in RATIOS else np.ones(known.sum()))
        drawn = weights > 0
        out[name] = _quantiles((of @ rows[known, column])[drawn] / weights[drawn])
    return out


def membership(families: Sequence[str] | None, n: int) -> np.ndarray:
    """[families, edits]: 1 where the edit is of the family; None: each edit is one."""
    if families is None:
        return np.eye(n, dtype=np.int64)
    names = list(dict.fromkeys(families))
    return np.array([[name == family for family in families] for name in names], dtype=np.int64)


def _terms(score: Score, measure: str) -> list[float]:
    def defined(metric: str) -> float:
        value = score.get(metric, measure)
        if value is None or value.value is None or not value.n:
            return math.nan
        return value.value

    steps = score.by_step("ifr_by_steps", measure).items()
    weights = {step: value.n / math.sqrt(step) for step, value in steps}
    total = sum((value.value or 0.0) * weights[step] for step, value in steps)
    weight = sum(weights.values())
    beyond = defined("ifr_beyond_subject") * weight if weight else 0.0
    kept = defined("preservation"), defined("subject_retention")
    return [defined("efficacy"), kept[0], total, weight, kept[1], beyond]


def _mean(values: np.ndarray) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else math.nan


def _quantiles(values: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(values, QUANTILES)
    return float(low), float(high)


# Tables of requests to append and to forget: one row a method, means over requests.
#
# Rows are over the requests that all rows of a model have, so that they can be compared. Each
# mean is over the requests where the value is defined and carries their number; its 95 % interval
# is a bootstrap over requests.

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
        kind: of the requests, `append` or `forget`.
        note, rules: as those of a `Table`.
        counted: the requests of a row, as the title of their number.
        titles: {metric: title of its column}.
        text: writes a mean.
    """

    title: str
    counted: str
    titles: Mapping[str, str]
    rows: Sequence[MeansRow]
    kind: str
    note: str
    rules: str
    text: Callable[[Mean], str] = field(default=_text)

    @property
    def caption(self) -> str:
        """All sentences below it."""
        return " ".join(filter(None, (self.note, self.rules)))

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
