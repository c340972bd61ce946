"""Methods against each other: at equal efficacy, and by paired differences."""

from __future__ import annotations

import math
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from pydantic import BaseModel, Field

from ..base import inference
from ..base.formatting import UNDEFINED, interval, pluralize, short, signed, signed_interval
from ..models.edit import Measure, Score
from ..scoring.sweep import Outcome
from . import unlike
from .comparison import Comparison
from .formats import Column, Table
from .pooling import MEANS, POOLED, RATIOS, WEIGHT, defined, membership, pooled, terms
from .verdict import DID_NOT_TAKE, KEPT, LEFT, TOOK, place_of_method

# Methods compared at equal efficacy, and which differences are more than chance.
#
# IFR follows efficacy: an edit that installs half of the new fact cuts half of the old one's
# chains. So each method's update is also scored at lower strengths (`ScoreRequest.strength`), and
# IFR, Preservation and retention of the subject's other facts are read off at one efficacy for
# all, by linear interpolation between the two strengths around it. A method that never gets there
# has no value there. Methods are compared over the rewrites that all of them have.
#
# Chance enters in two ways. Rewrites: the unit is the rewrite, the cluster its family
# (`service.reports.comparison`); interval and tests are those of `service.base.inference`. Seeds:
# with several, a difference exceeds their spread when its mean over seeds is more than twice its
# standard deviation.

LEVELS = (0.5, 0.7, 0.9)
"""Efficacies at which methods are compared."""

FEWEST = 3
"""Families that an interval needs at least."""

GOOD = {
    "efficacy": TOOK[0][0], "ifr": LEFT[2][0], "preservation": KEPT[0][0],
    "subject_retention": KEPT[0][0], "ifr_beyond_subject": LEFT[2][0],
}  # fmt: skip
"""Value from which on (for IFR: below which) one rewrite is good in a metric, for flips."""

Points = np.ndarray
"""[draws, strengths, 5]: POOLED of a method at each strength (IFR by Definition 3 over the chains
of all rewrites); NaN for undefined."""


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

    @property
    def whole(self) -> Curve:
        """The edit as it is: strength 1 alone."""
        place = self.strengths.index(1.0)
        return replace(self, strengths=(1.0,), terms=self.terms[place : place + 1])

    def defined(self, metric: str) -> np.ndarray:
        """For each rewrite, True if the metric is defined there at every strength."""
        return np.all([defined(row, metric) for row in self.terms], axis=0)


@dataclass(frozen=True, slots=True)
class Parts:
    """Numerators and denominators of POOLED, summed by family: [families, strengths, 5]."""

    over: np.ndarray
    under: np.ndarray

    @staticmethod
    def of(curve: Curve, known: Mapping[str, np.ndarray]) -> Parts:
        """The parts of a curve, each metric over the rewrites for which `known` is True."""
        member = membership(curve.families, len(curve.ids)).T
        over, under = [], []
        for metric in POOLED:
            weights = (
                curve.terms[..., WEIGHT] if metric in RATIOS else np.ones(curve.terms.shape[:2])
            )
            for summed, each in (
                (over, curve.terms[..., (MEANS | RATIOS)[metric]]),
                (under, weights),
            ):
                summed.append(np.where(known[metric], each, 0.0) @ member)
        return Parts(np.array(over).T, np.array(under).T)

    def points(self, weights: np.ndarray) -> Points:
        """POOLED where each family counts as often as a draw says, [draws, families]."""
        return _ratio(*(np.tensordot(weights, each, 1) for each in (self.over, self.under)))

    def exchanged(self, other: Parts, swapped: np.ndarray) -> Points:
        """POOLED where the families of a draw, [draws, families] of 0 and 1, are the other's."""
        return _ratio(
            *(
                mine.sum(0) + np.tensordot(swapped, theirs - mine, 1)
                for mine, theirs in ((self.over, other.over), (self.under, other.under))
            )
        )


def _ratio(over: np.ndarray, under: np.ndarray) -> np.ndarray:
    return np.divide(over, under, out=np.full_like(over, math.nan), where=under > 1e-12)


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
class Flips:
    """Rewrites that are good (`GOOD`) by one method only.

    Attributes:
        gained, lost: good by the first method only, and by the second only.
        p: McNemar's exact test; it takes rewrites for independent, so the test over families
            decides where these have more than one.
    """

    gained: int
    lost: int
    p: float


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two methods in a metric, at an efficacy or (None) as they are.

    Attributes:
        interval: 95 %, over families of rewrites, paired; None with fewer than three. With several
            seeds the first one's, as all of the test.
        n, families: rewrites for which both methods have the metric, and their families.
        seeds, spread: number of seeds, and the standard deviation of the difference over them.
        p: of the exchange of the two methods by families, two-sided.
        p_adjusted: by Holm, over all comparisons of the command.
        least_p: the smallest adjusted p that so few families and so many comparisons can give.
        comparisons: their number.
        detectable: the smallest difference that would have been found with a power of .8; None
            with fewer than two families.
        flips: None at an efficacy.
    """

    first: str
    second: str
    metric: str
    efficacy: float | None
    value: float
    interval: tuple[float, float] | None
    n: int
    families: int
    p: float
    detectable: float | None
    flips: Flips | None = None
    seeds: int = 1
    spread: float | None = None
    p_adjusted: float = 1.0
    least_p: float = 0.0
    comparisons: int = 1

    @property
    def equal(self) -> bool:
        """Return True if the methods do not differ on any rewrite."""
        return self.value == 0 and self.detectable in (0, None) and self.p == 1

    @property
    def beyond_rewrites(self) -> bool | None:
        """Return True if its adjusted p is below .05, None where it cannot get there."""
        if self.least_p > inference.LEVEL and not self.equal:
            return None
        return self.p_adjusted < inference.LEVEL

    @property
    def beyond_seeds(self) -> bool | None:
        """Return True if it exceeds twice the spread over seeds, None with one seed."""
        return None if self.spread is None else abs(self.value) > 2 * self.spread

    @property
    def answer(self) -> str:
        """Return in words whether the difference is real, and what could have been seen."""
        if self.equal:
            return f"no difference: equal on {pluralize(self.n, 'rewrite')}"
        few = self.families < inference.RELIABLE and self.interval is not None
        if self.beyond_rewrites is None:
            return "unknown"
        few = f"; G = {self.families}: interval unreliable" * few
        if self.beyond_rewrites:
            return f"real{few}"
        if self.detectable is not None and abs(self.value) < self.detectable:
            return f"no difference found; could have seen ≥ {short(self.detectable)}{few}"
        return f"not shown{few}"


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


def at_efficacy(points: Points, level: float) -> np.ndarray:
    """POOLED at an efficacy, between the two neighbouring strengths around it: [draws, 5].

    Where the curve passes the level more than once, the first passage counts: the weakest edit
    that does. NaN where it never does.
    """
    found = np.full((len(points), points.shape[2]), math.nan)
    for place in reversed(range(points.shape[1] - 1)):
        low, high = points[:, place], points[:, place + 1]
        before, after = low[:, 0], high[:, 0]
        passes = (np.minimum(before, after) <= level) & (level <= np.maximum(before, after))
        step = np.where(after == before, 1.0, after - before)
        share = np.where(after == before, 0.0, (level - before) / step)[:, None]
        found = np.where(passes[:, None], low + share * (high - low), found)
    return found


def matched(methods: Mapping[str, Curve], levels: Sequence[float] = LEVELS) -> list[Matched]:
    """Every method that was scored at several strengths, at every level, over common rewrites.

    Without a common rewrite each method is over its own.
    """
    several = {m: curve for m, curve in methods.items() if len(curve.strengths) > 1 and curve.ids}
    shared = set.intersection(*(set(curve.ids) for curve in several.values())) if several else set()
    rows = []
    for method, whole in several.items():
        curve = whole.only([i for i in whole.ids if i in shared or not shared])
        known = {metric: curve.defined(metric) for metric in POOLED}
        parts, n_families = Parts.of(curve, known), len(set(curve.families))
        points = parts.points(np.ones((1, n_families)))
        drawn = parts.points(inference.resamples(n_families)) if n_families >= FEWEST else None
        for level in levels:
            values = {
                name: None if math.isnan(value) else float(value)
                for name, value in zip(POOLED[1:], at_efficacy(points, level)[0, 1:], strict=True)
            }
            bounds = None
            if drawn is not None and values["ifr"] is not None:
                bounds = inference.percentiles(at_efficacy(drawn, level)[:, POOLED.index("ifr")])
            n = int(known["ifr"].sum())
            rows.append(
                Matched(method, level, **values, ifr_interval=bounds, n=n, n_families=n_families)
            )
    return rows


def differences(
    by_seed: Sequence[Mapping[str, Curve]],
    pairs: Sequence[tuple[str, str]],
    *,
    level: float | None = None,
) -> list[Difference]:
    """The differences of POOLED (first minus second), as they are or at an efficacy.

    Each metric is over the rewrites for which both methods have it. p is not adjusted yet
    (`adjusted`).

    Args:
        by_seed: the methods' curves, one mapping a seed of the same model.
    """
    rows = []
    for first, second in pairs:
        both = [
            pair
            for seed in by_seed
            if {first, second} <= {*seed}
            and (pair := _pair(seed[first], seed[second], level)) is not None
        ]
        if not both:
            continue
        gaps = np.array([pair.gap for pair in both])
        for place, metric in enumerate(POOLED):
            if np.isnan(gaps[:, place]).any() or (level is not None and metric == "efficacy"):
                continue
            interval, error, families = both[0].spread(place)
            rows.append(
                Difference(
                    first,
                    second,
                    metric,
                    level,
                    float(gaps[:, place].mean()),
                    interval,
                    n=int(both[0].known[metric].sum()),
                    families=families,
                    p=both[0].p(place),
                    detectable=inference.POWERED * error if math.isfinite(error) else None,
                    flips=None if level is not None else both[0].flips(metric),
                    seeds=len(both),
                    spread=float(np.std(gaps[:, place], ddof=1)) if len(both) > 1 else None,
                )
            )
    return rows


@dataclass(frozen=True)
class _Pair:
    """Two methods over the same rewrites, as they are or at an efficacy.

    Attributes:
        known: of each metric, the rewrites that have it by both methods at every strength.
    """

    a: Curve
    b: Curve
    level: float | None
    known: Mapping[str, np.ndarray]

    @cached_property
    def parts(self) -> tuple[Parts, Parts]:
        return Parts.of(self.a, self.known), Parts.of(self.b, self.known)

    def _gaps(self, points: Points, others: Points) -> np.ndarray:
        if self.level is None:
            return points[:, 0] - others[:, 0]
        return at_efficacy(points, self.level) - at_efficacy(others, self.level)

    def weighted(self, weights: np.ndarray) -> np.ndarray:
        """The differences where each family counts as often as a draw says: [draws, 5]."""
        return self._gaps(*(each.points(weights) for each in self.parts))

    @cached_property
    def gap(self) -> np.ndarray:
        return self.weighted(np.ones((1, len(self.parts[0].over))))[0]

    @cached_property
    def _resampled(self) -> np.ndarray:
        return self.weighted(inference.resamples(len(self.parts[0].over)))

    @cached_property
    def _exchanged(self) -> tuple[np.ndarray, bool]:
        one, other = self.parts
        swapped, exact = inference.exchanges(len(one.over))
        return self._gaps(one.exchanged(other, swapped), other.exchanged(one, swapped)), exact

    def p(self, place: int) -> float:
        gaps, exact = self._exchanged
        found = gaps[:, place]
        # A draw that misses the efficacy says nothing against chance.
        found = np.where(np.isnan(found), math.inf, found)
        return inference.p_value(self.gap[place], found, exact)

    def spread(self, place: int) -> tuple[tuple[float, float] | None, float, int]:
        """Interval, standard error and number of families of a metric's difference.

        Over the same facts and chains IFR is a mean weighted by chains; only where the weights of
        the two methods differ, and at an efficacy, the families are resampled.
        """
        one, other = self.parts
        weight = one.under[:, 0, place]
        here = weight > 0
        families = int(here.sum())
        if self.level is None and np.allclose(weight, other.under[:, 0, place]):
            sums = (one.over - other.over)[here, 0, place]
            _, error, bounds = inference.cluster_t(sums, weight[here])
        else:
            drawn = self._resampled[:, place]
            bounds, error = inference.percentiles(drawn), math.inf
            if bounds is not None and families > 1:
                error = float(np.nanstd(drawn))
        return bounds if families >= FEWEST else None, error, families

    def flips(self, metric: str) -> Flips:
        good = [_good(curve.terms[0][self.known[metric]], metric) for curve in (self.a, self.b)]
        gained, lost = int((good[0] & ~good[1]).sum()), int((good[1] & ~good[0]).sum())
        return Flips(gained, lost, inference.mcnemar(gained, lost))


def _good(rows: np.ndarray, metric: str) -> np.ndarray:
    """For each rewrite that has the metric, True if it is good in it."""
    if metric in RATIOS:
        return rows[:, RATIOS[metric]] / rows[:, WEIGHT] < GOOD[metric]
    return rows[:, MEANS[metric]] >= GOOD[metric]


def _pair(first: Curve, second: Curve, level: float | None) -> _Pair | None:
    """Both methods over their common rewrites; None without one, or without the whole edit."""
    common = [i for i in first.ids if i in set(second.ids)]
    if not common:
        return None
    a, b = first.only(common), second.only(common)
    if level is None:
        if 1.0 not in a.strengths or 1.0 not in b.strengths:
            return None
        a, b = a.whole, b.whole
    return _Pair(a, b, level, {name: a.defined(name) & b.defined(name) for name in POOLED})


def adjusted(rows: Sequence[Difference]) -> list[Difference]:
    """Return the differences with p adjusted by Holm over all of them."""
    p = inference.holm([row.p for row in rows])
    whole = len(rows) * min((inference.least_p(row.families) for row in rows), default=0.0)
    return [
        replace(
            row,
            p_adjusted=each,
            comparisons=len(rows),
            least_p=min(1.0, max(whole, inference.least_p(row.families))),
        )
        for row, each in zip(rows, p, strict=True)
    ]


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


# The best method of a comparison against each other one: paired differences over common rewrites.
#
# A table of means hides how far two methods differ on the same rewrite. The best method is the
# first by `service.reports.verdict.rank`: one that installs nothing, or breaks the model, is no
# rival. Its difference to another method is taken over the rewrites that both have. It exceeds
# chance where its p, adjusted for all comparisons, is below .05.
#
# Runs that differ in more than the method are no pairs: with another seed, data set, or options
# their difference is none of the methods. They are refused, by name.


class PairedOut(BaseModel):
    """The difference of a method from the best one in a metric, over their common rewrites."""

    model: str = Field(description="The edited model.")
    best: str = Field(
        description="Method of lowest IFR among those that took and kept the model; where none kept"
        " it, the one of least damage."
    )
    method: str = Field(description="The method that is compared with it.")
    metric: str = Field(description="Name of the metric.")
    value: float = Field(description="The method's value minus that of the best method.")
    low: float | None = Field(
        description="Lower bound of the 95 % interval over families of rewrites; null below three."
    )
    high: float | None = Field(description="Upper bound of that interval.")
    rewrites: int = Field(description="Rewrites that have the metric by both methods.")
    families: int = Field(description="Families of these rewrites.")
    p: float = Field(description="Of the exchange of the two methods by families, two-sided.")
    p_adjusted: float = Field(description="By Holm, over all comparisons of the answer.")
    comparisons: int = Field(description="Number of these comparisons.")
    exceeds_chance: bool | None = Field(
        description="True if the adjusted p is below .05; null where so few families cannot get"
        " there."
    )
    detectable: float | None = Field(
        description="Smallest difference that would have been found with a power of .8."
    )
    gained: int = Field(
        description="Rewrites that are good in the metric by this method and not by the best:"
        " efficacy from .5, IFR below .2, the others from .9."
    )
    lost: int = Field(description="Rewrites that are good by the best method and not by this one.")
    p_flips: float = Field(description="McNemar's exact p of these flips; ignores families.")
    answer: str = Field(description="Whether the difference is real, in words.")


@dataclass(frozen=True, slots=True)
class Against:
    """The best method of one model, and how the others differ from it.

    Attributes:
        rows: other method minus `best`, by method in the order of their IFR, those that did not
            take last, and by metric.
        refused: sentences on methods that are not paired, and why.
        like: a score by `best`, whose request further ones repeat.
        kept: False if `best` broke the model, as all that took did: it did the least damage.
    """

    model: str
    best: str
    rows: tuple[Difference, ...]
    refused: tuple[str, ...] = ()
    like: Score | None = None
    kept: bool = True

    @property
    def why(self) -> str:
        """The reason to compare with the best one, behind its name."""
        if self.kept:
            return "leaves least of the old fact of the methods that took and kept the model"
        return "did the least damage, as no method kept the model"

    @property
    def methods(self) -> list[str]:
        """The methods that are compared, the best one first."""
        return [self.best, *dict.fromkeys(row.first for row in self.rows)]

    @property
    def command(self) -> str:
        """The command that scores the methods on all facts of the graph; empty where unknown."""
        if self.like is None:
            return ""
        named = [word for method in self.methods for word in ("-m", method)]
        return shlex.join(["thinkeval", "sweep", "-g", self.like.dataset, *named])

    def of(self, metric: str) -> list[Difference]:
        """The differences in one metric, one a method."""
        return [row for row in self.rows if row.metric == metric]


def paired(
    found: Comparison, measure: Measure, best: str | None = None, metrics: Sequence[str] = POOLED
) -> list[Against]:
    """The best method of each model against the others, in the order of the scores.

    A model without two methods of this measure, or with none that took, has no entry, nor has one
    whose IFR is undefined. Of several scores of one rewrite by one method the last counts.

    Args:
        best: the method to compare with; default: the first by rank.
        metrics: those that are compared, and that p is adjusted over.
    """
    models: dict[str, dict[str, dict[str, Score]]] = defaultdict(lambda: defaultdict(dict))
    for score in found.scores:
        if measure in score.measures:
            models[score.model][score.method][score.rewrite] = score
    every = [
        replace(against, rows=tuple(row for row in against.rows if row.metric in metrics))
        for model, methods in models.items()
        if (against := _against(model, methods, measure, found.families, best)) is not None
    ]
    rows = iter(adjusted([row for against in every for row in against.rows]))
    return [replace(each, rows=tuple(next(rows) for _ in each.rows)) for each in every]


def _against(
    model: str,
    methods: Mapping[str, Mapping[str, Score]],
    measure: Measure,
    families: Mapping[str, str],
    best: str | None,
) -> Against | None:
    curves = {
        method: curve_of(list(of.values()), measure, families) for method, of in methods.items()
    }
    whole = {method: pooled(curve.terms[0]) for method, curve in curves.items()}
    places = {
        method: place_of_method(list(of.values()), measure, whole[method][1])
        for method, of in methods.items()
    }
    ranked = sorted(curves, key=lambda name: (places[name], name))
    if len(curves) < 2 or (best is not None and best not in curves):
        return None
    if best is None:
        best = ranked[0]
        if places[best][0] == DID_NOT_TAKE or math.isnan(whole[best][1]):
            return None
    others = [method for method in ranked if method != best]
    reasons = {method: _unlike(methods[method], methods[best], measure) for method in others}
    pairs = [(method, best) for method in others if not reasons[method]]
    refused = tuple(
        f"{method} is not paired with {best}: {reason}."
        for method, reason in reasons.items()
        if reason
    )
    like = list(methods[best].values())[-1]
    rows = tuple(differences([curves], pairs))
    return Against(model, best, rows, refused, like, places[best][0] == 0)


def _unlike(one: Mapping[str, Score], other: Mapping[str, Score], measure: Measure) -> str:
    """Name differences of two runs beside the method, on common rewrites; empty if none."""
    found = Counter(
        each
        for rewrite in one
        if rewrite in other
        for each in unlike.differences(one[rewrite], other[rewrite], measure)
    )
    return "; ".join(f"{what} ({pluralize(n, 'rewrite')})" for what, n in found.items())


def curve_of(scores: Sequence[Score], measure: str, families: Mapping[str, str]) -> Curve:
    """The scores of one method on one model, one a rewrite, as numbers."""
    ids = tuple(score.rewrite for score in scores)
    of = tuple(families.get(score.edit, score.rewrite) for score in scores)
    return Curve((1.0,), ids, of, terms(scores, measure)[None])


def sentences(found: Sequence[Against], metric: str = "ifr", *, brief: bool = False) -> list[str]:
    """Per model, the best method and how the others differ from it.

    Args:
        brief: only which differences exceed chance, for the caption of a figure.
    """
    return [_sentence(against, metric, len(found) > 1, brief) for against in found]


def notes(found: Comparison, measure: Measure) -> tuple[str, ...]:
    """Return the notes in a caption of a figure of methods: warnings, then the best."""
    return (*found.warnings, *sentences(paired(found, measure), brief=True))


def _sentence(against: Against, metric: str, named: bool, brief: bool) -> str:
    rows = against.of(metric)
    where = f"{against.model}: " if named else ""
    start = f"{where}{against.best} {against.why}."
    end = "".join(f" {each}" for each in against.refused)
    if not rows:
        return start + end
    sizes = {row.n for row in rows}
    over = pluralize(sizes.pop(), "common rewrite") if len(sizes) == 1 else "the rewrites both have"
    parts = ", ".join(f"{row.first} {difference_text(row)}" for row in rows)
    listed = f" IFR of the others minus its own, paired over {over}: {parts}." * (not brief)
    return f"{start}{listed} {verdict(rows, '' if brief else against.command)}{end}"


def fewest(comparisons: int) -> int:
    """Return how many unrelated facts can show a difference, where so many are compared."""
    families = range(2, inference.EXACT + 1)
    enough = (n for n in families if comparisons * inference.least_p(n) <= inference.LEVEL)
    return next(enough, inference.EXACT + 1)


def further(rows: Sequence[Difference]) -> int:
    """Return how many unrelated facts are missing to show a difference; 0 where none is."""
    unknown = [row for row in rows if row.beyond_rewrites is None]
    return max((fewest(row.comparisons) - row.families for row in unknown), default=0)


def verdict(rows: Sequence[Difference], command: str = "") -> str:
    """Return the differences that exceed chance, in words, or why that is unknown.

    Args:
        command: scores more facts, where too few are scored.
    """
    counted = [row.first for row in rows if row.beyond_rewrites]
    within = [row for row in rows if row.beyond_rewrites is False]
    unknown = [row for row in rows if row.beyond_rewrites is None]
    seen = max((row.detectable or 0.0 for row in within if not row.equal), default=0.0)
    missed = f" (could have seen ≥ {short(seen)})" * bool(seen)
    if not rows:
        return ""
    parts = [f"The difference exceeds chance for {', '.join(counted)}"] if counted else []
    if counted and not within and not unknown:
        return "The difference to every other method exceeds chance."
    if within and not counted and not unknown:
        return f"No difference to another method exceeds chance{missed}."
    if within:
        named = f"not for {', '.join(row.first for row in within)}{missed}"
        parts.append(named if counted else named.replace("not for", "No difference from chance:"))
    if unknown and parts:
        parts.append(f"unknown for {', '.join(row.first for row in unknown)}")
    said = f"{'; '.join(parts)}. " if parts else ""
    return said + (_too_few(unknown, command) if unknown else "")


def _too_few(unknown: Sequence[Difference], command: str) -> str:
    """Return that so few facts cannot show a difference, and how many can."""
    families = max(row.families for row in unknown)
    alone = "One fact" if max(row.n for row in unknown) == 1 else "Facts that are all related"
    have = alone if families == 1 else f"{families} unrelated facts"
    needed = max(fewest(row.comparisons) for row in unknown)
    text = f"{have} cannot show which method is better. Score {needed} or more unrelated facts"
    return f"{text}: `{command}`" if command else f"{text}."


def difference_text(row: Difference) -> str:
    """A difference, its 95 % interval if there is one, and p: `+0.120 [0.05, 0.21] (p .012)`.

    p is adjusted for all comparisons.
    """
    low, high = row.interval or (None, None)
    return f"{signed_interval(row.value, low, high)} (p {short(row.p_adjusted)})"


def _flips(found: Flips | None) -> str:
    return f"{found.gained}:{found.lost} (p {short(found.p)})" if found else UNDEFINED


COLUMNS: list[Column[Difference]] = [
    Column("method", lambda row: row.first, whole=True),
    Column("metric", lambda row: row.metric),
    Column("difference", lambda row: row.value, signed),
    Column("95 % interval", lambda row: row.interval, interval),
    Column("p", lambda row: row.p, short),
    Column("p adjusted", lambda row: row.p_adjusted, short),
    Column("flips", lambda row: row.flips, _flips, optional=2),
    Column("rewrites", lambda row: row.n, optional=1),
    Column("families", lambda row: row.families, optional=1),
    Column("real?", lambda row: row.answer),
]
SHOWN = 15
"""Rows of a table up to which it has all metrics; beyond, IFR alone."""


def table(against: Against) -> Table[Difference]:
    """The differences of one model's methods to the best one, or to another that was chosen."""
    rows = list(against.rows)
    if len(rows) > SHOWN:
        rows = against.of("ifr") or rows
    rules = (
        "Over the rewrites that both have; 95 % intervals over families of them. p: exchange of"
        f" the two in whole families; adjusted by Holm"
        f" over {pluralize(max((row.comparisons for row in rows), default=0), 'comparison')}."
        f" Flips: rewrites that are good only by the method, and only by {against.best} (McNemar)."
    )
    said = [verdict(against.of("ifr"), against.command), *against.refused]
    if len(rows) < len(against.rows):
        said.append("The other metrics are in --json.")
    title = f"Is the difference real? Each method minus {against.best}, on {against.model}"
    note = " ".join(each for each in said if each)
    return Table("paired", title, COLUMNS, rows, note, rules=rules)


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
            families=row.families,
            p=row.p,
            p_adjusted=row.p_adjusted,
            comparisons=row.comparisons,
            exceeds_chance=row.beyond_rewrites,
            detectable=row.detectable,
            gained=row.flips.gained,
            lost=row.flips.lost,
            p_flips=row.flips.p,
            answer=row.answer,
        )
        for against in found
        for row in against.rows
        if row.flips is not None
    ]


def by_row(rows: Iterable[tuple[str, str]], found: Sequence[Against]) -> list[list[dict[str, Any]]]:
    """The differences of each (model, method) to the best one, JSON-able; of the best, none."""
    differences = [each.model_dump() for each in out(found)]
    return [
        [each for each in differences if (each["model"], each["method"]) == row] for row in rows
    ]
