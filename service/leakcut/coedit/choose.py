"""The facts that a round of co-edits adds: those that lower IFR most, a whole cut, a control."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import replace

from .. import budget, hitting_set
from ..cut import Constraints
from ..leaks import Leaks
from ..problem import Chain
from ..schemas import CoEditIn


def chosen(
    leaks: Leaks,
    limits: Constraints,
    posted: CoEditIn,
    number: int,
    leaking: Sequence[Chain],
    listed: Collection[str],
) -> list[str]:
    """The facts that a round adds, at most `per_round` unless a whole cut is chosen.

    Args:
        number: of the round; a random choice differs between rounds.
        leaking: paths above the request's `leak`.
        listed: facts of the leak cut of the edit alone.
    """
    free = {fact for chain in leaking for fact in chain.facts} - limits.locked.keys()
    if posted.choose == "cut":
        to_cut = limits.problem(leaking, posted.cut.efficacy)
        return list(hitting_set.cut(to_cut, limit_s=posted.cut.seconds).facts)
    problem = limits.problem(leaks.counted, posted.cut.efficacy)
    if posted.choose in ("listed", "budget"):
        if posted.choose == "listed":
            free &= frozenset(listed)
        others = frozenset(problem.facts) - free
        within = replace(problem, locked=problem.locked | others)
        return budget.greedy(within, posted.per_round, by_cost=True)
    order = sorted(free)
    if posted.choose == "random":
        random.Random(f"{posted.draw} {number}").shuffle(order)
    else:
        through = {fact: _through(problem.chains, fact) for fact in order}
        order.sort(key=lambda fact: (-through[fact], fact))
    return budget.first_allowed(problem, order, posted.per_round)


def _through(chains: Collection[Chain], fact: str) -> float:
    """Return the sum of the IFR terms of all chains that contain this fact."""
    return sum(chain.weight * chain.retention for chain in chains if fact in chain.facts)
