"""The exact leak cut, by SciPy's mixed-integer solver (HiGHS), with a proof or the gap.

    min Σ c_f x_f    Σ_{f ∈ c} x_f ≥ 1 for every chain    Σ_{f ∈ group} x_f ≤ 1    x_f ∈ {0, 1}

Where locks and groups make that infeasible, the soft form leaves chains open at a price above all
facts together, so that as much weight as possible is cut, and the open chains are named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thinkeval.service.errors import UsageError
from thinkeval.service.leakcut.problem import Chain, Fact, Problem, minimal

LIMIT_S = 10.0
"""Seconds that a solution may take, unless more are given."""

MOST = 10
"""Alternatives of the same cost that are listed at most."""

EQUAL = 1e-6
"""Costs that differ by less are equal; the solver's own tolerance is of this size."""


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
        """How far the cost may be above the least one, relative to it; 0: proved."""
        return max(0.0, self.cost - self.bound) / max(self.bound, EQUAL) if self.facts else 0.0


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
        if found is None or found.cost > best.cost + EQUAL:
            return
        known.append(found.facts)
        yield found


class _Model:
    """The constraints as a sparse matrix: one column a fact, then one a chain that may stay."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.facts = problem.facts
        self.place = {fact: i for i, fact in enumerate(self.facts)}
        self.sets = minimal(problem.chains)
        self.costs = np.array([problem.costs.get(fact, 1.0) for fact in self.facts])
        if (self.costs <= 0).any():
            raise UsageError("A fact's cost must be positive.", remedy="Use weights above 0.")

    def solve(self, limit_s: float, forbidden: Sequence[Sequence[Fact]] = ()) -> Cut | None:
        """The cheapest cut; None where there is none."""
        rows = [self._row(facts) for facts in self.sets]
        lower, upper = [1.0] * len(rows), [np.inf] * len(rows)
        for group in self._groups():
            rows.append(group)
            lower.append(-np.inf)
            upper.append(1.0)
        for facts in forbidden:
            rows.append(self._row(facts))
            lower.append(-np.inf)
            upper.append(len(facts) - 1.0)
        if any(not row for row in rows[: len(self.sets)]):
            return None  # all facts of a chain are locked
        solved = _milp(self.costs, rows, lower, upper, limit_s)
        if solved is None:
            return None
        return self._cut(solved)

    def solve_softly(self, limit_s: float) -> Cut:
        """Cuts as much weight as possible; a chain's price to stay is above all facts together."""
        n, chains = len(self.facts), self.problem.chains
        price = 1 + self.costs.sum()
        least = min(chain.weight for chain in chains)
        rows = [[*self._row(chain.facts), n + i] for i, chain in enumerate(chains)]
        lower, upper = [1.0] * len(rows), [np.inf] * len(rows)
        for group in self._groups():
            rows.append(group)
            lower.append(-np.inf)
            upper.append(1.0)
        prices = [price * chain.weight / least for chain in chains]
        solved = _milp(np.concatenate([self.costs, prices]), rows, lower, upper, limit_s)
        if solved is None:
            raise UsageError(
                f"No cut was found in {limit_s:g} s.", remedy="Give more time, or fewer steps."
            )
        return self._cut(solved)

    def _cut(self, solved: tuple[np.ndarray, float, bool]) -> Cut:
        values, bound, complete = solved
        chosen = tuple(f for f, value in zip(self.facts, values, strict=False) if value > 0.5)
        open_ = tuple(self.problem.survivors(chosen))
        cost = self.problem.cost(chosen)
        return Cut(chosen, cost, cost if open_ or complete else bound, open_, complete)

    def _row(self, facts: Any) -> list[int]:
        return [self.place[fact] for fact in facts if fact in self.place]

    def _groups(self) -> list[list[int]]:
        rows = [self._row(group) for group in self.problem.groups]
        return [row for row in rows if len(row) > 1]


def _milp(
    costs: np.ndarray,
    rows: Sequence[Sequence[int]],
    lower: Sequence[float],
    upper: Sequence[float],
    limit_s: float,
) -> tuple[np.ndarray, float, bool] | None:
    """Values, lower bound of the cost, whether it is proved; None where nothing is feasible."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # slow to import
    from scipy.sparse import csr_array

    places = [place for row in rows for place in row]
    starts = np.cumsum([0, *(len(row) for row in rows)])
    matrix = csr_array((np.ones(len(places)), places, starts), shape=(len(rows), len(costs)))
    constraint: Any = LinearConstraint  # SciPy's stubs take no array as a bound
    result: Any = milp(
        costs,
        constraints=constraint(matrix, np.array(lower), np.array(upper)),
        bounds=Bounds(0, 1),
        integrality=np.ones(len(costs)),
        options={"time_limit": limit_s, "mip_rel_gap": 0.0},
    )
    if result.x is None:
        if result.status == 2:  # infeasible
            return None
        raise UsageError(
            f"No cut was found in {limit_s:g} s ({result.message}).",
            remedy="Give more time, or fewer steps.",
        )
    return result.x, float(result.mip_dual_bound), result.status == 0
