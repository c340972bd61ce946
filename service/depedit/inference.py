"""Conclusions of a set's rule from facts that a model was given or says (`depedit/derive`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinkeval.loaders.rule_records import Rule
from thinkeval.service.depedit.questions import Statement

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What follows, and from which facts.

    Attributes:
        source: place of the new fact among those that were given.
        premises: subject and relation of both premises, the rule's first one first.
    """

    source: int
    subject: str
    relation: str
    object: str
    premises: tuple[Key, Key]

    @property
    def key(self) -> Key:
        """What it is about."""
        return (self.subject, self.relation)


def derived(
    db: Database, rule: Rule, new: Sequence[Statement], known: Sequence[Statement]
) -> list[Conclusion]:
    """All that follows from a new fact with a known one, in a stable order."""
    from thinkeval.cypher import rows

    relation1, relation2, conclusion = rule.relations
    inverse1, inverse2 = rule.inverse
    found = db.read(
        rows.DeriveRow,
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
    """All that follows from the new facts, round by round, until a round says nothing new.

    A conclusion of a round is a new fact of the next one, in place of what was known of the same
    subject and relation; what was decided in a round, or given as new, stands. So each round adds
    keys that no round before had, and as subjects are names of the facts, it ends.
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
            break  # what follows is no premise
        new = [
            {"subject": one.subject, "relation": one.relation, "object": one.object}
            for one in fresh
        ]
        over = {one.key for one in fresh}
        known = [f for f in known if (f["subject"], f["relation"]) not in over] + new
    return found


def decided(conclusions: Sequence[Conclusion]) -> dict[Key, Conclusion]:
    """One conclusion a subject and relation: the object that most proofs give.

    Of objects with equally many proofs, that of the first proof; proofs are in the order of
    `derived`. A proof counts once, whichever of its premises is the new one.
    """
    proofs: dict[Key, dict[str, dict[tuple[Key, Key], Conclusion]]] = {}
    for one in conclusions:
        by_object = proofs.setdefault(one.key, {})
        by_object.setdefault(one.object, {}).setdefault(one.premises, one)
    return {
        key: next(iter(max(by_object.values(), key=len).values()))
        for key, by_object in proofs.items()
    }
