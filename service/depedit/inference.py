"""Conclusions of a set's rule from edited facts and a model's answers (`depedit/derive`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...loaders.rule_records import Rule
from .questions import Statement

if TYPE_CHECKING:
    from ...cypher.run import Database

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Conclusion:
    """A conclusion and its premises.

    Attributes:
        source: index of the new fact.
        premises: subject and relation of both premises, in the rule's order.
    """

    source: int
    subject: str
    relation: str
    object: str
    premises: tuple[Key, Key]

    @property
    def key(self) -> Key:
        """Its subject and relation."""
        return (self.subject, self.relation)


def derived(
    db: Database, rule: Rule, new: Sequence[Statement], known: Sequence[Statement]
) -> list[Conclusion]:
    """All conclusions from a new fact and a known one, in a stable order."""
    from ...cypher import rows

    relation1, relation2 = (atom.relation for atom in rule.pair)
    conclusion = rule.conclusion.relation
    inverse1, inverse2 = rule.inverse
    found = db.read(
        rows.DeriveRow,
        "depedit/derive",
        new=list(new),
        known=list(known),
        relation1=relation1,
        relation2=relation2,
        inverse1=inverse1,
        inverse2=inverse2,
    )
    return [
        Conclusion(
            row.fact,
            row.subject,
            conclusion,
            row.object,
            ((row.first, relation1), (row.second, relation2)),
        )
        for row in found
    ]


def closed(
    db: Database, rule: Rule, new: Sequence[Statement], known: Sequence[Statement]
) -> list[Conclusion]:
    """All conclusions from the new facts, round by round, to the fixpoint.

    A conclusion of a round is a new fact of the next one, and replaces the known fact of the same
    subject and relation; new facts and conclusions of earlier rounds are never replaced. So each
    round adds new keys, and as subjects are names of the facts, the rounds terminate.
    """
    taken = {(fact["subject"], fact["relation"]) for fact in new}
    found: list[Conclusion] = []
    while new:
        fresh = [
            one for one in decided(derived(db, rule, new, known)).values() if one.key not in taken
        ]
        found += fresh
        taken |= {one.key for one in fresh}
        if rule.relations[2] not in rule.relations[:2]:
            break  # conclusions are no premises
        new = [
            {"subject": one.subject, "relation": one.relation, "object": one.object}
            for one in fresh
        ]
        over = {one.key for one in fresh}
        known = [f for f in known if (f["subject"], f["relation"]) not in over] + new
    return found


def decided(conclusions: Sequence[Conclusion]) -> dict[Key, Conclusion]:
    """One conclusion for each subject and relation: the object with most proofs.

    Of objects with equally many proofs, that of the first proof, in the order of `derived`. A proof
    counts once, whichever of its premises is the new one.
    """
    proofs: dict[Key, dict[str, dict[tuple[Key, Key], Conclusion]]] = {}
    for one in conclusions:
        by_object = proofs.setdefault(one.key, {})
        by_object.setdefault(one.object, {}).setdefault(one.premises, one)
    return {
        key: next(iter(max(by_object.values(), key=len).values()))
        for key, by_object in proofs.items()
    }
