"""Updated copies of a set: other objects for its facts, and the changed conclusions.

A new object has the kind of the old one. If possible it is an object of the set's own facts of that
relation, so that conclusions can still be derived, and one that no updated fact has yet, so that
most objects remain in use. No question has two conclusions with different objects, and no
conclusion has the subject and relation of a specific fact.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ...loaders.groundings import Grounding, Triple, conclusions, groundings
from ...loaders.rule_records import Rule
from ..errors import UsageError

ATTEMPTS = 300
"""Maximum number of draws: if each object may be used once, about one in eight succeeds."""

Key = tuple[str, str]
"""Subject and relation of a fact."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Source of new objects.

    Attributes:
        kinds: {entity: its kind}.
        objects: {relation: all objects it has in the graph}, sorted.
    """

    kinds: Mapping[str, str | None]
    objects: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Change:
    """Effect of an update on implications: see `loaders.knowledge_sets.Copy`.

    Attributes:
        updated: groundings with a changed conclusion, then new ones.
    """

    updated: tuple[Grounding, ...]
    kept: tuple[Key, ...]
    lost: tuple[Key, ...]


def consistent(rule: Rule, facts: Sequence[Triple], kinds: Mapping[str, str | None]) -> bool:
    """Return True if each (subject, relation) has one object, stated or derived."""
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
    """The facts, with other objects at the indices `changed`.

    Args:
        follow: required number of implications afterwards, with disjoint premises; None for any.

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
        f"No other objects were found for {len(changed)} of {len(facts)} facts so that one answer"
        f" follows for each question ({rule.text()}).",
        remedy="Update fewer facts, or use a graph with more entities of these kinds.",
    )


def what_changes(rule: Rule, before: Mapping[Key, str], after: Sequence[Grounding]) -> Change:
    """Compare the conclusions before and after an update.

    Args:
        before: {key: object} of the implications, in the set's order.
    """
    now: dict[Key, Grounding] = {}
    for grounding in after:
        now.setdefault(grounding.conclusion[:2], grounding)
    remaining = {key: now[key] for key in before if key in now}
    changed = [g for key, g in remaining.items() if g.conclusion[2] != before[key]]
    new = [g for key, g in now.items() if key not in before]
    return Change(
        updated=(*changed, *new),
        kept=tuple(key for key, g in remaining.items() if g.conclusion[2] == before[key]),
        lost=tuple(key for key in before if key not in now),
    )


def _apart(found: Sequence[Grounding]) -> int | None:
    """Number of conclusions, if each has one grounding and their premises are disjoint."""
    premises = [fact for g in found for fact in g.pair]
    alone = len(conclusions(found)) == len(found) and len(set(premises)) == len(premises)
    return len(found) if alone else None


def _choices(facts: Sequence[Triple], index: int, pool: Pool, *, within: bool) -> list[str]:
    """Possible new objects of a fact: of the set (`within`), or of the complete graph."""
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
    """One draw, fact by fact; None if a fact has no possible object left."""
    drawn: dict[int, Triple] = {i: f for i, f in enumerate(facts) if i not in choices}
    # How often each object may be used without being more frequent than before.
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
