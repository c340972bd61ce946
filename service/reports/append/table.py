"""The table of PEAK (Ma et al. 2024, Table 3): one row a method and variant, means over requests.

Columns: ES, GS, LS, then AFF and ANF over hard and over random false answers. AFF and ANF are
better when lower, the others when higher. Rows are over the requests that all of them have, so that
they can be compared; each mean is over the requests where the value is defined and carries their
number, and its 95 % interval is a bootstrap over requests.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...errors import NothingStoredError
from ...formatting import UNDEFINED, pluralize
from ...schemas import Score
from ...scoring.append.additivity import MEASURE
from ...scoring.append.variants import variant_of
from ...scoring.intervals import QUANTILES
from ..formats import Column
from ..pooling import DRAWS
from .edit import SUCCESS

COLUMNS = {
    **SUCCESS,
    "aff_hard": "AFF hard",
    "anf_hard": "ANF hard",
    "aff_random": "AFF random",
    "anf_random": "ANF random",
}
"""The metrics of the table with their titles, in the order of the paper."""

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


@dataclass(frozen=True, slots=True)
class VariantRow:
    """One row of the table.

    Attributes:
        variant: as `variants.variant_of` names it; weights of APP that differ from those of other
            rows of the same name are appended.
        requests: how many the row is over.
        values: {request: {metric: value}}, None where undefined.
        means: by metric.
    """

    model: str
    method: str
    variant: str
    requests: int
    values: Mapping[str, Mapping[str, float | None]]
    means: Mapping[str, Mean]

    @property
    def key(self) -> tuple[str, str, str]:
        """Model, method and variant, as in `groups`."""
        return self.model, self.method, self.variant

    @property
    def name(self) -> str:
        """Method and variant: `memit`, `memit+`, `memit APP −L1`."""
        if self.variant == "bare":
            return self.method
        return self.method + ("+" if self.variant == "+" else f" {self.variant}")


@dataclass(frozen=True, slots=True)
class AppendTable:
    """The rows, and what a reader must know about them."""

    rows: tuple[VariantRow, ...]
    caption: str


def table(scores: Sequence[Score], *, all_requests: bool = False) -> AppendTable:
    """One row a model, method and variant, in the order of the scores.

    Args:
        scores: of requests to append; the last of each request, model, method and variant counts.
        all_requests: each row over its own requests, not over those that all rows of a model have.

    Raises:
        NothingStoredError: there is none.
    """
    grouped = groups(scores)
    if not grouped:
        raise NothingStoredError(
            "There is no scored request to append.",
            remedy="Score some with `thinkeval peak sweep`.",
        )
    shared = _shared(grouped)
    rows, left_out = [], 0
    for (model, method, name), found in grouped.items():
        kept = (
            found
            if all_requests or not shared[model]
            else {request: score for request, score in found.items() if request in shared[model]}
        )
        left_out += len(found) - len(kept)
        values = {
            request: {metric: score.number(metric, MEASURE) for metric in COLUMNS}
            for request, score in kept.items()
        }
        means = {metric: mean([v[metric] for v in values.values()]) for metric in COLUMNS}
        rows.append(VariantRow(model, method, name, len(kept), values, means))
    return AppendTable(tuple(rows), _caption(rows, shared, left_out))


def mean(values: Iterable[float | None], *, seed: int = 0) -> Mean:
    """The mean of the defined values with its bootstrap interval over them."""
    found = np.array([v for v in values if v is not None and not math.isnan(v)])
    if not len(found):
        return Mean(None, 0)
    if len(found) < LEAST:
        return Mean(float(found.mean()), len(found))
    drawn = np.random.default_rng(seed).choice(found, (DRAWS, len(found))).mean(axis=1)
    low, high = np.quantile(drawn, QUANTILES)
    return Mean(float(found.mean()), len(found), float(low), float(high))


def groups(scores: Sequence[Score]) -> dict[tuple[str, str, str], dict[str, Score]]:
    """{(model, method, variant): {request: score}}; other weights of APP make another variant."""
    weights: dict[tuple[str, str, str], set[tuple[float | None, ...]]] = defaultdict(set)
    appended = [(score, score.append) for score in scores if score.append is not None]
    for score, append in appended:
        weights[score.model, score.method, variant_of(append)].add(
            (append.alpha, append.beta, append.gamma)
        )
    groups: dict[tuple[str, str, str], dict[str, Score]] = defaultdict(dict)
    for score, append in appended:
        name = variant_of(append)
        if len(weights[score.model, score.method, name]) > 1 and name.startswith("APP"):
            name += f" ({append.alpha:g}, {append.beta:g}, {append.gamma:g})"
        groups[score.model, score.method, name][f"{score.dataset}|{score.rewrite}"] = score
    return dict(groups)


def _shared(groups: Mapping[tuple[str, str, str], Mapping[str, Score]]) -> dict[str, set[str]]:
    """{model: requests that all of its rows have}."""
    shared: dict[str, set[str]] = {}
    for (model, _, _), found in groups.items():
        shared[model] = shared.get(model, set(found)) & set(found)
    return shared


def _caption(rows: Sequence[VariantRow], shared: Mapping[str, set[str]], left_out: int) -> str:
    least = min((m.n for row in rows for m in row.means.values()), default=0)
    text = (
        "P(o) is the likelihood of an answer, normalised by its length (PEAK, eq. 1 to 6). ES, GS"
        " and LS: higher is better; AFF and ANF: lower is better, 0 is undisturbed. Means over"
        f" requests, undefined ones left out (at least {least} each);"
        " [low, high]: 95 % bootstrap interval over requests."
    )
    if left_out:
        text += (
            f" {pluralize(left_out, 'score')} of requests that some row lacks"
            f" {'is' if left_out == 1 else 'are'} left out."
        )
    if any(not found for found in shared.values()):
        text = f"No request is common to all rows: they cannot be compared. {text}"
    return text


def columns(style: str) -> list[Column[VariantRow]]:
    """The columns of a text format: means with intervals, or for data each number by itself.

    Args:
        style: as `reports.formats.FORMATS`.
    """
    first: list[Column[VariantRow]] = [
        Column("Model", lambda row: row.model),
        Column("Method", lambda row: row.name, whole=True),
        Column("requests", lambda row: row.requests),
    ]
    if style in ("markdown", "latex"):
        return first + [
            Column(title, partial(_mean_of, metric), _percent) for metric, title in COLUMNS.items()
        ]
    return first + [
        Column(f"{title}{end and ' ' + end}", partial(_part_of, metric, part))
        for metric, title in COLUMNS.items()
        for part, end in (("value", ""), ("low", "low"), ("high", "high"), ("n", "n"))
    ]


def _mean_of(metric: str, row: VariantRow) -> Mean:
    return row.means[metric]


def _part_of(metric: str, part: str, row: VariantRow) -> float | int | None:
    return getattr(row.means[metric], part)


def _percent(found: Mean) -> str:
    """As the paper prints it: percent with two decimals; the interval with one."""
    if found.value is None:
        return UNDEFINED
    text = f"{100 * found.value:.2f}"
    if found.low is None or found.high is None:
        return text
    return f"{text} [{100 * found.low:.1f}, {100 * found.high:.1f}]"


def as_dict(found: AppendTable) -> dict[str, Any]:
    """The table for JSON."""
    return {
        "caption": found.caption,
        "rows": [
            {
                "model": row.model,
                "method": row.method,
                "variant": row.variant,
                "requests": row.requests,
                "means": {
                    metric: {"value": m.value, "n": m.n, "low": m.low, "high": m.high}
                    for metric, m in row.means.items()
                },
            }
            for row in found.rows
        ],
    }
