"""Review of rules: plausibility labels of annotators, and their agreement.

DepEdit, section 4.1, step 5, and appendix A.3: a label judges the step from premises to conclusion,
not the truth of either by itself. A rule that two annotators label plausible is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, get_args

from ...cypher import rows
from ..base.errors import UsageError
from ..base.statistics import ac1, pairwise
from .schemas import AgreementOut, Label
from .store import StoredRule, rule_of, rules_of

if TYPE_CHECKING:
    from ...cypher.run import Database


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
"""Number of labels after which cypher/rules/label_rule.cypher decides a rule's status."""


def label(db: Database, dataset: str, rule: str, annotator: str, label: str) -> StoredRule:
    """Store an annotator's label of a rule, in place of an earlier one; the updated rule.

    Raises:
        NotFoundError: no such data set or rule.
        UsageError: no such label, or the annotator's name is invalid.
    """
    if label not in get_args(Label):
        meanings = "; ".join(f"{key}: {text}" for key, text in LABELS.items())
        raise UsageError(f"{label!r} is no label.", remedy=f"Given the premises, {meanings}.")
    name = annotator.strip()
    if not name or len(name) > 100 or not name.isprintable():
        raise UsageError(
            f"{annotator!r} is not a valid name of an annotator.",
            remedy="Give a name of 1 to 100 characters: it distinguishes the annotators.",
        )
    found = rule_of(db, dataset, rule)
    db.write(
        rows.LabelRuleRow,
        "rules/label_rule",
        dataset=dataset,
        rule=found.id,
        annotator=name,
        label=label,
    )
    return rule_of(db, dataset, found.id)


def waiting(db: Database, dataset: str, annotator: str | None = None) -> list[StoredRule]:
    """The candidates without a label of this annotator, or with fewer than two labels.

    Raises:
        NotFoundError: no such data set.
    """
    candidates = rules_of(db, dataset, status=("candidate",))
    if annotator is None:
        return [rule for rule in candidates if len(rule.labels) < NEEDED]
    return [rule for rule in candidates if annotator.strip() not in dict(rule.labels)]


def agreement(rules: Iterable[StoredRule]) -> AgreementOut:
    """Agreement on the labels a to e, and on plausible (a or b) against not plausible."""
    labels = [[label for _, label in rule.labels] for rule in rules]
    plausible = [["yes" if label in PLAUSIBLE else "no" for label in each] for each in labels]
    value, n = pairwise(labels)
    return AgreementOut(
        n=n,
        raw=value,
        ac1=ac1(labels, list(LABELS)),
        raw_plausible=pairwise(plausible)[0],
        ac1_plausible=ac1(plausible, ["yes", "no"]),
    )
