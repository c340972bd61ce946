"""Proofs of conclusions: the value of the best one, its tree, and the best one of a size."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

from .engine import STRONG_AND_SMALL, Best, by_conclusion, cone, solve
from .schemas import Grounding, ProofOut, Triple
from .store import StoredRule

Sides = tuple[Mapping[Triple, float], Mapping[Triple, float]]
"""Probability of each fact before and after the edit."""


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
        # The best proof of a triple by itself, as the top of a tree; None if it has none.
        self._solved: dict[Triple, Best[tuple[float, float]] | None] = {}

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
        if best is None or best.way is None:
            return None
        way, left = best.way, None if depth is None else depth - 1
        below = above | {triple}
        premises = [self._tree(t, below, left) for t in way.premises]
        proved = [each for each in premises if each is not None]
        return self._joined(way, proved) if len(proved) == len(premises) else None

    def _best(
        self, triple: Triple, above: frozenset[Triple], depth: int | None
    ) -> Best[tuple[float, float]] | None:
        if triple not in self.ways or depth == 0:
            return None
        if triple not in self._solved:
            ways = cone(self.ways, triple)
            found = solve(ways, self._values, STRONG_AND_SMALL, depth=self.depth)
            self._solved |= {t: found.get(t) for t in ways}
        best = self._solved[triple]
        if best is None or (best.passes.isdisjoint(above) and best.height <= (depth or math.inf)):
            return best
        ways = cone(self.ways, triple)
        return solve(ways, self._values, STRONG_AND_SMALL, depth=depth, without=above).get(triple)

    @cached_property
    def _values(self) -> dict[Triple, tuple[float, float]]:
        # Without probabilities all facts count alike, and the smallest proof is the best.
        pre = self.sides[0] or dict.fromkeys(self.facts, 1.0)
        return {t: (pre.get(t, 0.0), 1.0) for t in self.facts}

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
