"""Value of the best proof of every conclusion, from groundings and facts alone.

One step raises proofs by one premise: the value of a conclusion is the best, over its groundings,
of the `join` of its premises' values. Joining never improves a value, so no proof needs to pass a
triple twice, and the iteration terminates.

A triple may be both a fact and a conclusion; its proof must not use the fact. So each proof records
its triples, and a triple that its own best proof passes is solved again without itself.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from .schemas import Grounding, Triple

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
