"""Methods against each other: at equal efficacy, and by paired differences."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np
from pydantic import BaseModel, Field

from ..base.formatting import pluralize, signed_interval
from ..models.edit import Score
from ..scoring.intervals import bootstrap
from ..scoring.sweep import Outcome
from .comparison import COUNTED, Comparison
from .pooling import POOLED, defined, pooled, terms

# Methods compared at equal efficacy, and which differences are more than chance.
#
# IFR follows efficacy: an edit that installs half of the new fact cuts half of the old one's
# chains. So each method's update is also scored at lower strengths (`ScoreRequest.strength`), and
# IFR, Preservation and retention of the subject's other facts are read off at one efficacy for
# all, by linear interpolation between the two strengths around it. A method that never gets there
# has no value there. Methods are compared over the rewrites that all of them have.
#
# Chance enters in two ways. Rewrites: families of them (`service.reports.comparison`) are drawn
# anew, the same ones for all methods (paired bootstrap), and a difference counts when its 95 %
# interval leaves out 0. Seeds: with several, a difference exceeds their spread when its mean over
# seeds is more than twice its standard deviation.

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


# The best method of a comparison against each other one: paired differences over common rewrites.
#
# A table of means hides how far two methods differ on the same rewrite. The best method is the
# one of lowest IFR among those whose efficacy exceeds one half: one that installs nothing is no
# rival. Its difference to another method is taken over the rewrites that both have, and its 95 %
# interval over families of them, drawn anew for both methods at once (`service.reports.paired`).
# A difference exceeds chance where that interval leaves out 0.

FEWEST = 3
"""Families that an interval needs at least."""


class PairedOut(BaseModel):
    """The difference of a method from the best one in a metric, over their common rewrites."""

    model: str = Field(description="The edited model.")
    best: str = Field(description="Method of lowest IFR among those of efficacy above .5.")
    method: str = Field(description="The method that is compared with it.")
    metric: str = Field(description="Name of the metric.")
    value: float = Field(description="The method's value minus that of the best method.")
    low: float | None = Field(
        description="Lower bound of the 95 % interval over families of rewrites; null below three."
    )
    high: float | None = Field(description="Upper bound of that interval.")
    rewrites: int = Field(description="Rewrites that both methods have.")
    exceeds_chance: bool | None = Field(
        description="True if the interval excludes 0; null without an interval."
    )


@dataclass(frozen=True, slots=True)
class Against:
    """The best method of one model, and how the others differ from it.

    Attributes:
        rows: other method minus `best`, by method in the order of their IFR, those that did not
            take last, and by metric.
    """

    model: str
    best: str
    rows: tuple[Difference, ...]

    def of(self, metric: str) -> list[Difference]:
        """The differences in one metric, one a method."""
        return [row for row in self.rows if row.metric == metric]


def paired(found: Comparison, measure: str, best: str | None = None) -> list[Against]:
    """The best method of each model against the others, in the order of the scores.

    A model without two methods of this measure, or with none of efficacy above `COUNTED`, has no
    entry, nor has one whose IFR is undefined. Of several scores of one rewrite by one method the
    last counts.

    Args:
        best: the method to compare with; default: the one of lowest IFR that took.
    """
    models: dict[str, dict[str, dict[str, Score]]] = defaultdict(lambda: defaultdict(dict))
    for score in found.scores:
        if measure in score.measures:
            models[score.model][score.method][score.rewrite] = score
    return [
        against
        for model, methods in models.items()
        if (against := _against(model, methods, measure, found.families, best)) is not None
    ]


def _against(
    model: str,
    methods: Mapping[str, Mapping[str, Score]],
    measure: str,
    families: Mapping[str, str],
    best: str | None,
) -> Against | None:
    curves = {
        method: _paired_curve(list(of.values()), measure, families)
        for method, of in methods.items()
    }
    whole = {method: pooled(curve.terms[0]) for method, curve in curves.items()}
    took = [method for method, values in whole.items() if values[0] > COUNTED]
    if len(curves) < 2 or (best not in curves if best else not took):
        return None
    ranked = sorted(curves, key=lambda name: (name not in took, _rank(whole[name][1]), name))
    best = best or min(took, key=ranked.index)
    if math.isnan(whole[best][1]):
        return None
    pairs = [(method, best) for method in ranked if method != best]
    return Against(model, best, tuple(differences([curves], pairs)))


def _rank(ifr: float) -> float:
    """IFR, to sort by: an undefined one comes last."""
    return math.inf if math.isnan(ifr) else ifr


def _paired_curve(scores: Sequence[Score], measure: str, families: Mapping[str, str]) -> Curve:
    ids = tuple(score.rewrite for score in scores)
    of = tuple(families.get(score.edit, score.rewrite) for score in scores)
    return Curve((1.0,), ids, of, terms(scores, measure)[None])


def sentences(found: Sequence[Against], metric: str = "ifr", *, brief: bool = False) -> list[str]:
    """Per model, the best method and how the others differ from it.

    Args:
        brief: only which differences exceed chance, for the caption of a figure.
    """
    return [_sentence(against, metric, len(found) > 1, brief) for against in found]


def notes(found: Comparison, measure: str) -> tuple[str, ...]:
    """Return the notes in a caption of a figure of methods: warnings, then the best."""
    return (*found.warnings, *sentences(paired(found, measure), brief=True))


def _sentence(against: Against, metric: str, named: bool, brief: bool) -> str:
    rows = against.of(metric)
    where = f"{against.model}: " if named else ""
    start = f"{where}Lowest IFR among methods of efficacy above .5: {against.best}."
    if not rows:
        return start
    sizes = {row.n for row in rows}
    over = pluralize(sizes.pop(), "common rewrite") if len(sizes) == 1 else "the rewrites both have"
    parts = ", ".join(f"{row.first} {difference_text(row)}" for row in rows)
    listed = f" IFR of the others minus its own, paired over {over}: {parts}." * (not brief)
    return f"{start}{listed} {verdict(rows)}"


def verdict(rows: Sequence[Difference]) -> str:
    """Return the differences that exceed chance, in words, or why that is unknown."""
    counted = [row.first for row in rows if row.beyond_rewrites]
    within = [row.first for row in rows if row.beyond_rewrites is False]
    if not counted and not within:
        return (
            "Unknown whether the differences exceed chance: an interval needs"
            f" {FEWEST} families of rewrites."
        )
    if not within:
        return "The difference to every other method exceeds chance."
    if not counted:
        return "No difference to another method exceeds chance."
    return f"The difference exceeds chance for {', '.join(counted)}; not for {', '.join(within)}."


def difference_text(row: Difference) -> str:
    """A difference with its 95 % interval, where it has one: `+0.120 [0.05, 0.21]`."""
    low, high = row.interval or (None, None)
    return signed_interval(row.value, low, high)


def out(found: Sequence[Against]) -> list[PairedOut]:
    """The differences as REST gives them."""
    return [
        PairedOut(
            model=against.model,
            best=against.best,
            method=row.first,
            metric=row.metric,
            value=row.value,
            low=row.interval[0] if row.interval else None,
            high=row.interval[1] if row.interval else None,
            rewrites=row.n,
            exceeds_chance=row.beyond_rewrites,
        )
        for against in found
        for row in against.rows
    ]


def by_row(rows: Iterable[tuple[str, str]], found: Sequence[Against]) -> list[list[dict[str, Any]]]:
    """The differences of each (model, method) to the best one, JSON-able; of the best, none."""
    differences = [each.model_dump() for each in out(found)]
    return [
        [each for each in differences if (each["model"], each["method"]) == row] for row in rows
    ]
