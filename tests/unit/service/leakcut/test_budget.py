"""The facts that lower IFR most: greedy, its bound, the exact value and the controls."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence

import pytest

from thinkeval.service.base.errors import UsageError
from thinkeval.service.leakcut.budget import Budget, curve, least_leakage
from thinkeval.service.leakcut.hitting_set import Chain, Fact, Problem
from thinkeval.service.models.leakcut import BudgetPoint

SEEDS = range(200)


def family(seed: int) -> Problem:
    """Chains of up to 5 of at most 8 facts, a third of them with certain edits."""
    draw = random.Random(seed)
    facts = [f"f{i}" for i in range(draw.randint(2, 8))]
    chains = []
    for _ in range(draw.randint(1, 12)):
        size = min(len(facts), draw.randint(1, 5))
        retention = draw.choice([0.0, 1.0, draw.random(), 1.3])
        chains.append(Chain(frozenset(draw.sample(facts, size)), 1 / math.sqrt(size), retention))
    kind = seed % 3
    efficacy = {
        fact: [1.0, 0.95, draw.choice([0.0, 0.3, 0.8, 0.95, 1.0, draw.random()])][kind]
        for fact in facts
    }
    locked = frozenset(f for f in facts if draw.random() < draw.choice([0.0, 0.3]))
    groups: tuple[frozenset[Fact], ...] = ()
    if draw.random() < 0.5:
        mixed = draw.sample(facts, len(facts))
        groups = tuple(frozenset(mixed[i : i + 3]) for i in range(0, len(mixed), 3))
        if draw.random() < 0.3:
            groups += (frozenset(draw.sample(facts, 2)),)
    return Problem(tuple(chains), locked=locked, groups=groups, efficacy=efficacy)


def least(problem: Problem, m: int) -> float:
    """The lowest IFR of at most m facts, by all choices."""
    return min(
        problem.leakage(facts)
        for size in range(m + 1)
        for facts in itertools.combinations(problem.facts, size)
        if problem.allowed(facts)
    )


def plain_greedy(problem: Problem, m: int) -> list[Fact]:
    """The best further fact, by trying each."""
    chosen: list[Fact] = []
    for _ in range(m):
        rated = [
            (round(problem.leakage([*chosen, fact]), 12), fact)
            for fact in problem.facts
            if fact not in chosen and problem.allowed([*chosen, fact])
        ]
        if not rated or min(rated)[0] >= round(problem.leakage(chosen), 12):
            break
        chosen.append(min(rated)[1])
    return chosen


def test_bound_exact_and_greedy_against_brute_force() -> None:
    worse, grouped = 0, 0
    for seed in SEEDS:
        problem = family(seed)
        found = curve(problem, 5, draws=3, seed=seed)
        before = problem.leakage(())
        assert (found.ifr, found.note, len(found.points)) == (before, None, 5)
        greedy = problem.leakage(plain_greedy(problem, 5))
        assert found.points[-1].ifr == pytest.approx(greedy, abs=1e-9), seed
        for point in found.points:
            best = least(problem, point.m)
            assert point.exact == pytest.approx(best, abs=1e-9), (seed, point)
            assert point.exact is not None
            assert point.bound <= point.exact <= point.ifr <= before + 1e-12, (seed, point)
            assert before - point.ifr >= found.guarantee * (before - best) - 1e-12, seed
            assert problem.allowed(point.facts)
            assert len(point.facts) <= point.m
            assert point.ifr == problem.leakage(point.facts)
            worse += point.ifr > best + 1e-9
        grouped += found.guarantee < 0.6
    assert worse  # greedy is not the best everywhere
    assert grouped >= 50


def test_reduction_is_monotone_and_submodular() -> None:
    draw = random.Random(5)
    for seed in SEEDS:
        problem = family(seed)
        facts = sorted(set().union(*(chain.facts for chain in problem.chains)))
        more = draw.sample(facts, draw.randint(0, len(facts)))
        fewer = more[: draw.randint(0, len(more))]
        one = draw.choice(facts)

        def gain(chosen: Sequence[Fact], problem: Problem = problem, one: Fact = one) -> float:
            return problem.leakage(chosen) - problem.leakage([*chosen, one])

        assert problem.leakage(more) <= problem.leakage(fewer) + 1e-12
        assert gain(fewer) >= gain(more) - 1e-12 >= -2e-12


def test_controls_keep_to_locks_groups_and_leaking_chains() -> None:
    for seed in SEEDS:
        problem = family(seed)
        leaking = {f for c in problem.chains if c.weight * c.retention > 0 for f in c.facts}
        free = [fact for fact in problem.facts if fact in leaking]
        choices = [
            facts
            for size in range(3)
            for facts in itertools.combinations(free, size)
            if problem.allowed(facts)
        ]
        # Two facts, or fewer where two are not allowed together.
        full = [f for f in choices if not any(set(f) < set(other) for other in choices)]
        values = [problem.leakage(facts) for facts in full]
        point = curve(problem, 2, draws=5, seed=seed).points[1]
        assert point.random_low is not None
        assert point.random is not None
        assert point.random_high is not None
        assert min(values) - 1e-12 <= point.random_low <= point.random + 1e-12, seed
        assert point.random <= point.random_high + 1e-12 <= max(values) + 2e-12, seed
        shares = sorted(free, key=lambda fact: (-share(problem, fact), fact))
        taken: list[Fact] = []
        for fact in shares:
            if len(taken) < 2 and problem.allowed([*taken, fact]):
                taken.append(fact)
        assert point.share == pytest.approx(problem.leakage(taken)), seed


def share(problem: Problem, fact: Fact) -> float:
    """Leakage through a fact."""
    return sum(c.weight * c.retention for c in problem.chains if fact in c.facts)


def test_random_control_is_the_mean_over_all_choices_in_the_long_run() -> None:
    chains = [Chain(frozenset(facts), 1.0) for facts in ("a", "ab", "bc", "d")]
    problem = Problem(tuple(chains))
    values = [problem.leakage(two) for two in itertools.combinations("abcd", 2)]
    point = curve(problem, 2, draws=4000, seed=1).points[1]
    assert point.random == pytest.approx(sum(values) / len(values), abs=0.01)
    assert (point.random_low, point.random_high) == (min(values), max(values))


def test_values_by_hand() -> None:
    """Two light chains through `hub` hide that `a` and `b` together cut everything."""
    sure = Chain(frozenset("x"), 1.0, 0.5, "edited fact")
    chains = [Chain(frozenset({"hub", "a"}), 1.0, 1.0), Chain(frozenset({"hub", "b"}), 1.0, 1.0),
              Chain(frozenset("a"), 0.9, 1.0), Chain(frozenset("b"), 0.9, 1.0), sure]  # fmt: skip
    problem = Problem(tuple(chains), locked=frozenset("x"))
    found = curve(problem, 3, draws=0)
    assert found.ifr == pytest.approx(4.3 / 4.8)
    assert found.guarantee == pytest.approx(1 - 1 / math.e)
    one, two, three = found.points
    assert (one.facts, one.ifr) == (["hub"], pytest.approx(2.3 / 4.8))
    assert (two.facts, two.ifr) == (["hub", "a"], pytest.approx(1.4 / 4.8))
    assert two.exact == pytest.approx(0.5 / 4.8)
    assert (three.facts, three.exact) == (["hub", "a", "b"], three.ifr)
    assert three.ifr == pytest.approx(0.5 / 4.8)  # the locked chain stays
    assert (one.random, one.random_low, one.random_high) == (None, None, None)
    assert one.share == one.ifr


def test_efficacy_leaves_a_part() -> None:
    problem = Problem((Chain(frozenset("ab")),), efficacy={"a": 0.9, "b": 0.5})
    one, two = curve(problem, 2).points
    assert (one.facts, one.ifr) == (["a"], pytest.approx(0.1))
    assert (two.ifr, two.exact) == (pytest.approx(0.05), pytest.approx(0.05))


def test_one_of_a_key() -> None:
    chains = tuple(Chain(frozenset(fact)) for fact in "abc")
    found = curve(Problem(chains, groups=(frozenset("ab"),)), 3)
    assert found.guarantee == 0.5
    assert [point.facts for point in found.points] == [["a"], ["a", "c"], ["a", "c"]]
    assert found.points[2].exact == pytest.approx(1 / 3)
    # Of two groups each: a third of the best is certain.
    both = (frozenset("ab"), frozenset("bc"))
    assert curve(Problem(chains, groups=both), 2).guarantee == pytest.approx(1 / 3)


def test_nothing_leaks_or_may_be_chosen() -> None:
    names = ("ifr", "bound", "exact", "random", "random_low", "random_high", "share")
    nothing = BudgetPoint(m=1, facts=[], **dict.fromkeys(names, 0.0))
    assert curve(Problem(()), 1) == Budget(0.0, (nothing,), 1 - 1 / math.e, 20)
    locked = Problem((Chain(frozenset("a"), 1.0, 0.4),), locked=frozenset("a"))
    (point,) = curve(locked, 1).points
    assert (point.facts, point.ifr, point.bound, point.exact, point.share) == ([], *[0.4] * 4)


def test_is_deterministic_and_refuses_bad_input() -> None:
    problem = family(4)
    assert curve(problem, 3, seed=9) == curve(problem, 3, seed=9)
    assert curve(problem, 3, seed=9) != curve(problem, 3, seed=10)
    with pytest.raises(UsageError, match="0 facts"):
        curve(problem, 0)
    with pytest.raises(UsageError, match=r"efficacy 1\.2 of 'a'"):
        curve(Problem((Chain(frozenset("a")),), efficacy={"a": 1.2}), 1)


def test_exact_value_is_said_to_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thinkeval.service.leakcut.budget.least_leakage", lambda *_, **__: None)
    problem = Problem(tuple(Chain(frozenset(pair)) for pair in ("ab", "bc", "cd", "da")))
    found = curve(problem, 3, limit_s=2)
    assert [point.exact for point in found.points] == [0.5, 0.0, 0.0]  # the least value of all
    problem = Problem((*problem.chains, *(Chain(frozenset(fact)) for fact in "abcd")))
    found = curve(problem, 3, limit_s=2)
    assert [point.exact is None for point in found.points] == [False, True, True]
    assert found.note == "No exact value for m = 2, 3: not proved within 2 s."
    assert all(point.bound <= point.ifr for point in found.points)


def test_hundred_chains_are_solved_exactly() -> None:
    draw = random.Random(3)
    facts = [f"f{i:02}" for i in range(40)]
    chains = tuple(
        Chain(
            frozenset(draw.sample(facts, n := draw.randint(2, 5))), 1 / math.sqrt(n), draw.random()
        )
        for _ in range(100)
    )
    problem = Problem(chains, efficacy=dict.fromkeys(facts, 0.95))
    pairs = (problem.leakage(two) for two in itertools.combinations(facts, 2))
    assert least_leakage(problem, 2, limit_s=5) == pytest.approx(min(pairs), abs=1e-9)
