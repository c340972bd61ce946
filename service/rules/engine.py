"""Ground rules of a graph, and the best proof of every conclusion: by value, height or size.

Proofs are settled in order of their value (Knuth 1977): joining premises never improves a value, so
the first proof of a triple is its best. With a maximum height a triple keeps a further proof for
each smaller height, and by size one for each number of facts.

A proof must not pass a triple twice. Without sizes a proof that does is never better than one that
does not, except that a triple which is also a fact may prove itself: it is solved again without the
fact. With sizes a circle makes a proof larger, so such a proof may be the best one of its size: the
triple is then searched exactly, with the values found first as bounds, and in a limited number of
steps.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, product
from typing import Any, Generic, NamedTuple, TypeVar

from ...loaders.groundings import bind
from ..base.errors import UsageError
from .schemas import Grounding, Triple
from .store import StoredRule

V = TypeVar("V")

MOST = 5
"""Maximum number of facts of a chain, and of a proof by size."""
MOST_GROUNDINGS = 1_000_000
"""Maximum number of ground rules of a graph."""
MOST_STEPS = 50_000
"""Maximum number of steps of the exact searches of one graph."""


def ground(
    facts: Iterable[Triple],
    rules: Sequence[StoredRule],
    kinds: Mapping[str, str | None],
    factor: Mapping[str, float],
    *,
    depth: int | None = None,
    most: int | None = None,
) -> dict[Grounding, int]:
    """Return {grounding: round that found it} of all rules that have a factor.

    A round joins the triples of the round before with all known ones.

    Args:
        kinds: {entity: its kind}.
        depth: maximum number of rounds; None: until nothing is new.
        most: maximum number of groundings; None: `MOST_GROUNDINGS`.

    Raises:
        UsageError: more than `most` groundings.
    """
    atoms = defaultdict(list)
    for stored in (stored for stored in rules if stored.id in factor):
        for place, atom in enumerate(stored.rule.premises):
            atoms[atom.relation].append((stored, place, atom))
    near: dict[tuple[str, int, str], list[tuple[str, Triple]]] = defaultdict(list)
    most = MOST_GROUNDINGS if most is None else most
    found: dict[Grounding, int] = {}
    known = set(facts)
    new, number = sorted(known), 0
    while new and (depth is None or number < depth):
        number += 1
        pairs = []
        for triple in new:
            for stored, place, atom in atoms[triple[1]]:
                bound = bind(stored.rule, atom, triple, kinds)
                if bound is None:
                    continue
                if "y" not in bound:
                    pairs.append((stored, bound["x"], bound["z"], triple, None))
                else:
                    near[stored.id, place, bound["y"]].append((bound["xz"[place]], triple))
                    pairs.append((stored, bound["xz"[place]], bound["y"], triple, place))
        new = []
        for stored, end, other, triple, place in pairs:
            relation = stored.rule.conclusion.relation
            made: Iterable[tuple[Triple, Triple, Triple | None]]
            if place is None:
                made = [((end, relation, other), triple, None)]
            elif place == 0:
                seconds = near[stored.id, 1, other]
                made = (((end, relation, z), triple, t) for z, t in seconds if z != end)
            else:
                firsts = near[stored.id, 0, other]
                made = (((x, relation, end), t, triple) for x, t in firsts if x != end)
            for conclusion, first, second in made:
                one = Grounding(stored.id, first, second, conclusion, factor[stored.id])
                found.setdefault(one, number)
                if len(found) > most:  # one entity may have a million pairs of premises
                    raise UsageError(
                        f"The rules have more than {most:,} groundings by round {number}.",
                        remedy="Give fewer rules, or rules with kinds.",
                    )
                if conclusion not in known:
                    known.add(conclusion)
                    new.append(conclusion)
    return found


Goal = tuple[str | None, str, str | None]
"""Subject, relation, object; None for any."""


def near(
    facts: Iterable[Triple], ends: Iterable[Triple], rules: Sequence[StoredRule], depth: int
) -> set[Triple]:
    """Return the facts that match a premise by which rules conclude the ends, to the depth."""
    by_relation: dict[str, list[StoredRule]] = defaultdict(list)
    for stored in rules:
        by_relation[stored.rule.conclusion.relation].append(stored)
    level: set[Goal] = set(ends)
    seen = set(level)
    out: set[Goal] = set()
    for _ in range(depth):
        level = {open_ for g in level for open_ in _premises(g, by_relation[g[1]])} - seen
        seen |= level
        out |= level
    return {fact for fact in facts if not out.isdisjoint(_matching(fact))}


def _premises(goal: Goal, rules: Iterable[StoredRule]) -> Iterator[Goal]:
    for stored in rules:
        one, other, _ = stored.rule.relations
        inverse1, inverse2 = stored.rule.inverse
        x, z = goal[0], goal[2]
        if other is None:
            yield (z, one, x) if inverse1 else (x, one, z)
            continue
        yield (None, one, x) if inverse1 else (x, one, None)
        yield (z, other, None) if inverse2 else (None, other, z)


def _matching(fact: Triple) -> set[Goal]:
    """Return the goals that a fact matches."""
    subject, relation, object_ = fact
    return {(s, relation, o) for s in (subject, None) for o in (object_, None)}


@dataclass(frozen=True, slots=True)
class Worth(Generic[V]):
    """A way to compare proofs.

    Attributes:
        join: value of a conclusion from its premises' values and the rule's factor; never better
            than one of these.
        key: sorts values, the best one first.
    """

    join: Callable[[Sequence[V], float], V]
    key: Callable[[V], Any]


STRENGTH: Worth[float] = Worth(lambda of, factor: math.prod(of) * factor, lambda value: -value)
"""Product of the facts' probabilities and the rules' confidences."""
LEAVES: Worth[int] = Worth(lambda of, factor: sum(of), lambda value: value)
"""Number of facts of the proof."""
HEIGHT: Worth[int] = Worth(lambda of, factor: 1 + max(of), lambda value: value)
"""Premises above each other; 0 for a fact."""
STRONG_AND_SMALL: Worth[tuple[float, float]] = Worth(
    lambda of, factor: (math.prod(a for a, _ in of) * factor, sum(n for _, n in of)),
    lambda value: (-value[0], value[1]),
)
"""The strongest proof; of equally strong ones the one with fewer facts."""


class Best(NamedTuple, Generic[V]):
    """A proof of a triple.

    Attributes:
        way: its last grounding; None for a fact.
        premises: the proofs of the grounding's premises.
        passes: the triples of these proofs; of a fact, the fact.
        circular: True if some way from the triple to a fact passes a triple twice.
    """

    value: V
    way: Grounding | None = None
    premises: tuple[Best[V], ...] = ()
    passes: frozenset[Triple] = frozenset()
    height: int = 0
    leaves: int = 1
    circular: bool = False


def by_conclusion(groundings: Iterable[Grounding]) -> dict[Triple, list[Grounding]]:
    """Groundings by their conclusion."""
    out: dict[Triple, list[Grounding]] = defaultdict(list)
    for grounding in groundings:
        out[grounding.conclusion].append(grounding)
    return dict(out)


def solve(
    groundings: Mapping[Triple, Sequence[Grounding]],
    facts: Mapping[Triple, V],
    worth: Worth[V],
    *,
    depth: int | None = None,
    without: Collection[Triple] = (),
) -> dict[Triple, Best[V]]:
    """Return the best proof of every provable conclusion, from facts other than itself.

    Args:
        facts: {fact: its value}; facts without one are not used.
        depth: maximum height, in premises above each other; None for any.
        without: triples that no proof may pass.
    """
    ways = {t: found for t, found in groundings.items() if t not in without}
    used = facts.keys() & _premises_of(ways) - set(without)
    start = {t: [_fact(t, facts[t])] for t in used}
    proved, usable = _settle(ways, start, worth, depth=depth)
    itself = {triple for triple, (best, *_) in proved.items() if triple in best.passes}
    using: dict[Triple, set[Triple]] = defaultdict(set)
    for t, found in usable.items():
        for best in found:
            for passed in itself & best.passes:
                using[passed].add(t)
    out = {}
    for triple, (best, *_) in proved.items():
        if triple in itself:
            # Only proofs that pass the triple change without it; of the others their premises.
            new = using[triple]
            below = {t: ways[t] for t in new | {triple} if t in ways}
            kept = {t: usable[t] for t in _premises_of(below) - new if t in usable}
            kept |= {t: start[t] for t in new & start.keys() if t != triple}
            again = _settle(below, kept, worth, depth=depth, alone=triple)[0]
            if triple not in again:
                continue
            best = again[triple][0]
        out[triple] = best
    return out


def _premises_of(groundings: Mapping[Triple, Sequence[Grounding]]) -> set[Triple]:
    return {t for ways in groundings.values() for way in ways for t in way.premises}


def _fact(triple: Triple, value: V) -> Best[V]:
    return Best(value, passes=frozenset({triple}))


Proofs = dict[Triple, list[Best[V]]]


def _settle(
    groundings: Mapping[Triple, Sequence[Grounding]],
    start: Mapping[Triple, Sequence[Best[V]]],
    worth: Worth[V],
    *,
    depth: int | None = None,
    sizes: int | None = None,
    alone: Triple | None = None,
) -> tuple[Proofs[V], Proofs[V]]:
    """Return the proofs of each triple by rules, and those that proofs of others use; best first.

    Args:
        start: facts, and proofs that are known.
        depth: maximum height of a proof.
        sizes: settle the best proof of each number of facts up to this one.
        alone: only this triple is asked for, and no proof uses it.
    """

    def level(proof: Best[V]) -> int:
        return proof.leaves if sizes else proof.height if depth else 0

    def fresh(known: Sequence[Best[V]], proof: Best[V]) -> bool:
        """Return True if no settled proof, none of which is worse, makes this one superfluous."""
        if sizes:
            return all(other.leaves != proof.leaves for other in known)
        return not known or (bool(depth) and all(o.height > proof.height for o in known))

    users: dict[Triple, list[tuple[int, Grounding]]] = defaultdict(list)
    for ways in groundings.values():
        for rank, way in enumerate(ways):
            for premise in way.premises:
                users[premise].append((rank, way))
    proved: Proofs[V] = defaultdict(list)
    usable: Proofs[V] = defaultdict(list)
    offered: dict[tuple[Triple, int], tuple[Any, int, int]] = {}
    order = count()
    heap: list[tuple[Any, int, int, int, Triple, Best[V]]] = [
        (worth.key(best.value), best.height, -1, next(order), triple, best)
        for triple in users
        for best in start.get(triple, ())
    ]
    heapq.heapify(heap)
    while heap:
        _, _, rank, _, triple, best = heapq.heappop(heap)
        if rank >= 0:
            if not fresh(proved[triple], best):
                continue
            below = frozenset().union(*(part.passes for part in best.premises))
            circular = triple in below or any(part.circular for part in best.premises)
            proved[triple].append(best._replace(passes=below, circular=circular))
            best = best._replace(passes=below | {triple}, circular=circular)
        if triple == alone:
            break
        if not fresh(usable[triple], best):
            continue
        usable[triple].append(best)
        for rank, way in users.get(triple, ()):
            top = way.conclusion
            known = ((best,) if t == triple else usable.get(t, ()) for t in way.premises)
            for parts in product(*known):
                new = worth.join([part.value for part in parts], way.factor)
                height = 1 + max([part.height for part in parts])
                leaves = sum([part.leaves for part in parts])
                made = Best(new, way, parts, height=height, leaves=leaves)
                key = (worth.key(new), height, rank)
                at = (top, level(made))
                if (sizes and leaves > sizes) or (depth and height > depth):
                    continue
                if (at in offered and offered[at] <= key) or not fresh(proved[top], made):
                    continue
                offered[at] = key
                heapq.heappush(heap, (*key, next(order), top, made))
    return {t: found for t, found in proved.items() if found}, usable


Sizes = dict[int, Best[float] | None]
"""{number of facts: the strongest proof}; None: not found within the limit of steps."""


def solve_sizes(
    groundings: Mapping[Triple, Sequence[Grounding]],
    facts: Mapping[Triple, float],
    edited: Collection[Triple] = (),
    *,
    most_steps: int = MOST_STEPS,
) -> dict[Triple, Sizes]:
    """Return {conclusion: its strongest proof of each number of facts up to `MOST`}.

    Args:
        facts: {fact: its probability}; facts without one are not used.
        edited: triples that no proof passes; their own proofs, from other facts, are among the
            result.
    """
    left = frozenset(edited)
    search = _Search(groundings, facts, left, most_steps)
    out = {t: search.sizes(t) for t in groundings if t not in left}
    for triple in left & groundings.keys():
        alone = _Search(cone(groundings, triple), facts, left - {triple}, search.steps)
        out[triple] = alone.sizes(triple)
        search.steps = alone.steps
    return out


class _OutOfStepsError(Exception):
    """The exact search has reached its limit."""


class _Search:
    """The strongest proofs by number of facts: as settled, or searched exactly if circular."""

    def __init__(
        self,
        groundings: Mapping[Triple, Sequence[Grounding]],
        facts: Mapping[Triple, float],
        left: frozenset[Triple],
        steps: int,
    ) -> None:
        self.groundings = {t: ways for t, ways in groundings.items() if t not in left}
        self.facts = {t: _fact(t, value) for t, value in facts.items() if t not in left}
        start = {t: [fact] for t, fact in self.facts.items()}
        proved, usable = _settle(self.groundings, start, STRENGTH, sizes=MOST)
        self.proved = {(t, p.leaves): p for t, found in proved.items() for p in found}
        self.usable = {(t, p.leaves): p for t, found in usable.items() for p in found}
        self.steps = steps
        self.exact: dict[tuple[Triple, int, frozenset[Triple]], Best[float] | None] = {}

    def sizes(self, triple: Triple) -> Sizes:
        """Return the strongest proof of each number of facts that has one."""
        out: Sizes = {}
        for size in range(1, MOST + 1):
            best = self.proved.get((triple, size))
            if best is not None and best.circular:
                try:
                    best = self._search(triple, size, frozenset())
                except _OutOfStepsError:
                    out[size] = None
                    continue
            if best is not None:
                out[size] = best
        return out

    def _search(self, triple: Triple, size: int, above: frozenset[Triple]) -> Best[float] | None:
        """Return the strongest proof that passes neither the triple nor one above it."""
        key = (triple, size, above)
        if key in self.exact:
            return self.exact[key]
        if not self.steps:
            raise _OutOfStepsError
        self.steps -= 1
        below = above | {triple}
        best: Best[float] | None = None
        for way in self.groundings.get(triple, ()):
            if not below.isdisjoint(way.premises):
                continue
            for sizes in _compositions(len(way.premises), size):
                wanted = list(zip(way.premises, sizes, strict=True))
                bounds = [self.usable.get(each) for each in wanted]
                bound = math.prod(b.value if b else -math.inf for b in bounds) * way.factor
                if None in bounds or (best is not None and bound <= best.value):
                    continue
                parts = []
                for premise, part in wanted:
                    found = self._premise(premise, part, below)
                    if found is None:
                        break
                    parts.append(found)
                else:
                    best = _stronger(best, way, tuple(parts))
        self.exact[key] = best
        return best

    def _premise(self, triple: Triple, size: int, below: frozenset[Triple]) -> Best[float] | None:
        known = self.usable[triple, size]
        if not known.circular and known.passes.isdisjoint(below):
            return known
        found = self._search(triple, size, below)
        fact = self.facts.get(triple) if size == 1 else None
        if fact is not None and (found is None or found.value <= fact.value):
            return fact
        return found


def _compositions(parts: int, total: int) -> list[tuple[int, ...]]:
    """Return the ways to share out a number of facts over one or two premises."""
    return [(total,)] if parts == 1 else [(one, total - one) for one in range(1, total)]


def _stronger(
    best: Best[float] | None, way: Grounding, parts: tuple[Best[float], ...]
) -> Best[float] | None:
    """Return the stronger of a proof and one that joins the premises."""
    strength = math.prod(part.value for part in parts) * way.factor
    if best is not None and strength <= best.value:
        return best
    return Best(strength, way, parts)


def cone(
    groundings: Mapping[Triple, Sequence[Grounding]], top: Triple
) -> dict[Triple, Sequence[Grounding]]:
    """Return the groundings that a proof of `top` may use."""
    out: dict[Triple, Sequence[Grounding]] = {}
    todo = [top]
    while todo:
        triple = todo.pop()
        if triple in out or triple not in groundings:
            continue
        out[triple] = groundings[triple]
        todo += [t for g in groundings[triple] for t in g.premises]
    return out
