"""Proofs of conclusions: the value of the best one, its tree, and the best one of a size."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from .engine import STRONG_AND_SMALL, Best, by_conclusion, cone, solve
from .schemas import Grounding, ProofOut, Triple
from .store import StoredRule

Sides = tuple[Mapping[Triple, float], Mapping[Triple, float]]
"""Probability of each fact before and after the edit."""
Solved = Best[tuple[float, float]]
"""A proof with its strength and number of facts."""


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
        pre = sides[0]  # without probabilities only the rules' confidences count
        self._values = {t: (pre.get(t, 0.0) if pre else 1.0, 1.0) for t in self.facts}
        # The best proof of a triple; None if it has none.
        self._solved: dict[Triple, Solved | None] = {}

    def best(self, goal: Triple) -> ProofOut | None:
        """The strongest proof of the goal from other facts, of equal ones the smallest.

        Without probabilities it is the smallest. None if there is none.
        """
        if goal not in self.ways:
            return None
        if goal not in self._solved:
            # The first goal may be the only one; of several the cones overlap.
            ways = self.ways if self._solved else cone(self.ways, goal)
            values = self._values if self.sides[0] else dict.fromkeys(self.facts, (0.0, 1.0))
            found = solve(ways, values, STRONG_AND_SMALL, depth=self.depth)
            self._solved |= {t: found.get(t) for t in ways}
        best = self._solved[goal]
        return None if best is None else self._tree(goal, best)

    def proofs(self, goal: Triple, *, most: int = 20) -> list[ProofOut]:
        """One proof for each last grounding of the goal, from other facts, strongest first.

        No proof passes a triple twice from the goal to a fact.
        """
        left = None if self.depth is None else self.depth - 1
        below: dict[Triple, Solved] = {}
        if left != 0:
            ways = cone(self.ways, goal)
            below = solve(ways, self._values, STRONG_AND_SMALL, depth=left, without={goal})
        found = []
        for way in dict.fromkeys(self.ways.get(goal, ())):
            premises = [None if t == goal else self._premise(t, below.get(t)) for t in way.premises]
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

    def _premise(self, triple: Triple, best: Solved | None) -> ProofOut | None:
        """A fact that no rule proves better is its own proof."""
        if triple in self.facts and (best is None or best.value[0] <= self._values[triple][0]):
            return self.leaf(triple)
        return None if best is None else self._tree(triple, best)

    def _tree(self, triple: Triple, best: Solved) -> ProofOut:
        way = best.way
        if way is None:
            return self.leaf(triple)
        parts = zip(way.premises, best.premises, strict=True)
        return self._joined(way, [self._tree(t, part) for t, part in parts])

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
