"""Which facts a round of co-edits adds: those that lower IFR most, a whole cut, or a control."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence

from thinkeval.service.leakcut import hitting_set
from thinkeval.service.leakcut.cut import Constraints
from thinkeval.service.leakcut.leaks import Leaks
from thinkeval.service.leakcut.problem import Chain, Problem
from thinkeval.service.leakcut.schemas import CoEditIn


def chosen(
    leaks: Leaks, limits: Constraints, posted: CoEditIn, number: int, leaking: Sequence[Chain]
) -> list[str]:
    """The facts that a round adds, at most `per_round` unless a whole cut is chosen.

    Args:
        number: of the round; a random choice differs between rounds.
        leaking: paths above the request's `leak`.
    """
    problem = limits.problem(leaks.counted, posted.cut.efficacy)
    free = sorted({f for chain in leaking for f in chain.facts} - limits.locked.keys())
    if posted.choose == "cut":
        to_cut = limits.problem(leaking, posted.cut.efficacy)
        return list(hitting_set.cut(to_cut, limit_s=posted.cut.seconds).facts)
    if posted.choose == "random":
        random.Random(f"{posted.draw} {number}").shuffle(free)
        return _first_allowed(free, problem, posted.per_round)
    if posted.choose == "share":
        through = {f: _through(problem.chains, f) for f in free}
        ranked = sorted(free, key=lambda f: (-through[f], f))
        return _first_allowed(ranked, problem, posted.per_round)
    return _greedy(free, problem, posted.per_round)


def _through(chains: Collection[Chain], fact: str) -> float:
    """What leaks through a fact: the part of IFR's numerator of the chains that hold it."""
    return sum(chain.weight * chain.retention for chain in chains if fact in chain.facts)


def _first_allowed(ranked: Sequence[str], problem: Problem, most: int) -> list[str]:
    """The first facts of a ranking that may be edited together."""
    out: list[str] = []
    for fact in ranked:
        if len(out) < most and problem.allowed([*out, fact]):
            out.append(fact)
    return out


def _greedy(free: Sequence[str], problem: Problem, most: int) -> list[str]:
    """One after the other the fact that lowers the expected IFR most for its cost.

    With equal costs IFR is within 1 - 1/e of the best decrease, with keys within 1/2: the decrease
    is monotone and submodular.
    """
    out: list[str] = []
    while len(out) < most:
        now = problem.leakage(out)
        gains = [
            ((now - problem.leakage([*out, fact])) / problem.costs.get(fact, 1.0), fact)
            for fact in free
            if fact not in out and problem.allowed([*out, fact])
        ]
        if not gains or max(gains)[0] <= 0:
            break
        best = max(gain for gain, _ in gains)
        out.append(min(fact for gain, fact in gains if gain == best))
    return out
