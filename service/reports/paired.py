"""The best method of a comparison against each other one: paired differences over common rewrites.

A table of means hides how far two methods differ on the same rewrite. The best method is the one of
lowest IFR among those whose efficacy exceeds one half: one that installs nothing is no rival. Its
difference to another method is taken over the rewrites that both have, and its 95 % interval over
families of them, drawn anew for both methods at once (`service.reports.matched`). A difference
exceeds chance where that interval leaves out 0.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from ..formatting import pluralize, signed_interval
from ..schemas import Score
from .comparison import COUNTED, Comparison
from .matched import Curve, Difference, differences
from .pooling import pooled, terms

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
        method: _curve(list(of.values()), measure, families) for method, of in methods.items()
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


def _curve(scores: Sequence[Score], measure: str, families: Mapping[str, str]) -> Curve:
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
