"""The lowest IFR that editing m facts can reach, exactly, as a mixed-integer program.

With λ_f = −ln(1 − e_f) a chain keeps exp(−u) of its leakage, u = Σ λ_f x_f over its facts. That is
convex, and u takes few values (at most 2⁵ on a chain of five facts): the lines through neighbouring
ones bound it from below everywhere and meet it at each. For e_f = 1 the program is that of maximum
coverage:

    min Σ_c w_c t_c y_c    y_c ≥ 1 − Σ_{f ∈ c} x_f    Σ_f x_f ≤ m    Σ_{f ∈ group} x_f ≤ 1
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from ..errors import UsageError
from .milp import Program
from .problem import Fact, Problem

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
