"""Statistics of counted outcomes: agreement of annotators, and intervals of a fraction."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from pydantic import BaseModel, Field

# Agreement of annotators: raw pairwise, raw unanimous, Gwet's AC1, Krippendorff's alpha.
#
# Gwet, "Computing inter-rater reliability and its variance in the presence of high agreement"
# (2008), for any number of raters. Of one item with r ratings, r_k of them k, the agreement is
# Σ_k r_k (r_k − 1) / (r (r − 1)); p_a is its mean over items. π_k is the mean of r_k / r, the
# agreement by chance p_e = Σ_k π_k (1 − π_k) / (q − 1) over q categories, and AC1 = (p_a − p_e) /
# (1 − p_e). Items with fewer than two ratings are left out.
#
# As p_e is never negative, AC1 is never above p_a. Of two annotators p_a is also the fraction of
# items on which all agree; of more it is at least that fraction.
#
# Krippendorff, "Content Analysis" (2004), chapter 11: alpha with the nominal difference, by the
# package `krippendorff`; undefined where all ratings are equal.


class Agreement(BaseModel):
    """Agreement over the items with two ratings or more; null where undefined."""

    n: int = Field(description="Items with two ratings or more.")
    pairwise: float | None = Field(description="Mean fraction of pairs of equal ratings.")
    unanimous: float | None = Field(description="Fraction of items on which all agree.")
    ac1: float | None = Field(description="Gwet's AC1.")
    alpha: float | None = Field(description="Krippendorff's alpha, nominal.")


def pairwise(items: Iterable[Sequence[str]]) -> tuple[float | None, int]:
    """Mean agreement of two ratings of one item (None without items), and the number of items."""
    agreements = [
        sum(n * (n - 1) for n in Counter(ratings).values()) / (len(ratings) * (len(ratings) - 1))
        for ratings in items
        if len(ratings) > 1
    ]
    return (sum(agreements) / len(agreements) if agreements else None), len(agreements)


def unanimous(items: Iterable[Sequence[str]]) -> float | None:
    """Fraction of the items with two ratings or more whose ratings are all equal."""
    equal = [len(set(ratings)) == 1 for ratings in items if len(ratings) > 1]
    return sum(equal) / len(equal) if equal else None


def ac1(items: Iterable[Sequence[str]], categories: Sequence[str]) -> float | None:
    """Gwet's AC1 over items with two ratings or more; None without any.

    Raises:
        ValueError: fewer than two categories.
    """
    if len(categories) < 2:
        raise ValueError("agreement needs two categories")
    rated = [ratings for ratings in items if len(ratings) > 1]
    agreed, n = pairwise(rated)
    if agreed is None:
        return None
    prevalence = [
        sum(ratings.count(category) / len(ratings) for ratings in rated) / n
        for category in categories
    ]
    by_chance = sum(p * (1 - p) for p in prevalence) / (len(categories) - 1)
    return (agreed - by_chance) / (1 - by_chance)


def alpha(items: Iterable[Sequence[str]]) -> float | None:
    """Krippendorff's alpha, nominal; None without two ratings of an item, or if all are equal."""
    counts = [Counter(ratings) for ratings in items if len(ratings) > 1]
    values = sorted(set().union(*counts)) if counts else []
    if len(values) < 2:
        return None
    # Both are large, so they are imported at their first use.
    import krippendorff
    import numpy as np

    table = np.array([[count[value] for value in values] for count in counts])
    return float(krippendorff.alpha(value_counts=table, level_of_measurement="nominal"))


def agreement(items: Iterable[Sequence[str]], categories: Sequence[str]) -> Agreement:
    """All figures over items, each with the ratings that it has."""
    rated = [list(ratings) for ratings in items if len(ratings) > 1]
    agreed, n = pairwise(rated)
    return Agreement(
        n=n,
        pairwise=agreed,
        unanimous=unanimous(rated),
        ac1=ac1(rated, categories),
        alpha=alpha(rated),
    )


# Intervals of a fraction of counted outcomes.

Z95 = 1.959963984540054
"""97.5 % quantile of the standard normal distribution."""


def wilson(share: float, n: float, z: float = Z95) -> tuple[float, float]:
    """Wilson's score interval of a fraction of n independent outcomes; 95 % by default.

    Wilson, "Probable inference, the law of succession, and statistical inference" (1927). It stays
    within 0 and 1, and has a width at a fraction of 0 or 1 too: 0 of 10 gives 0 to .28.

    Args:
        n: number of outcomes, above 0; an effective one need not be whole.
    """
    spread = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    middle, scale = share + z * z / (2 * n), 1 + z * z / n
    # Rounding must not put an end beyond the fraction itself.
    low, high = (middle - spread) / scale, (middle + spread) / scale
    return max(0.0, min(share, low)), min(1.0, max(share, high))


def effective(counts: Sequence[int]) -> float:
    """Outcomes whose plain fraction varies as much as the mean of several fractions does.

    k fractions of n_i outcomes, weighed alike: k² / Σ 1/n_i, at most Σ n_i.
    """
    return len(counts) ** 2 / sum(1 / n for n in counts)
