"""The exact leak cut against brute force over all subsets, its soft form, and its time limit."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from types import SimpleNamespace

import networkx as nx
import pytest

from thinkeval.service.base.errors import UsageError
from thinkeval.service.leakcut.hitting_set import Chain, Fact, Problem, alternatives, cut, minimal

SEEDS = range(200)


def family(seed: int, *, plain: bool = False) -> Problem:
    """Chains over at most 12 facts, with weights, costs, locks and groups by chance.

    Args:
        plain: without costs and groups, so that many cuts cost the same.
    """
    draw = random.Random(seed)
    facts = [f"f{i:02}" for i in range(draw.randint(2, 12))]
    chains = []
    for _ in range(draw.randint(1, 14)):
        size = min(len(facts), draw.randint(1, 5))
        # Near-equal weights: what the soft form prices has to tell them apart.
        weight = draw.choice([1 / math.sqrt(size), draw.uniform(0.9, 1.0)])
        chains.append(Chain(frozenset(draw.sample(facts, size)), weight))
    costs = {f: draw.choice([1.0, 0.5, 2.0, 30.0]) for f in facts if draw.random() < 0.6}
    locked = frozenset(f for f in facts if draw.random() < draw.choice([0.0, 0.2, 0.5]))
    if plain:
        return Problem(tuple(chains), locked=locked if draw.random() < 0.5 else frozenset())
    groups: list[frozenset[Fact]] = []
    if draw.random() < 0.6:
        mixed = draw.sample(facts, len(facts))
        size = draw.randint(2, 4)
        groups = [frozenset(mixed[i : i + size]) for i in range(0, len(mixed), size)]
        if draw.random() < 0.5:  # keys that are near each other need not be transitive
            groups.append(frozenset(draw.sample(facts, 2)))
    return Problem(tuple(chains), costs, locked, tuple(groups))


def subsets(problem: Problem) -> Iterator[tuple[Fact, ...]]:
    """All choices that locks and groups allow."""
    for size in range(len(problem.facts) + 1):
        for facts in itertools.combinations(problem.facts, size):
            if problem.allowed(facts):
                yield facts


def least(problem: Problem) -> tuple[float, float, set[tuple[Fact, ...]]]:
    """(weight of the open chains, cost, all best choices): most weight cut, then least cost."""
    rated = [
        (
            round(sum(chain.weight for chain in problem.survivors(facts)), 9),
            round(problem.cost(facts), 9),
            facts,
        )
        for facts in subsets(problem)
    ]
    weight, cost, _ = min(rated)
    return weight, cost, {facts for w, c, facts in rated if (w, c) == (weight, cost)}


def test_equals_brute_force_on_random_families() -> None:
    open_, free = 0, 0
    for seed in SEEDS:
        problem = family(seed)
        weight, cost, best = least(problem)
        found = cut(problem)
        assert found.facts in best, seed
        assert found.cost == pytest.approx(cost), seed
        assert (found.complete, found.gap, found.bound) == (True, 0, found.cost), seed
        assert found.open == tuple(problem.survivors(found.facts)), seed
        assert sum(chain.weight for chain in found.open) == pytest.approx(weight, abs=1e-9), seed
        open_ += bool(found.open)
        free += not found.open
    assert min(open_, free) >= 50  # both forms are tried


def test_alternatives_are_all_other_cuts_of_the_same_cost() -> None:
    several = 0
    for seed in range(100):
        problem = family(seed, plain=seed % 4 > 0)
        best = cut(problem)
        others = list(alternatives(problem, best, most=200))
        if best.open:
            assert others == []
            continue
        known = least(problem)[2]
        assert {other.facts for other in others} == known - {best.facts}, seed
        assert len({other.facts for other in others}) == len(others)
        assert all(other.cost == pytest.approx(best.cost) and not other.open for other in others)
        several += len(others) > 2
        for one, other in itertools.permutations([best, *others], 2):
            assert not set(one.facts) < set(other.facts), seed
        some = list(alternatives(problem, best, most=2))
        assert len(some) == min(2, len(others)), seed
    assert several >= 10, several


def test_no_alternatives_are_asked_for() -> None:
    problem = Problem((Chain(frozenset("ab")),))
    assert list(alternatives(problem, cut(problem), most=0)) == []
    assert [other.facts for other in alternatives(problem, cut(problem))] in ([("a",)], [("b",)])


def test_nothing_to_cut() -> None:
    found = cut(Problem(()))
    assert (found.facts, found.cost, found.bound, found.gap, found.open) == ((), 0, 0, 0, ())
    assert list(alternatives(Problem(()), found)) == []


def test_soft_form_leaves_the_lightest_chain_whatever_the_costs() -> None:
    # One of two facts of a key: the heavier chain is cut although its fact costs far more.
    heavy, light = Chain(frozenset("a"), 1.0, name="A"), Chain(frozenset("b"), 0.99, name="B")
    costs = {"a": 1000.0, "b": 1.0}
    found = cut(Problem((heavy, light), costs, groups=(frozenset("ab"),)))
    assert (found.facts, found.open) == (("a",), (light,))


def test_chain_of_locked_facts_is_named() -> None:
    locked = Chain(frozenset("xy"), name="X → Y")
    found = cut(Problem((Chain(frozenset("xa")), locked), locked=frozenset("xy")))
    assert (found.facts, found.open) == (("a",), (locked,))
    everything = cut(Problem((locked,), locked=frozenset("xy")))
    assert (everything.facts, everything.open, everything.gap) == ((), (locked,), 0)


def test_supersets_cost_no_row() -> None:
    chains = [Chain(frozenset(facts)) for facts in ("abc", "ab", "ab", "cd", "d")]
    assert minimal(chains) == [frozenset("d"), frozenset("ab")]


def test_costs_are_positive() -> None:
    with pytest.raises(UsageError, match="must be positive"):
        cut(Problem((Chain(frozenset("ab")),), {"a": 0.0}))


def walks(graph: nx.DiGraph, most: int) -> list[Chain]:
    """The chains from s to t of at most so many facts."""
    paths = nx.all_simple_edge_paths(graph, "s", "t", cutoff=most)
    return [Chain(frozenset(f"{a}{b}" for a, b in path)) for path in paths]


def test_is_not_a_minimum_cut() -> None:
    graph = nx.DiGraph([*itertools.pairwise("sat"), *itertools.pairwise("sbcdet")])
    assert len(nx.minimum_edge_cut(graph, "s", "t")) == 2
    assert len(cut(Problem(tuple(walks(graph, 4)))).facts) == 1
    assert len(cut(Problem(tuple(walks(graph, 5)))).facts) == 2


def test_minimum_cut_of_the_facts_on_chains_may_be_larger() -> None:
    """Facts of short chains may join into a longer one, which needs no cut."""
    larger = []
    for seed in range(125, 140):
        draw = random.Random(seed)
        pairs = [p for p in itertools.permutations("sabcdefgt", 2) if p[1] != "s" and p[0] != "t"]
        graph = nx.DiGraph(draw.sample(pairs, 20))
        chains = walks(graph, 4)
        used = nx.DiGraph([(fact[0], fact[1]) for chain in chains for fact in chain.facts])
        needed, found = len(nx.minimum_edge_cut(used, "s", "t")), cut(Problem(tuple(chains)))
        graph.remove_edges_from([(fact[0], fact[1]) for fact in found.facts])
        assert not walks(graph, 4)
        if len(found.facts) != needed:
            larger.append((seed, len(found.facts), needed))
    assert larger == [(133, 2, 3)]


def steiner(size: int) -> list[frozenset[int]]:
    """Steiner triples of 3, 9, 27, … points, whose smallest hitting sets are hard to prove."""
    if size == 3:
        return [frozenset({0, 1, 2})]
    third, smaller = size // 3, steiner(size // 3)
    found = [frozenset({i, i + third, i + 2 * third}) for i in range(third)]
    for a, b, c in map(sorted, smaller):
        for i, j in itertools.product(range(3), repeat=2):
            places = zip((a, b, c), (i, j, (-i - j) % 3), strict=True)
            found.append(frozenset(point + third * part for point, part in places))
    return found


def test_time_limit_gives_a_cut_with_a_bound() -> None:
    chains = [Chain(frozenset(f"p{i:02}" for i in triple)) for triple in steiner(81)]
    problem = Problem(tuple(chains))
    found = cut(problem, limit_s=1)
    assert not problem.survivors(found.facts)
    assert found.cost == len(found.facts)
    assert not found.complete
    assert found.bound < found.cost
    assert found.gap == pytest.approx((found.cost - found.bound) / found.bound)


def test_time_limit_without_a_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem((Chain(frozenset("ab")),))
    result = SimpleNamespace(x=None, status=1, message="Time limit reached.")
    monkeypatch.setattr("scipy.optimize.milp", lambda *_, **__: result)
    with pytest.raises(UsageError, match="No cut was found in 3 s"):
        cut(problem, limit_s=3)
