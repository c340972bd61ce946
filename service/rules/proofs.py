"""Proofs of conclusions: the value of the best one, its tree, and the best one of a size."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from .schemas import Grounding, ProofOut, Triple
from .store import StoredRule

# Value of the best proof of every conclusion, from groundings and facts alone.
#
# One step raises proofs by one premise: the value of a conclusion is the best, over its
# groundings, of the `join` of its premises' values. Joining never improves a value, so no proof
# needs to pass a triple twice, and the iteration terminates.
#
# A triple may be both a fact and a conclusion; its proof must not use the fact. So each proof
# records its triples, and a triple that its own best proof passes is solved again without itself.

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Worth(Generic[V]):
    """A way to compare proofs.

    Attributes:
        join: value of a conclusion from its premises' values and the rule's factor.
        better: True if the first value is better than the second.
    """

    join: Callable[[Sequence[V], float], V]
    better: Callable[[V, V], bool]


STRENGTH: Worth[float] = Worth(lambda of, factor: math.prod(of) * factor, lambda a, b: a > b)
"""Product of the facts' probabilities and the rules' confidences."""
LEAVES: Worth[int] = Worth(lambda of, factor: sum(of), lambda a, b: a < b)
"""Number of facts of the proof."""
HEIGHT: Worth[int] = Worth(lambda of, factor: 1 + max(of), lambda a, b: a < b)
"""Premises above each other; 0 for a fact."""


@dataclass(frozen=True, slots=True)
class Best(Generic[V]):
    """The best proof of a triple: its value, its last grounding, and all triples it passes."""

    value: V
    grounding: Grounding | None
    passes: frozenset[Triple]


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
    """The best proof of every provable conclusion, from facts other than itself.

    Args:
        facts: {fact: its value}; facts without one are not used.
        depth: maximum height, in premises above each other; None for any.
        without: triples that no proof may pass.
    """
    found = _steps(groundings, facts, worth, depth, frozenset(without))
    out = {}
    for triple, best in found.items():
        if triple in best.passes:
            below = cone(groundings, triple)
            again = _steps(below, facts, worth, depth, frozenset(without), alone=triple)
            if triple not in again:
                continue
            best = again[triple]
        out[triple] = best
    return out


def _steps(
    groundings: Mapping[Triple, Sequence[Grounding]],
    facts: Mapping[Triple, V],
    worth: Worth[V],
    depth: int | None,
    without: frozenset[Triple],
    *,
    alone: Triple | None = None,
) -> dict[Triple, Best[V]]:
    """Best proofs of the conclusions; `alone` is solved, but used in no proof."""
    usable = {
        triple: Best(value, None, frozenset({triple}))
        for triple, value in facts.items()
        if triple not in without and triple != alone
    }
    proved: dict[Triple, Best[V]] = {}
    todo = [triple for triple in groundings if triple not in without]
    height = 0
    while depth is None or height < depth:
        height += 1
        gained: dict[Triple, Best[V]] = {}
        for triple in todo:
            now = gained.get(triple, proved.get(triple))
            for g in groundings[triple]:
                found = [usable[triple] for triple in g.premises if triple in usable]
                if len(found) < len(g.premises):
                    continue
                value = worth.join([each.value for each in found], g.factor)
                if now is None or worth.better(value, now.value):
                    now = Best(value, g, frozenset().union(*(each.passes for each in found)))
                    gained[triple] = now
        if not gained:
            break
        for triple, best in gained.items():
            proved[triple] = best
            known = usable.get(triple)
            if triple != alone and (known is None or worth.better(best.value, known.value)):
                usable[triple] = Best(best.value, best.grounding, best.passes | {triple})
    return proved


def cone(
    groundings: Mapping[Triple, Sequence[Grounding]], top: Triple
) -> dict[Triple, Sequence[Grounding]]:
    """The groundings that a proof of `top` may use."""
    out: dict[Triple, Sequence[Grounding]] = {}
    todo = [top]
    while todo:
        triple = todo.pop()
        if triple in out or triple not in groundings:
            continue
        out[triple] = groundings[triple]
        todo += [t for g in groundings[triple] for t in g.premises]
    return out


# Proof trees from groundings and facts: the best one for each last grounding of a conclusion.

Sides = tuple[Mapping[Triple, float], Mapping[Triple, float]]
"""Probability of each fact before and after the edit."""

_PLAIN: Worth[tuple[float, float]] = Worth(
    lambda of, factor: (math.prod(a for a, _ in of) * factor, sum(n for _, n in of)),
    lambda a, b: (a[0], -a[1]) > (b[0], -b[1]),
)
"""The strongest proof; of equally strong ones the one with fewer facts."""


class Prover:
    """Proof trees from groundings.

    Args:
        facts: all triples that are facts, probed or not.
        sides: their known probabilities before and after the edit.
        depth: maximum height, in premises above each other.
    """

    def __init__(
        self,
        groundings: Sequence[Grounding],
        facts: Collection[Triple],
        sides: Sides,
        rules: Sequence[StoredRule],
        depth: int | None = None,
    ) -> None:
        self.ways = by_conclusion(groundings)
        self.facts = frozenset(facts)
        self.sides = sides
        self.depth = depth
        self.texts = {stored.id: stored.rule.text() for stored in rules}

    def proofs(self, goal: Triple, *, most: int = 20) -> list[ProofOut]:
        """One proof for each last grounding of the goal, from other facts, strongest first.

        No proof passes a triple twice from the goal to a fact.
        """
        found = []
        for way in dict.fromkeys(self.ways.get(goal, ())):
            above = frozenset({goal})
            left = None if self.depth is None else self.depth - 1
            premises = [self._tree(t, above, left) for t in way.premises]
            proved = [each for each in premises if each is not None]
            if len(proved) == len(premises):
                found.append(self._joined(way, proved))
        found.sort(key=lambda p: (-(p.strength_pre or 0.0), p.leaves, _leaf_texts(p)))
        return found[:most]

    def leaf(self, triple: Triple) -> ProofOut:
        """A fact."""
        pre, post = (side.get(triple) for side in self.sides)
        return ProofOut(
            subject=triple[0], relation=triple[1], object=triple[2], implied=False,
            strength_pre=pre, strength_post=post,
        )  # fmt: skip

    def _tree(self, triple: Triple, above: frozenset[Triple], depth: int | None) -> ProofOut | None:
        """The best proof that passes no triple of `above`; a fact is its own proof."""
        if triple in above:
            return None
        known = self.sides[0].get(triple) if self.sides[0] else None
        stated = triple in self.facts
        best = self._best(triple, above, depth)
        if stated and (best is None or best.value[0] <= (1.0 if known is None else known)):
            return self.leaf(triple)
        if best is None or best.grounding is None:
            return None
        way, left = best.grounding, None if depth is None else depth - 1
        below = above | {triple}
        premises = [self._tree(t, below, left) for t in way.premises]
        proved = [each for each in premises if each is not None]
        return self._joined(way, proved) if len(proved) == len(premises) else None

    def _best(
        self, triple: Triple, above: frozenset[Triple], depth: int | None
    ) -> Best[tuple[float, float]] | None:
        if triple not in self.ways or depth == 0:
            return None
        # Without probabilities all facts count alike, and the smallest proof is the best.
        pre = self.sides[0] or dict.fromkeys(self.facts, 1.0)
        values = {t: (pre.get(t, 0.0), 1.0) for t in self.facts}
        ways = cone(self.ways, triple)
        return solve(ways, values, _PLAIN, depth=depth, without=above).get(triple)

    def _joined(self, way: Grounding, premises: list[ProofOut]) -> ProofOut:
        def times(values: list[float | None]) -> float | None:
            known = [value for value in values if value is not None]
            return math.prod(known) * way.factor if len(known) == len(values) else None

        subject, relation, object_ = way.conclusion
        return ProofOut(
            subject=subject,
            relation=relation,
            object=object_,
            implied=True,
            strength_pre=times([each.strength_pre for each in premises]),
            strength_post=times([each.strength_post for each in premises]),
            leaves=sum(each.leaves for each in premises),
            rule=way.rule,
            text=self.texts.get(way.rule),
            premises=premises,
        )


def leaves_of(proof: ProofOut) -> list[Triple]:
    """The facts of a proof, from left to right."""
    if not proof.implied:
        return [(proof.subject, proof.relation, proof.object)]
    return [t for premise in proof.premises for t in leaves_of(premise)]


def _leaf_texts(proof: ProofOut) -> tuple[str, ...]:
    return tuple(" ".join(t) for t in leaves_of(proof))


# Strength of the best proof with exactly 1 to 5 facts, to compare proofs with chains.
#
# A premise of a rule with two has fewer facts than its conclusion, so sizes are solved in
# increasing order. The premise of a rule with one has as many: within a size such rules are
# applied until no proof gets better. The best proof of a size may pass its own conclusion, which
# makes it circular; the conclusion is then solved again without the triples above it.

MOST = 5
"""Maximum number of facts of a chain, and of a proof here."""


class Sized(NamedTuple):
    """A proof with a known number of facts.

    Attributes:
        passes: the triples it passes.
        way: its last grounding; None for a fact.
        premises: the proofs of the grounding's premises.
    """

    strength: float
    passes: frozenset[Triple]
    way: Grounding | None = None
    premises: tuple[Sized, ...] = ()

    def through(self, triple: Triple) -> Sized:
        """The same proof as part of another: it passes its conclusion too."""
        return self._replace(passes=self.passes | {triple})


def by_size(
    groundings: Mapping[Triple, Sequence[Grounding]],
    facts: Mapping[Triple, float],
    edited: Collection[Triple] = (),
) -> dict[Triple, list[float]]:
    """Return {conclusion: strength of its best proof with 1, 2, 3, 4 and 5 facts}; -1 without one.

    Arguments as `proofs_by_size`.
    """
    found = proofs_by_size(groundings, facts, edited)
    sizes = range(1, MOST + 1)
    return {t: [of[n].strength if n in of else -1.0 for n in sizes] for t, of in found.items()}


def proofs_by_size(
    groundings: Mapping[Triple, Sequence[Grounding]],
    facts: Mapping[Triple, float],
    edited: Collection[Triple] = (),
) -> dict[Triple, dict[int, Sized]]:
    """Return {conclusion: {number of facts: its best proof}}.

    Args:
        facts: {fact: its probability}; facts without one are not used.
        edited: triples that no proof passes; their own proofs, from other facts, are among the
            result.
    """
    left = frozenset(edited)
    found = _solved(groundings, facts, left)
    for triple in left & groundings.keys():
        alone = _solved(cone(groundings, triple), facts, left - {triple})
        found[triple] = alone[triple]
    return found


def _solved(
    groundings: Mapping[Triple, Sequence[Grounding]],
    facts: Mapping[Triple, float],
    left: frozenset[Triple],
) -> dict[Triple, dict[int, Sized]]:
    """Solve all sizes without the triples in `left`."""
    table = _Table(
        {t: ways for t, ways in groundings.items() if t not in left},
        {t: value for t, value in facts.items() if t not in left},
    )
    for size in range(1, MOST + 1):
        table.settle(size)
    return table.proved


@dataclass(slots=True)
class _Table:
    """Proofs by triple and size.

    Attributes:
        proved: of conclusions, by rules.
        solved: the largest size that is settled.
    """

    groundings: Mapping[Triple, Sequence[Grounding]]
    facts: Mapping[Triple, float]
    proved: dict[Triple, dict[int, Sized]] = field(default_factory=dict)
    solved: int = 0
    exact: dict[tuple[Triple, int, frozenset[Triple]], Sized | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.proved = {t: {} for t in self.groundings}

    def settle(self, size: int) -> None:
        """Solve the proofs of this size, from the smaller ones."""
        todo: Iterable[Triple] = list(self.groundings)
        alone = [t for t, ways in self.groundings.items() if any(g.second is None for g in ways)]
        while todo:
            todo = alone if [t for t in todo if self._improve(t, size)] else ()
        self.solved = size

    def _improve(self, triple: Triple, size: int) -> bool:
        """Improve the proof of this size; return True if it got better."""
        best = known = self.proved[triple].get(size)
        for g in self.groundings[triple]:
            for one, other in _parts(g, size):
                best = _better(best, [self.usable(g.first, one), self._second(g, other)], g)
        if best is known or best is None:
            return False
        if triple in best.passes:
            best = self.alone(triple, size, frozenset())
            if best is None or (known is not None and best.strength <= known.strength):
                return False
        self.proved[triple][size] = best.through(triple)
        return True

    def usable(self, triple: Triple, size: int) -> Sized | None:
        """The best proof known so far: the fact itself, or by a rule."""
        proved = self.proved.get(triple, {}).get(size)
        if size > 1 or triple not in self.facts:
            return proved
        fact = Sized(self.facts[triple], frozenset({triple}))
        return fact if proved is None or proved.strength <= fact.strength else proved

    def alone(self, triple: Triple, size: int, above: frozenset[Triple]) -> Sized | None:
        """The best proof of this size that passes neither the triple nor those above it."""
        key = (triple, size, above)
        if key not in self.exact:
            below = above | {triple}
            best: Sized | None = None
            for g in self.groundings.get(triple, ()):
                if below.isdisjoint(g.premises):
                    for one, other in _parts(g, size):
                        parts = [self._premise(g.first, one, below)]
                        if g.second is not None and parts[0] is not None:
                            parts.append(self._premise(g.second, other, below))
                        best = _better(best, parts, g)
            self.exact[key] = best
        return self.exact[key]

    def _second(self, g: Grounding, size: int) -> Sized | None:
        return None if g.second is None else self.usable(g.second, size)

    def _premise(self, triple: Triple, size: int, below: frozenset[Triple]) -> Sized | None:
        if size <= self.solved:
            known = self.usable(triple, size)
            if known is None or not known.passes & below:
                return known  # no proof at all, or the best one is clean
        found = self.alone(triple, size, below)
        fact = self.facts.get(triple) if size == 1 else None
        if fact is not None and (found is None or found.strength <= fact):
            return Sized(fact, frozenset({triple}))
        return None if found is None else found.through(triple)


def _parts(g: Grounding, size: int) -> list[tuple[int, int]]:
    """Return the possible numbers of facts of the premises; a single premise has all."""
    if g.second is None:
        return [(size, 0)]
    return [(part, size - part) for part in range(1, size)]


def _better(best: Sized | None, parts: Sequence[Sized | None], way: Grounding) -> Sized | None:
    """The better of a proof and one that joins the premises."""
    found = [part for part in parts if part is not None]
    if len(found) < len(way.premises):
        return best
    strength = math.prod(part.strength for part in found) * way.factor
    if best is not None and strength <= best.strength:
        return best
    passes = frozenset().union(*(part.passes for part in found))
    return Sized(strength, passes, way, tuple(found))
