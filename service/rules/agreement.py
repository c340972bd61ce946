"""How far annotators agree: raw agreement and Gwet's AC1, each with what it was taken over.

Gwet, "Computing inter-rater reliability and its variance in the presence of high agreement"
(2008), for any number of raters. Of one item with r ratings, r_k of them k, the agreement is
Σ_k r_k (r_k − 1) / (r (r − 1)); p_a is its mean over items. π_k is the mean of r_k / r, the
agreement by chance p_e = Σ_k π_k (1 − π_k) / (q − 1) over q categories, and
AC1 = (p_a − p_e) / (1 − p_e). Items with fewer than two ratings are left out of all of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from thinkeval.service.rules.review import LABELS, PLAUSIBLE
from thinkeval.service.rules.schemas_rules import AgreementOut
from thinkeval.service.rules.store import StoredRule


def raw(items: Iterable[Sequence[str]]) -> tuple[float | None, int]:
    """Mean agreement of two ratings of one item, and the number of items; None over none."""
    shares = [
        sum(n * (n - 1) for n in Counter(ratings).values()) / (len(ratings) * (len(ratings) - 1))
        for ratings in items
        if len(ratings) > 1
    ]
    return (sum(shares) / len(shares) if shares else None), len(shares)


def ac1(items: Iterable[Sequence[str]], categories: Sequence[str]) -> float | None:
    """Gwet's AC1 over items that have two ratings or more; None over none.

    Raises:
        ValueError: there are fewer than two categories.
    """
    if len(categories) < 2:
        raise ValueError("agreement needs two categories")
    rated = [ratings for ratings in items if len(ratings) > 1]
    agreed, n = raw(rated)
    if agreed is None:
        return None
    prevalence = [
        sum(ratings.count(category) / len(ratings) for ratings in rated) / n
        for category in categories
    ]
    by_chance = sum(p * (1 - p) for p in prevalence) / (len(categories) - 1)
    return (agreed - by_chance) / (1 - by_chance)


def agreement(rules: Iterable[StoredRule]) -> AgreementOut:
    """Agreement on the labels a to e, and on whether a rule is plausible (a or b) or not."""
    labels = [[said for _, said in rule.labels] for rule in rules]
    plausible = [["yes" if said in PLAUSIBLE else "no" for said in each] for each in labels]
    value, n = raw(labels)
    return AgreementOut(
        n=n,
        raw=value,
        ac1=ac1(labels, list(LABELS)),
        raw_plausible=raw(plausible)[0],
        ac1_plausible=ac1(plausible, ["yes", "no"]),
    )
