"""The facts that lower IFR most, for each number of facts that may be edited, exactly."""

from __future__ import annotations

import heapq
import itertools
import math
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..base.errors import UsageError
from ..models.leakcut import BudgetPoint
from .hitting_set import Fact, Problem, Program

# The lowest IFR that editing m facts can reach, exactly, as a mixed-integer program.
#
# With λ_f = −ln(1 − e_f) a chain keeps exp(−u) of its leakage, u = Σ λ_f x_f over its facts. That
# is convex, and u takes few values (at most 2⁵ on a chain of five facts): the lines through
# neighbouring ones bound it from below everywhere and meet it at each. For e_f = 1 the program is
# that of maximum coverage:
#
#     min Σ_c w_c t_c y_c    y_c ≥ 1 − Σ_{f ∈ c} x_f    Σ_f x_f ≤ m    Σ_{f ∈ group} x_f ≤ 1

SCALE = 1e3
"""The solver stops at an absolute gap of 1e-6; with this factor that is 1e-9 of IFR."""

APART = 1e-9
"""Sums of λ that differ by less are one value."""


def least_leakage(problem: Problem, m: int, *, limit_s: float) -> float | None:
    """The lowest IFR of m facts; None where the time is too short to prove it."""
    facts = problem.facts
    place = {fact: i for i, fact in enumerate(facts)}
    weights: dict[frozenset[Fact], float] = defaultdict(float)
    for chain in problem.chains:
        if free := chain.facts - problem.locked:
            weights[free] += chain.weight * chain.retention
    if not weights:
        return problem.leakage(())
    whole = sum(chain.weight for chain in problem.chains)
    n = len(facts)
    program = Program(integral=[i < n for i in range(n + len(weights))])
    program.at_most(dict.fromkeys(range(n), 1.0), m)
    for group in problem.groups:
        if len(row := {place[fact]: 1.0 for fact in group if fact in place}) > 1:
            program.at_most(row, 1)
    for y, free in enumerate(sorted(weights, key=sorted), n):
        for row, lower in _lines(problem, free):
            program.at_least({y: 1.0, **{place[fact]: by for fact, by in row.items()}}, lower)
    kept = [SCALE * weights[free] / whole for free in sorted(weights, key=sorted)]
    try:
        solved = program.solve(np.array([*np.zeros(n), *kept]), limit_s)
    except UsageError:
        return None
    if solved is None or not solved.complete:
        return None
    return problem.leakage([f for f, x in zip(facts, solved.values, strict=False) if x > 0.5])


def _lines(problem: Problem, free: frozenset[Fact]) -> Iterator[tuple[dict[Fact, float], float]]:
    """({fact: a_f}, b) such that the chain's rest is y ≥ b − Σ a_f x_f."""
    efficacy = {fact: problem.efficacy.get(fact, 1.0) for fact in sorted(free)}
    certain = {fact: 1.0 for fact, e in efficacy.items() if e == 1}
    strengths = {fact: -math.log1p(-e) for fact, e in efficacy.items() if 0 < e < 1}
    sums = {0.0}
    for strength in strengths.values():
        sums |= {known + strength for known in sums}
    values: list[float] = []
    for value in sorted(sums):
        if not values or value - values[-1] > APART:
            values.append(value)
    if len(values) == 1:
        yield certain, 1.0
    for one, other in itertools.pairwise(values):
        slope = (math.exp(-one) - math.exp(-other)) / (other - one)
        row = {fact: slope * strength for fact, strength in strengths.items()}
        # A fact of efficacy 1 leaves nothing: then no line asks for more than 0.
        top = math.exp(-one) + slope * one
        yield {**row, **dict.fromkeys(certain, top)}, top


#     IFR(S) = Σ_c w_c t_c Π_{f ∈ c ∩ S} (1 − e_f) / Σ_c w_c
#
# for a chain's weight w_c and retention t_c and a fact's expected efficacy e_f
# (`Problem.leakage`). The reduction is monotone and submodular, so that choosing the best fact
# again and again has a known fraction of the best reduction: 1 − 1/e without groups, 1/(p + 1)
# where a fact is in up to p groups (Nemhauser, Wolsey and Fisher 1978). Chains that hold no
# choosable fact stay in the sum. The exact value and two controls, random facts and those of the
# largest fraction of leakage, are given too.

DRAWS = 20
"""Random choices of each size."""

LIMIT_S = 10.0
"""Seconds that all exact values together may take."""


@dataclass(frozen=True)
class Budget:
    """The curve of IFR against the number of facts edited.

    Attributes:
        ifr: without any.
        points: for 1 to m facts.
        guarantee: fraction of the best reduction that the greedy choice has at least.
        draws: random choices of each size.
        note: which exact values are missing, and why.
    """

    ifr: float
    points: tuple[BudgetPoint, ...]
    guarantee: float
    draws: int
    note: str | None = None


def curve(
    problem: Problem, m: int, draws: int = DRAWS, seed: int = 0, *, limit_s: float = LIMIT_S
) -> Budget:
    """The curve for 1 to m facts; the same arguments give the same curve.

    Args:
        problem: costs do not matter here: each fact counts as one.
        draws: random choices of each size; those of a draw are prefixes of one random order.
        limit_s: seconds for all exact values together.

    Raises:
        UsageError: m below 1, or an expected efficacy that is not between 0 and 1.
    """
    if m < 1:
        raise UsageError(f"{m} facts to edit.", remedy="Give 1 or more.")
    sums = _Sums(problem)
    guarantee = _guarantee(problem)
    chosen = _greedy(sums, m, {})
    heaviest = first_allowed(problem, sorted(sums.leaking, key=lambda f: (-sums.shares[f], f)), m)
    orders = random.Random(seed)
    drawn = [first_allowed(problem, _shuffled(sums.leaking, orders), m) for _ in range(draws)]
    points = []
    for k in range(1, m + 1):
        facts = tuple(chosen[:k])
        ifr = problem.leakage(facts)
        values = [problem.leakage(of[:k]) for of in drawn]
        points.append(
            BudgetPoint(
                m=k,
                facts=list(facts),
                ifr=ifr,
                bound=min(ifr, sums.bound(facts, k, guarantee)),
                exact=None,
                random=statistics.fmean(values) if values else None,
                random_low=min(values, default=None),
                random_high=max(values, default=None),
                share=problem.leakage(heaviest[:k]),
            )
        )
    exact, note = _with_exact(problem, points, limit_s)
    return Budget(problem.leakage(()), tuple(exact), guarantee, draws, note)


def _guarantee(problem: Problem) -> float:
    """Fraction of the best reduction that greedy has at least; p groups a fact are p matroids."""
    free = frozenset(problem.facts)
    several = [group & free for group in problem.groups if len(group & free) > 1]
    most = max((sum(fact in group for group in several) for fact in free), default=0)
    return 1 / (most + 1) if most else 1 - 1 / math.e


def _with_exact(
    problem: Problem, points: Sequence[BudgetPoint], limit_s: float
) -> tuple[list[BudgetPoint], str | None]:
    """The points with their exact values, and which are missing."""
    ends = time.perf_counter() + limit_s
    floor = problem.leakage(problem.facts)
    found, missing = [], []
    for point in points:
        # One fact: greedy takes the best. At the least value of all there is nothing below it.
        exact = point.ifr if point.m == 1 or point.ifr <= floor else None
        left = ends - time.perf_counter()
        if exact is None and left > 0:
            value = least_leakage(problem, point.m, limit_s=left)
            exact = None if value is None else min(value, point.ifr)
        if exact is None:
            missing.append(str(point.m))
            found.append(point)
        else:
            better = {"exact": exact, "bound": min(point.bound, exact)}
            found.append(point.model_copy(update=better))
    if not missing:
        return found, None
    return found, f"No exact value for m = {', '.join(missing)}: not proved within {limit_s:g} s."


class _Sums:
    """The leakage through each fact."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.whole = sum(chain.weight for chain in problem.chains)
        self.efficacy = {fact: problem.efficacy.get(fact, 1.0) for fact in problem.facts}
        for fact, value in self.efficacy.items():
            if not 0 <= value <= 1:
                raise UsageError(f"Expected efficacy {value:g} of {fact!r}.", remedy="Give 0 to 1.")
        self.left = [chain.weight * chain.retention for chain in problem.chains]
        self.through: dict[Fact, list[int]] = defaultdict(list)
        for i, chain in enumerate(problem.chains):
            for fact in chain.facts - problem.locked:
                self.through[fact].append(i)
        self.shares = {fact: self._sum(fact, self.left) for fact in problem.facts}
        self.leaking = tuple(fact for fact in problem.facts if self.shares[fact] > 0)

    def gain(self, fact: Fact, left: Sequence[float]) -> float:
        """The reduction of Σ w t by one more fact."""
        return self.efficacy[fact] * self._sum(fact, left)

    def without(self, facts: Iterable[Fact]) -> list[float]:
        """Return for each chain the rest of w t after editing facts."""
        left = list(self.left)
        for fact in facts:
            self.edit(fact, left)
        return left

    def edit(self, fact: Fact, left: list[float]) -> None:
        """Lower each chain's rest of w t by one more fact."""
        for i in self.through[fact]:
            left[i] *= 1 - self.efficacy[fact]

    def bound(self, facts: Sequence[Fact], m: int, guarantee: float) -> float:
        """Return a lower bound on the IFR of m facts, from the greedy choice.

        The greatest of three: greedy's guarantee; the m largest further reductions, as if they
        added up; all choosable facts edited.
        """
        now, before = self.problem.leakage(facts), self.problem.leakage(())
        if not self.whole:
            return 0.0
        left = self.without(facts)
        further = heapq.nlargest(m, (self.gain(fact, left) for fact in self.leaking))
        return max(
            before - (before - now) / guarantee,
            now - sum(further) / self.whole,
            self.problem.leakage(self.problem.facts),
        )

    def _sum(self, fact: Fact, left: Sequence[float]) -> float:
        return sum(left[i] for i in self.through[fact])


def greedy(problem: Problem, m: int, *, by_cost: bool = False) -> list[Fact]:
    """The best further fact, up to m times; of equal ones the first by id.

    Args:
        by_cost: best is the fact that lowers IFR most for its cost, not most.
    """
    return _greedy(_Sums(problem), m, problem.costs if by_cost else {})


def _greedy(sums: _Sums, m: int, costs: Mapping[Fact, float]) -> list[Fact]:
    """See `greedy`.

    A reduction never grows by further facts, so that an old one is an upper bound and only the top
    of the heap is computed again (lazy greedy, Minoux 1978).
    """
    chosen: list[Fact] = []
    left = list(sums.left)
    heap = [(-sums.gain(fact, left) / costs.get(fact, 1.0), fact, 0) for fact in sums.leaking]
    heapq.heapify(heap)
    while heap and len(chosen) < m:
        value, fact, seen = heapq.heappop(heap)
        if value == 0:
            break
        if not sums.problem.allowed([*chosen, fact]):
            continue  # and it never will be
        if seen < len(chosen):
            value = -sums.gain(fact, left) / costs.get(fact, 1.0)
            heapq.heappush(heap, (value, fact, len(chosen)))
            continue
        chosen.append(fact)
        sums.edit(fact, left)
    return chosen


def first_allowed(problem: Problem, order: Iterable[Fact], m: int) -> list[Fact]:
    """The first m facts of an order that locks and groups allow together."""
    found: list[Fact] = []
    for fact in order:
        if len(found) == m:
            break
        if problem.allowed([*found, fact]):
            found.append(fact)
    return found


def _shuffled(facts: Sequence[Fact], draw: random.Random) -> list[Fact]:
    return draw.sample(facts, len(facts))
