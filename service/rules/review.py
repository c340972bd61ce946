"""Ask people how plausible rules are, and keep those that two of them find plausible.

DepEdit, section 4.1, step 5, and appendix A.3: what is judged is the step from premises to
conclusion, not whether either is true by itself.

How far annotators agree: raw agreement and Gwet's AC1, each with what it was taken over.

Gwet, "Computing inter-rater reliability and its variance in the presence of high agreement"
(2008), for any number of raters. Of one item with r ratings, r_k of them k, the agreement is
Σ_k r_k (r_k − 1) / (r (r − 1)); p_a is its mean over items. π_k is the mean of r_k / r, the
agreement by chance p_e = Σ_k π_k (1 − π_k) / (q − 1) over q categories, and
AC1 = (p_a − p_e) / (1 − p_e). Items with fewer than two ratings are left out of all of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, get_args

from thinkeval.cypher import rows
from thinkeval.service.errors import UsageError
from thinkeval.service.rules.schemas import AgreementOut, Label
from thinkeval.service.rules.store import StoredRule, rule_of, rules_of

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database

LABELS: dict[Label, str] = {
    "a": "must be true",
    "b": "likely to be true",
    "c": "unlikely to be true",
    "d": "must be false",
    "e": "the premises are of no use for the conclusion",
}
"""Given the premises, the conclusion …"""
PLAUSIBLE: tuple[Label, ...] = ("a", "b")
NEEDED = 2
"""Labels of different people that decide about a rule; cypher/rules/label_rule.cypher decides."""


def label(db: Database, dataset: str, rule: str, annotator: str, said: str) -> StoredRule:
    """Store what somebody says of a rule, in place of what they said before; the rule as it is now.

    Raises:
        NotFoundError: there is no such data set or rule.
        UsageError: there is no such label, or the annotator has no name.
    """
    if said not in get_args(Label):
        meanings = "; ".join(f"{key}: {text}" for key, text in LABELS.items())
        raise UsageError(f"{said!r} is no label.", remedy=f"Given the premises, {meanings}.")
    who = annotator.strip()
    if not who or len(who) > 100 or not who.isprintable():
        raise UsageError(
            f"{annotator!r} is no name of an annotator.",
            remedy="Give one of 1 to 100 letters: it tells the two annotators apart.",
        )
    found = rule_of(db, dataset, rule)
    db.write(rows.LabelRuleRow, dataset=dataset, rule=found.id, annotator=who, label=said)
    return rule_of(db, dataset, found.id)


def waiting(db: Database, dataset: str, annotator: str | None = None) -> list[StoredRule]:
    """The candidates that lack a label: of this annotator, or of anybody.

    Raises:
        NotFoundError: there is no such data set.
    """
    candidates = rules_of(db, dataset, status=("candidate",))
    if annotator is None:
        return [rule for rule in candidates if len(rule.labels) < NEEDED]
    return [rule for rule in candidates if annotator.strip() not in dict(rule.labels)]


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
