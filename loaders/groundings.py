"""Groundings of one rule over a list of facts, in plain Python.

For knowledge sets of some dozens of facts; the queries of cypher/rules/ ground a stored graph.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .rule_records import Atom, Rule

Triple = tuple[str, str, str]
"""Subject, relation, object."""


@dataclass(frozen=True, slots=True)
class Grounding:
    """One or two facts and the conclusion that they entail.

    Attributes:
        second: None for a rule with one premise.
    """

    first: Triple
    second: Triple | None
    conclusion: Triple

    @property
    def pair(self) -> tuple[Triple, Triple]:
        """The two facts, by a rule with two premises."""
        assert self.second is not None
        return (self.first, self.second)


def groundings(
    rule: Rule,
    facts: Iterable[Triple],
    kinds: Mapping[str, str | None] | None = None,
) -> list[Grounding]:
    """Every grounding of the rule's premises, in the order of the facts.

    The variables bind different entities.

    Args:
        kinds: {entity: kind}; a variable with a kind then binds only entities of that kind. None:
            kinds are ignored.
    """
    listed = list(facts)
    if rule.second is None:
        alone = [(t, b) for t in listed if (b := bind(rule, rule.first, t, kinds)) is not None]
        relation = rule.conclusion.relation
        return [Grounding(t, None, (b["x"], relation, b["z"])) for t, b in alone]
    seconds: dict[str, list[tuple[str, Triple]]] = defaultdict(list)
    for triple in listed:
        if (bound := bind(rule, rule.second, triple, kinds)) is not None:
            seconds[bound["y"]].append((bound["z"], triple))
    found = []
    for triple in listed:
        if (bound := bind(rule, rule.first, triple, kinds)) is None:
            continue
        x, y = bound["x"], bound["y"]
        for z, second in seconds.get(y, ()):
            if z != x:
                found.append(Grounding(triple, second, (x, rule.conclusion.relation, z)))
    return found


def conclusions(found: Iterable[Grounding]) -> dict[tuple[str, str], set[str]]:
    """The entailed objects, by subject and relation."""
    derived: dict[tuple[str, str], set[str]] = {}
    for grounding in found:
        subject, relation, object_ = grounding.conclusion
        derived.setdefault((subject, relation), set()).add(object_)
    return derived


def bind(
    rule: Rule, atom: Atom, triple: Triple, kinds: Mapping[str, str | None] | None
) -> dict[str, str] | None:
    """Return the entities of a premise's variables if a fact matches it, kinds too; else None."""
    subject, relation, object_ = triple
    if relation != atom.relation or subject == object_:
        return None
    bound = {atom.subject: subject, atom.object: object_}
    if kinds is not None:
        for variable, entity in bound.items():
            wanted = rule.kind(variable)
            if wanted is not None and kinds.get(entity) != wanted:
                return None
    return bound
