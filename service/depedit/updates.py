"""Other objects for a set's facts, and what follows from them.

A new object is of the kind of the old one. It is taken from the set's own facts of that relation
where that is possible, so what follows can still be derived, and from those that no fact has yet
before others, so most objects stay in use. Never do two different objects follow for one question,
nor does something follow that a specific fact is about.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from thinkeval.loaders.groundings import Grounding, Triple, conclusions, groundings
from thinkeval.loaders.rule_records import Rule
from thinkeval.service.errors import UsageError

ATTEMPTS = 300
"""Draws before giving up: where each object may stand once, about one in eight comes out."""

Key = tuple[str, str]
"""Subject and relation of a fact."""


@dataclass(frozen=True, slots=True)
class Pool:
    """What new objects are drawn from.

    Attributes:
        kinds: {entity: its kind}.
        objects: {relation: all objects it has in the graph}, sorted.
    """

    kinds: Mapping[str, str | None]
    objects: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Change:
    """What an update does to implications: see `loaders.knowledge_sets.Copy`.

    Attributes:
        updated: groundings with another conclusion than before, then new ones.
    """

    updated: tuple[Grounding, ...]
    kept: tuple[Key, ...]
    lost: tuple[Key, ...]


def consistent(rule: Rule, facts: Sequence[Triple], kinds: Mapping[str, str | None]) -> bool:
    """Whether each (subject, relation) has one object, given or derived, and none has both."""
    derived = conclusions(groundings(rule, facts, kinds))
    given = {(subject, relation) for subject, relation, _ in facts}
    return all(len(objects) == 1 and key not in given for key, objects in derived.items())


def redraw(
    rule: Rule,
    facts: Sequence[Triple],
    changed: Collection[int],
    pool: Pool,
    rng: random.Random,
    *,
    follow: int | None = None,
) -> list[Triple]:
    """The facts, of which those at the indices `changed` have another object each.

    Args:
        follow: how many implications the facts must have afterwards, each with premises of its
            own; None for any number.

    Raises:
        UsageError: no such objects were found.
    """
    for within in (True, False):
        choices = {i: _choices(facts, i, pool, within=within) for i in sorted(changed)}
        if not all(choices.values()):
            continue
        for _ in range(ATTEMPTS):
            drawn = _attempt(rule, facts, choices, pool.kinds, rng)
            if drawn is None:
                continue
            if follow is None or _apart(groundings(rule, drawn, pool.kinds)) == follow:
                return drawn
    raise UsageError(
        f"No other objects were found for {len(changed)} of {len(facts)} facts so that one thing"
        f" follows for each question ({rule.text()}).",
        remedy="Update fewer facts, or take a graph with more entities of these kinds.",
    )


def what_changes(rule: Rule, before: Mapping[Key, str], after: Sequence[Grounding]) -> Change:
    """Compare what followed with what follows now.

    Args:
        before: {key: object} of the implications, in the set's order.
    """
    now: dict[Key, Grounding] = {}
    for grounding in after:
        now.setdefault(grounding.conclusion[:2], grounding)
    held = {key: now[key] for key in before if key in now}
    changed = [g for key, g in held.items() if g.conclusion[2] != before[key]]
    new = [g for key, g in now.items() if key not in before]
    return Change(
        updated=(*changed, *new),
        kept=tuple(key for key, g in held.items() if g.conclusion[2] == before[key]),
        lost=tuple(key for key in before if key not in now),
    )


def _apart(found: Sequence[Grounding]) -> int | None:
    """How many conclusions there are, if each has one grounding with premises of its own."""
    premises = [fact for g in found for fact in (g.first, g.second)]
    alone = len(conclusions(found)) == len(found) and len(set(premises)) == len(premises)
    return len(found) if alone else None


def _choices(facts: Sequence[Triple], index: int, pool: Pool, *, within: bool) -> list[str]:
    """The objects that a fact may get: of the set, or of the whole graph."""
    subject, relation, old = facts[index]
    if within:
        objects = sorted({o for _, r, o in facts if r == relation})
    else:
        objects = list(pool.objects.get(relation, ()))
    kind = pool.kinds.get(old)
    return [o for o in objects if o not in (old, subject) and pool.kinds.get(o) == kind]


def _attempt(
    rule: Rule,
    facts: Sequence[Triple],
    choices: Mapping[int, Sequence[str]],
    kinds: Mapping[str, str | None],
    rng: random.Random,
) -> list[Triple] | None:
    """One draw, fact by fact; None where a fact finds no object left."""
    drawn: dict[int, Triple] = {i: f for i, f in enumerate(facts) if i not in choices}
    # How often each object may stand again before it stands more often than it did.
    free = Counter((facts[i][1], facts[i][2]) for i in choices)
    order = list(choices)
    rng.shuffle(order)
    for index in order:
        subject, relation, _ = facts[index]
        objects = rng.sample(list(choices[index]), len(choices[index]))
        for object_ in sorted(objects, key=lambda o, r=relation: free[r, o] <= 0):
            triple = (subject, relation, object_)
            if consistent(rule, [*drawn.values(), triple], kinds):
                drawn[index] = triple
                free[relation, object_] -= 1
                break
        else:
            return None
    return [drawn[i] for i in range(len(facts))]
