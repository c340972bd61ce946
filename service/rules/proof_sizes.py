"""Strength of the best proof with exactly 1 to 5 facts, to compare proofs with chains.

A premise of a rule with two has fewer facts than its conclusion, so sizes are solved in increasing
order. The premise of a rule with one has as many: within a size such rules are applied until no
proof gets better. The best proof of a size may pass its own conclusion, which makes it circular;
the conclusion is then solved again without the triples above it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .proof_values import cone
from .schemas import Grounding, Triple

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
