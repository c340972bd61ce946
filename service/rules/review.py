"""Ask people how plausible rules are, and keep those that two of them find plausible.

DepEdit, section 4.1, step 5, and appendix A.3: what is judged is the step from premises to
conclusion, not whether either is true by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from thinkeval.cypher import rows
from thinkeval.service.errors import UsageError
from thinkeval.service.rules.schemas_rules import Label
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
