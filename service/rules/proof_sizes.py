"""Strength of the best proof with exactly 2, 3, 4 or 5 facts, to compare proofs with chains.

A premise has fewer facts than its conclusion, so sizes are solved in increasing order. The best
proof of a size may pass its own conclusion, which makes it circular; the conclusion is then solved
again, backwards, without the triples above it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from thinkeval.service.rules.schemas import Grounding, Triple

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
    *,
    without: Collection[Triple] = (),
) -> dict[Triple, list[float]]:
    """{conclusion: strength of its best proof with 2, 3, 4 and 5 facts}; -1 without one.

    Args:
        facts: {fact: its probability}; facts without one are not used.
        without: triples that no proof may pass or conclude.
    """
    found = proofs_by_size(groundings, facts, without=without)
    sizes = range(2, MOST + 1)
    return {t: [of[n].strength if n in of else -1.0 for n in sizes] for t, of in found.items()}


def proofs_by_size(
    groundings: Mapping[Triple, Sequence[Grounding]],
    facts: Mapping[Triple, float],
    *,
    without: Collection[Triple] = (),
) -> dict[Triple, dict[int, Sized]]:
    """{conclusion: {number of facts: its best proof}}; arguments as `by_size`."""
    left = frozenset(without)
    table = _Table(
        {t: ways for t, ways in groundings.items() if t not in left},
        {t: value for t, value in facts.items() if t not in left},
    )
    for size in range(2, MOST + 1):
        table.settle(size)
    return {t: {n: p for n, p in table.sized[t].items() if n > 1} for t in table.groundings}


@dataclass(slots=True)
class _Table:
    groundings: Mapping[Triple, Sequence[Grounding]]
    facts: Mapping[Triple, float]
    sized: dict[Triple, dict[int, Sized]] = field(default_factory=dict)
    exact: dict[tuple[Triple, int, frozenset[Triple]], Sized | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sized = {t: {} for t in self.groundings}
        for triple, value in self.facts.items():
            self.sized.setdefault(triple, {})[1] = Sized(value, frozenset({triple}))

    def settle(self, size: int) -> None:
        """Solve the proofs of this size, from the smaller ones."""
        for triple, ways in self.groundings.items():
            best: Sized | None = None
            for g in ways:
                for part in range(1, size):
                    one = self.sized.get(g.first, {}).get(part)
                    other = self.sized.get(g.second, {}).get(size - part)
                    best = _better(best, one, other, g)
            if best is not None and triple in best.passes:
                best = self.alone(triple, size, frozenset())
            if best is not None:
                self.sized[triple][size] = best.through(triple)

    def alone(self, triple: Triple, size: int, above: frozenset[Triple]) -> Sized | None:
        """The best proof of this size that passes neither the triple nor those above it."""
        key = (triple, size, above)
        if key not in self.exact:
            below = above | {triple}
            best: Sized | None = None
            for g in self.groundings.get(triple, ()):
                if g.first in below or g.second in below:
                    continue
                for part in range(1, size):
                    one = self._premise(g.first, part, below)
                    other = self._premise(g.second, size - part, below) if one else None
                    best = _better(best, one, other, g)
            self.exact[key] = best
        return self.exact[key]

    def _premise(self, triple: Triple, size: int, below: frozenset[Triple]) -> Sized | None:
        known = self.sized.get(triple, {}).get(size)
        if known is None or not known.passes & below:
            return known  # no proof at all, or the best one is clean
        if size == 1:
            return None
        found = self.alone(triple, size, below)
        return None if found is None else found.through(triple)


def _better(
    best: Sized | None, one: Sized | None, other: Sized | None, way: Grounding
) -> Sized | None:
    """The better of a proof and one that joins two premises."""
    if one is None or other is None:
        return best
    strength = one.strength * other.strength * way.factor
    if best is not None and strength <= best.strength:
        return best
    return Sized(strength, one.passes | other.passes, way, (one, other))
