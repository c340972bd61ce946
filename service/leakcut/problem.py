"""The leak cut as a minimum weighted hitting set over chains of limited length.

Given the chains of a rewrite that leak, choose facts such that each chain holds one of them, at the
lowest cost. It is not a minimum cut: chains are limited to n facts, so that a long detour need not
be cut. Constraints: locked facts are never chosen, and of facts that share a key (methods that
write at the subject's last token cannot edit them together) at most one is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

Fact = str
"""Id of a fact."""


@dataclass(frozen=True)
class Chain:
    """A chain that leaks.

    Attributes:
        facts: ids of its facts.
        weight: w_c = 1 / √n for n facts (ThinkEval, Definition 3).
        retention: t_c = R'_c / R_c.
        name: for messages.
    """

    facts: frozenset[Fact]
    weight: float = 1.0
    retention: float = 1.0
    name: str = ""


@dataclass(frozen=True)
class Problem:
    """The chains to cut, and the facts that may cut them.

    Attributes:
        chains: to be cut.
        costs: {fact: (1 + λ · collateral) / expected efficacy}; 1 where a fact is absent.
        locked: facts that are not to be edited.
        groups: facts of one key; at most one of each is chosen.
        efficacy: {fact: expected efficacy of editing it}; 1 where a fact is absent.
    """

    chains: tuple[Chain, ...]
    costs: Mapping[Fact, float] = field(default_factory=dict)
    locked: frozenset[Fact] = frozenset()
    groups: tuple[frozenset[Fact], ...] = ()
    efficacy: Mapping[Fact, float] = field(default_factory=dict)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts that may be chosen, sorted."""
        return tuple(sorted(set().union(*(c.facts for c in self.chains)) - self.locked))

    def cost(self, facts: Iterable[Fact]) -> float:
        """The cost of choosing these facts."""
        return sum(self.costs.get(fact, 1.0) for fact in facts)

    def allowed(self, facts: Collection[Fact]) -> bool:
        """Return True if the facts keep to locks and groups."""
        chosen = set(facts)
        return not chosen & self.locked and all(len(chosen & group) <= 1 for group in self.groups)

    def survivors(self, facts: Collection[Fact]) -> list[Chain]:
        """The chains that hold none of the facts."""
        chosen = set(facts)
        return [chain for chain in self.chains if not chain.facts & chosen]

    def leakage(self, facts: Collection[Fact]) -> float:
        """The IFR that is expected after editing these facts.

        Σ_c w_c t_c Π_{f ∈ c ∩ S} (1 − e_f) / Σ_c w_c; 0 without chains.
        """
        chosen, whole = set(facts), sum(chain.weight for chain in self.chains)
        total = 0.0
        for chain in self.chains:
            kept = chain.weight * chain.retention
            for fact in chain.facts & chosen:
                kept *= 1 - self.efficacy.get(fact, 1.0)
            total += kept
        return total / whole if whole else 0.0


def minimal(chains: Sequence[Chain]) -> list[frozenset[Fact]]:
    """The chains' sets of facts without those that hold another one: cutting that cuts both."""
    kept: list[frozenset[Fact]] = []
    for facts in sorted({chain.facts for chain in chains}, key=lambda f: (len(f), sorted(f))):
        if not any(other <= facts for other in kept):
            kept.append(facts)
    return kept
