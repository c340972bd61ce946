"""The exact leak cut, by SciPy's mixed-integer solver (HiGHS), with a proof or the gap.

    min Σ c_f x_f    Σ_{f ∈ c} x_f ≥ 1 for every chain    Σ_{f ∈ group} x_f ≤ 1    x_f ∈ {0, 1}

Where locks and groups make that infeasible, the soft form cuts as much weight as possible, then at
the lowest cost, and the open chains are named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import UsageError
from .milp import TIGHT, Program, Solved
from .problem import Chain, Fact, Problem, minimal

LIMIT_S = 10.0
"""Seconds that a solution may take, unless more are given."""

MOST = 10
"""Alternatives of the same cost that are listed at most."""


@dataclass(frozen=True)
class Cut:
    """Facts to edit.

    Attributes:
        facts: sorted.
        cost: of them.
        bound: no cut costs less.
        open: chains that stay, as locks and groups forbid every one of their cuts.
        complete: False where the time ended before the cut was proved optimal.
    """

    facts: tuple[Fact, ...]
    cost: float
    bound: float
    open: tuple[Chain, ...] = ()
    complete: bool = True

    @property
    def gap(self) -> float:
        """Largest excess of the cost over the least cost, relative to it; 0: proved."""
        return max(0.0, self.cost - self.bound) / max(self.bound, TIGHT) if self.facts else 0.0


def cut(problem: Problem, *, limit_s: float = LIMIT_S) -> Cut:
    """The cheapest facts that every chain holds one of; of chains that no cut reaches, `open`.

    Raises:
        UsageError: the time was too short to find any.
    """
    if not problem.chains:
        return Cut((), 0.0, 0.0)
    model = _Model(problem)
    found = model.solve(limit_s)
    if found is not None:
        return found
    return model.solve_softly(limit_s)


def alternatives(problem: Problem, best: Cut, *, most: int = MOST) -> Iterator[Cut]:
    """Other cuts of the same cost, at most so many.

    A cut that is a superset of an earlier one is none: each is found with the earlier ones
    forbidden.
    """
    if best.open or not best.facts:
        return
    model = _Model(problem)
    known = [best.facts]
    while len(known) <= most:
        found = model.solve(LIMIT_S, forbidden=known)
        if found is None or found.cost > best.cost + TIGHT:
            return
        known.append(found.facts)
        yield found


class _Model:
    """The constraints as sparse rows: one variable a fact, then one a chain that may stay."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.facts = problem.facts
        self.place = {fact: i for i, fact in enumerate(self.facts)}
        self.costs = np.array([problem.costs.get(fact, 1.0) for fact in self.facts])
        if (self.costs <= 0).any():
            raise UsageError("A fact's cost must be positive.", remedy="Use weights above 0.")

    def solve(self, limit_s: float, forbidden: Sequence[Sequence[Fact]] = ()) -> Cut | None:
        """Return the cheapest cut; None without one."""
        program = self._groups()
        for facts in minimal(self.problem.chains):
            row = self._row(facts)
            if not row:
                return None  # all facts of a chain are locked
            program.at_least(row, 1)
        for facts in forbidden:
            program.at_most(self._row(facts), len(facts) - 1)
        solved = program.solve(self.costs, limit_s)
        return None if solved is None else self._cut(solved)

    def solve_softly(self, limit_s: float) -> Cut:
        """The cheapest of the choices that cut most weight; each step takes half of the time.

        One objective that prices a chain above all facts together would not do: chains may differ
        by less than the facts that cut them.
        """
        n, chains = len(self.facts), self.problem.chains
        least = min(chain.weight for chain in chains)
        stays = {n + i: chain.weight / least for i, chain in enumerate(chains)}
        program = self._groups()
        for i, chain in enumerate(chains):
            program.at_least({**self._row(chain.facts), n + i: 1.0}, 1)
        first = program.solve(np.array([*np.zeros(n), *stays.values()]), limit_s / 2)
        assert first is not None  # all chains may stay
        open_ = set(self.problem.survivors(self._chosen(first)))
        weight = sum(stays[n + i] for i, chain in enumerate(chains) if chain in open_)
        program.at_most(stays, weight + TIGHT)
        costs = np.array([*self.costs, *np.zeros(len(chains))])
        try:
            second = program.solve(costs, limit_s / 2)
        except UsageError:
            second = None
        if second is None:
            return self._cut(Solved(first.values, 0.0, False))
        return self._cut(Solved(second.values, second.bound, first.complete and second.complete))

    def _chosen(self, solved: Solved) -> tuple[Fact, ...]:
        values = zip(self.facts, solved.values, strict=False)
        return tuple(fact for fact, value in values if value > 0.5)

    def _cut(self, solved: Solved) -> Cut:
        chosen = self._chosen(solved)
        cost = self.problem.cost(chosen)
        bound = cost if solved.complete else min(cost, solved.bound)
        return Cut(chosen, cost, bound, tuple(self.problem.survivors(chosen)), solved.complete)

    def _row(self, facts: Iterable[Fact]) -> dict[int, float]:
        return {self.place[fact]: 1.0 for fact in facts if fact in self.place}

    def _groups(self) -> Program:
        program = Program()
        for row in map(self._row, self.problem.groups):
            if len(row) > 1:
                program.at_most(row, 1)
        return program
