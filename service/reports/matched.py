"""Methods compared at equal efficacy, and which differences are more than chance.

IFR follows efficacy: an edit that installs half of the new fact cuts half of the old one's chains.
So each method's update is also scored at lower strengths (`ScoreRequest.strength`), and IFR,
Preservation and retention of the subject's other facts are read off at one efficacy for all, by
linear interpolation between the two strengths around it. A method that never gets there has no
value there. Methods are compared over the rewrites that all of them have.

Chance enters in two ways. Rewrites: families of them (`service.reports.families`) are drawn anew,
the same ones for all methods (paired bootstrap), and a difference counts when its 95 % interval
leaves out 0. Seeds: with several, a
difference exceeds their spread when its mean over seeds is more than twice its standard deviation.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest

import numpy as np

from ..schemas import Score
from ..scoring.intervals import bootstrap
from ..scoring.sweep import Outcome
from .pooling import POOLED, defined, pooled, terms

LEVELS = (0.5, 0.7, 0.9)
"""Efficacies at which methods are compared."""

DRAWS = 400
METRICS = POOLED[1:]

Values = tuple[float, ...]
"""A value of each of METRICS (IFR by Definition 3 over the chains of all rewrites); NaN for
undefined."""

_NOTHING: Values = (math.nan,) * len(METRICS)


@dataclass(frozen=True, slots=True)
class Curve:
    """A method's scores as numbers, by ascending strength and by rewrite.

    Attributes:
        families: the family of each rewrite.
        terms: [strengths, rewrites, 6], see `service.reports.pooling.terms`.
    """

    strengths: tuple[float, ...]
    ids: tuple[str, ...]
    families: tuple[str, ...]
    terms: np.ndarray

    def only(self, ids: Sequence[str]) -> Curve:
        """The same for some of the rewrites."""
        places = [self.ids.index(i) for i in ids]
        families = tuple(self.families[place] for place in places)
        return Curve(self.strengths, tuple(ids), families, self.terms[:, places])

    def points(self, chosen: Sequence[int]) -> list[Values]:
        """Efficacy and METRICS of the chosen rewrites (by place, may repeat), one a strength."""
        return [pooled(row) for row in self.terms[:, list(chosen)]]

    def intervals(
        self, statistics: Callable[[Sequence[int]], Sequence[float]], draws: int
    ) -> list[tuple[float, float] | None]:
        """95 % bootstrap intervals of statistics of chosen rewrites, over their families.

        An empty list with fewer than three families.
        """
        of: dict[str, list[int]] = defaultdict(list)
        for place, family in enumerate(self.families):
            of[family].append(place)
        groups = list(of.values())
        return bootstrap(
            lambda drawn: statistics([i for group in drawn for i in groups[group]]),
            len(groups),
            draws=draws,
        )


@dataclass(frozen=True, slots=True)
class Matched:
    """A method at one efficacy; None where it never has it. Intervals are over families."""

    method: str
    efficacy: float
    ifr: float | None
    preservation: float | None
    subject_retention: float | None
    ifr_beyond_subject: float | None
    ifr_interval: tuple[float, float] | None
    n: int
    n_families: int


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two methods in a metric, at an efficacy or (None) as they are.

    Attributes:
        interval: over families of rewrites, paired; None with fewer than three. With several
            seeds the first one's.
        n: rewrites for which both methods have the metric.
        seeds, spread: number of seeds, and the standard deviation of the difference over them.
    """

    first: str
    second: str
    metric: str
    efficacy: float | None
    value: float
    interval: tuple[float, float] | None
    n: int
    seeds: int
    spread: float | None

    @property
    def beyond_rewrites(self) -> bool | None:
        """Return True if the 95 % interval over rewrites excludes 0, None without an interval."""
        return None if self.interval is None else not self.interval[0] <= 0 <= self.interval[1]

    @property
    def beyond_seeds(self) -> bool | None:
        """Return True if it exceeds twice the spread over seeds, None with one seed."""
        return None if self.spread is None else abs(self.value) > 2 * self.spread


def curves(
    outcomes: Sequence[Outcome], measure: str, families: Mapping[str, str] | None = None
) -> dict[tuple[str, int], dict[str, Curve]]:
    """{(model, seed): {method: its curve}}; rewrites that failed at a strength are left out.

    Args:
        families: {edit: family of its rewrite}; by default each rewrite is one.
    """
    held: dict[tuple[str, int], dict[str, dict[float, dict[str, Score]]]] = defaultdict(dict)
    for outcome in outcomes:
        if outcome.score is not None:
            cell = outcome.cell
            by_strength = held[cell.model, cell.seed].setdefault(cell.method, {})
            by_strength.setdefault(cell.strength, {})[cell.rewrite.id] = outcome.score
    return {
        place: {
            method: _curve(by_strength, measure, families or {})
            for method, by_strength in methods.items()
        }
        for place, methods in held.items()
    }


def at_efficacy(points: Sequence[Values], level: float) -> Values | None:
    """METRICS at an efficacy, between the two neighbouring strengths around it.

    Args:
        points: efficacy and METRICS, by ascending strength. Where the curve passes the level more
            than once, the first passage counts: the weakest edit that does.
    """
    for (low, *from_), (high, *to) in pairwise(points):
        if min(low, high) <= level <= max(low, high):
            share = (level - low) / (high - low) if high != low else 0.0
            return tuple(a + share * (b - a) for a, b in zip(from_, to, strict=True))
    return None


def matched(
    methods: Mapping[str, Curve], levels: Sequence[float] = LEVELS, *, draws: int = DRAWS
) -> list[Matched]:
    """Every method that was scored at several strengths, at every level, over common rewrites.

    Without a common rewrite each method is over its own.
    """
    several = {m: curve for m, curve in methods.items() if len(curve.strengths) > 1 and curve.ids}
    shared = set.intersection(*(set(curve.ids) for curve in several.values())) if several else set()
    rows = []
    for method, whole in several.items():
        curve = whole.only([i for i in whole.ids if i in shared or not shared])
        intervals = curve.intervals(lambda chosen, c=curve: _ifr_at(c, chosen, levels), draws)
        for level, interval in zip_longest(levels, intervals):
            found = _read(curve, range(len(curve.ids)), level)
            values = {
                name: None if math.isnan(value) else value
                for name, value in zip(METRICS, found, strict=True)
            }
            known = values["ifr"] is not None
            rows.append(
                Matched(
                    method,
                    level,
                    **values,
                    ifr_interval=interval if known else None,
                    n=int(defined(curve.terms[-1], "ifr").sum()),
                    n_families=len(set(curve.families)),
                )
            )
    return rows


def differences(
    by_seed: Sequence[Mapping[str, Curve]],
    pairs: Sequence[tuple[str, str]],
    *,
    level: float | None = None,
    draws: int = DRAWS,
) -> list[Difference]:
    """The differences of METRICS (first minus second), as they are or at an efficacy.

    Args:
        by_seed: the methods' curves, one mapping a seed of the same model.
    """
    rows = []
    for first, second in pairs:
        both = [
            _paired(seed[first], seed[second]) for seed in by_seed if {first, second} <= {*seed}
        ]
        if not both:
            continue
        gaps = [_gaps(a, b, range(len(a.ids)), level) for a, b in both]
        a, b = both[0]
        intervals = a.intervals(lambda chosen, a=a, b=b: _gaps(a, b, chosen, level), draws)
        for metric, values, interval in zip_longest(METRICS, zip(*gaps, strict=True), intervals):
            if any(math.isnan(value) for value in values):
                continue
            spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
            value = float(np.mean(values))
            n = int((defined(a.terms[-1], metric) & defined(b.terms[-1], metric)).sum())
            rows.append(
                Difference(first, second, metric, level, value, interval, n, len(values), spread)
            )
    return rows


def _curve(
    by_strength: Mapping[float, Mapping[str, Score]], measure: str, families: Mapping[str, str]
) -> Curve:
    ids = sorted(set.intersection(*(set(by_id) for by_id in by_strength.values())))
    strengths = tuple(sorted(by_strength))
    rows = [terms([by_strength[s][i] for i in ids], measure) for s in strengths]
    some = by_strength[strengths[0]]
    return Curve(
        strengths, tuple(ids), tuple(families.get(some[i].edit, i) for i in ids), np.stack(rows)
    )


def _paired(a: Curve, b: Curve) -> tuple[Curve, Curve]:
    common = [i for i in a.ids if i in set(b.ids)]
    return a.only(common), b.only(common)


def _read(curve: Curve, chosen: Sequence[int], level: float | None) -> Values:
    """METRICS of the whole edit, or at an efficacy; NaN where it is not reached."""
    if not curve.ids:
        return _NOTHING
    points = curve.points(chosen)
    if level is None:
        return points[curve.strengths.index(1.0)][1:] if 1.0 in curve.strengths else _NOTHING
    return at_efficacy(points, level) or _NOTHING


def _ifr_at(curve: Curve, chosen: Sequence[int], levels: Sequence[float]) -> list[float]:
    """IFR at each efficacy; NaN where it is not reached."""
    points = curve.points(chosen)
    return [(at_efficacy(points, level) or _NOTHING)[0] for level in levels]


def _gaps(a: Curve, b: Curve, chosen: Sequence[int], level: float | None) -> Values:
    """METRICS of one curve minus those of another."""
    pairs = zip(_read(a, chosen, level), _read(b, chosen, level), strict=True)
    return tuple(first - second for first, second in pairs)
