"""Conclusions by If-Then rules, the slow way: every proof written out; nothing of ours is used.

A proof of a triple is a fact, or a rule whose premises are proved in turn; on the way down no
triple comes twice. The conclusions of a graph are all triples that have a proof other than the fact
it may be itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

Triple = tuple[str, str, str]


@dataclass(frozen=True)
class PlainRule:
    """relation1(x, y) & relation2(y, z) -> relation3(x, z); `back` turns a premise round.

    Without relation2: relation1(x, z) -> relation3(x, z).
    """

    relation1: str
    back1: bool
    relation2: str | None
    back2: bool
    relation3: str
    confidence: float = 1.0
    kinds: tuple[str | None, str | None, str | None] = (None, None, None)

    def premises(self, x: str, y: str, z: str) -> tuple[Triple, ...]:
        if self.relation2 is None:
            return ((z, self.relation1, x) if self.back1 else (x, self.relation1, z),)
        one = (y, self.relation1, x) if self.back1 else (x, self.relation1, y)
        other = (z, self.relation2, y) if self.back2 else (y, self.relation2, z)
        return one, other


@dataclass(frozen=True)
class Tree:
    """One proof: its strength, how many facts it has, and how high it is."""

    strength: float
    leaves: int
    height: int
    facts: frozenset[Triple]


def fixpoint(
    facts: set[Triple], rules: Sequence[PlainRule], kinds: Mapping[str, str | None]
) -> set:
    """Every triple that is a fact or follows, by trying all pairs until nothing is new."""
    known = set(facts)
    while True:
        new = set()
        for rule in rules:
            if rule.relation2 is None:
                for one in (t for t in known if t[1] == rule.relation1 and t[0] != t[2]):
                    x, z = (one[2], one[0]) if rule.back1 else (one[0], one[2])
                    if fits(rule, kinds, x, x, z):
                        new.add((x, rule.relation3, z))
                continue
            firsts = [t for t in known if t[1] == rule.relation1]
            seconds = [t for t in known if t[1] == rule.relation2]
            for one, other in product(firsts, seconds):
                x, y = (one[2], one[0]) if rule.back1 else (one[0], one[2])
                shared, z = (other[2], other[0]) if rule.back2 else (other[0], other[2])
                if y == shared and len({x, y, z}) == 3 and fits(rule, kinds, x, y, z):
                    new.add((x, rule.relation3, z))
        if new <= known:
            return known
        known |= new


def follows(
    facts: set[Triple], rules: Sequence[PlainRule], kinds: Mapping[str, str | None]
) -> set[Triple]:
    """Return the triples derived without being assumed, a fact's own triple left out in turn."""
    out = fixpoint(facts, rules, kinds) - facts
    return out | {t for t in facts if t in fixpoint(facts - {t}, rules, kinds)}


def fits(rule: PlainRule, kinds: Mapping[str, str | None], *names: str) -> bool:
    """Return True if x, y and z have the kinds; of a rule with one premise, y is not looked at."""
    if rule.relation2 is None:
        return all(rule.kinds[i] in (None, kinds[names[i]]) for i in (0, 2))
    return all(k in (None, kinds[n]) for k, n in zip(rule.kinds, names, strict=True))


def proofs(
    goal: Triple,
    facts: Mapping[Triple, float],
    rules: Sequence[PlainRule],
    kinds: Mapping[str, str | None],
    depth: int,
    above: frozenset[Triple] = frozenset(),
    *,
    most: int = 10**6,
    banned: frozenset[Triple] = frozenset(),
) -> Iterator[Tree]:
    """Every proof of the goal of at most this height that passes no triple twice.

    None has more than `most` facts, or passes one that is banned.
    """
    if most < 1:
        return
    if above and goal in facts:  # at the top a fact is no proof of itself
        yield Tree(facts[goal], 1, 0, frozenset({goal}))
    if depth == 0:
        return
    below = above | {goal}
    for rule in rules:
        if rule.relation3 != goal[1]:
            continue
        for y in kinds if rule.relation2 else ("",):
            if y in (goal[0], goal[2]) or goal[0] == goal[2]:
                continue
            if not fits(rule, kinds, goal[0], y, goal[2]):
                continue
            one, *others = rule.premises(goal[0], y, goal[2])
            if {one, *others} & (below | banned):
                continue
            if not others:
                for a in proofs(
                    one, facts, rules, kinds, depth - 1, below, most=most, banned=banned
                ):
                    yield Tree(a.strength * rule.confidence, a.leaves, 1 + a.height, a.facts)
                continue
            other = others[0]
            for a in proofs(
                one, facts, rules, kinds, depth - 1, below, most=most - 1, banned=banned
            ):
                for b in proofs(
                    other, facts, rules, kinds, depth - 1, below,
                    most=most - a.leaves, banned=banned,
                ):  # fmt: skip
                    yield Tree(
                        a.strength * b.strength * rule.confidence,
                        a.leaves + b.leaves,
                        1 + max(a.height, b.height),
                        a.facts | b.facts,
                    )
