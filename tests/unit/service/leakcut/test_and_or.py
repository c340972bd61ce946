"""The cut of chains and rule proofs against brute force over subsets, with a naive fixpoint."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Collection, Iterator

import pytest

from thinkeval.service.base.errors import UsageError
from thinkeval.service.leakcut import hitting_set
from thinkeval.service.leakcut.hitting_set import (
    Atom,
    Chain,
    Derived,
    Fact,
    Inference,
    Problem,
    ProofProblem,
    cut_with_rules,
    derive,
)

SEEDS = range(200)


def horn(seed: int) -> ProofProblem:
    """Up to 10 facts and 25 groundings over 8 further atoms; cycles are likely."""
    draw = random.Random(seed)
    facts = {f"f{i}": f"F{i}" for i in range(draw.randint(2, 10))}
    if draw.random() < 0.3:  # two facts that state the same
        facts["f0"] = facts["f1"]
    atoms = [f"A{i}" for i in range(draw.randint(1, 8))]
    groundings = []
    for _ in range(draw.randint(2, 25)):
        premises = tuple(draw.choices([*atoms, *facts.values()], k=draw.choice([1, 2, 2, 3])))
        conclusion = draw.choice([*atoms, *facts.values(), "T", "T"])
        if draw.random() < 0.05:
            premises = (*premises, "T")
        groundings.append(Inference(premises, conclusion, draw.choice([1.0, 0.9, 0.5])))
    chains = []
    for _ in range(draw.randint(0, 3)):
        size = draw.randint(1, min(4, len(facts)))
        chains.append(Chain(frozenset(draw.sample(sorted(facts), size)), 1 / math.sqrt(size)))
    costs = {f: draw.choice([0.5, 2.0, 3.5]) for f in facts if draw.random() < 0.5}
    locked = frozenset(f for f in facts if draw.random() < draw.choice([0.0, 0.0, 0.2, 0.5]))
    groups: tuple[frozenset[Fact], ...] = ()
    if draw.random() < 0.4:
        mixed = draw.sample(sorted(facts), len(facts))
        groups = tuple(frozenset(mixed[i : i + 3]) for i in range(0, len(mixed), 3))
    most = draw.choice([None, None, 1, 2, 3, 4])
    return ProofProblem(
        "T", facts, tuple(groundings), tuple(chains), most, costs, locked, groups
    )  # fmt: skip


def inferences(problem: ProofProblem) -> list[Inference]:
    """Groundings and chains, without those that pass the target."""
    paths = [
        Inference(tuple(str(problem.facts[f]) for f in sorted(c.facts)), "T", c.weight)
        for c in problem.chains
    ]
    return [one for one in dict.fromkeys((*problem.groundings, *paths)) if "T" not in one.premises]


def sizes(problem: ProofProblem, edited: Collection[Fact]) -> set[tuple[Atom, int]]:
    """{(atom, number of facts of a proof)}: naive rounds; without a limit the number is 0."""
    most = problem.most
    known: set[tuple[Atom, int]] = {
        (atom, 0 if most is None else 1) for f, atom in problem.facts.items() if f not in edited
    }
    while True:
        new = set()
        for one in inferences(problem):
            by = [[n for a, n in known if a == premise] for premise in one.premises]
            sums = {sum(parts) for parts in itertools.product(*by)}
            new |= {(one.conclusion, n) for n in sums if most is None or n <= most}
        if new <= known:
            return known
        known |= new


def open_weight(problem: ProofProblem, edited: Collection[Fact]) -> float:
    """Summed weight of the last inferences whose premises still hold."""
    known = sizes(problem, edited)
    total = 0.0
    for one in inferences(problem):
        by = [[n for a, n in known if a == premise] for premise in one.premises]
        least = sum(min(numbers, default=99) for numbers in by)
        if one.conclusion == "T" and all(by) and (problem.most is None or least <= problem.most):
            total += one.weight
    return total


def choices(problem: ProofProblem) -> Iterator[tuple[Fact, ...]]:
    """All facts that locks and groups allow together."""
    free = sorted(problem.facts.keys() - problem.locked)
    limits = Problem((), locked=problem.locked, groups=problem.groups)
    for size in range(len(free) + 1):
        yield from (f for f in itertools.combinations(free, size) if limits.allowed(f))


def cost(problem: ProofProblem, facts: Collection[Fact]) -> float:
    """Of editing these facts."""
    return sum(problem.costs.get(fact, 1.0) for fact in facts)


@pytest.mark.parametrize("part", range(4))
def test_equals_brute_force_on_random_horn_clauses(part: int) -> None:
    cuts, open_, nothing = 0, 0, 0
    for seed in SEEDS[part::4]:
        problem = horn(seed)
        rated = [
            (round(open_weight(problem, facts), 9), round(cost(problem, facts), 9), facts)
            for facts in choices(problem)
        ]
        weight, least, _ = min(rated)
        found = cut_with_rules(problem)
        assert found.facts in {f for w, c, f in rated if (w, c) == (weight, least)}, seed
        assert found.cost == pytest.approx(least), seed
        assert (found.complete, found.gap, found.bound) == (True, 0, found.cost), seed
        assert sum(each.weight for each in found.open) == pytest.approx(weight), seed
        # The target can be derived exactly where proofs stay, each by facts that suffice alone.
        assert any(atom == "T" for atom, _ in sizes(problem, found.facts)) == bool(found.open)
        for each in found.open:
            assert not each.facts & set(found.facts)
            others = problem.facts.keys() - each.facts
            assert any(atom == "T" for atom, _ in sizes(problem, others)), seed
        cuts += bool(found.facts) and not found.open
        open_ += bool(found.open)
        nothing += not found.facts and not found.open
    assert min(cuts, open_, nothing) >= 1


def test_derived_atoms_and_their_least_facts() -> None:
    for seed in SEEDS:
        problem = horn(seed)
        known = problem.derive()
        naive = sizes(problem, ())
        assert known.keys() == {atom for atom, _ in naive} if problem.most is None else True
        if problem.most is not None:
            least = {a: min(n for b, n in naive if a == b) for a, _ in naive}
            within = {a: d.leaves for a, d in known.items() if d.leaves <= problem.most}
            assert within == least, seed


def test_cycle_does_not_keep_itself_alive() -> None:
    there, back = Inference(("B",), "C"), Inference(("C",), "B")
    rules = (Inference(("a",), "B"), there, back, Inference(("C",), "T"))
    found = cut_with_rules(ProofProblem("T", {"1": "a"}, rules))
    assert (found.facts, found.cost) == (("1",), 1)
    assert derive((), (there, back)) == {}
    assert derive(("B",), (there, back)) == {"B": Derived(1, None), "C": Derived(1, there)}


def test_chain_fact_that_rules_restore_is_not_worth_editing() -> None:
    """Editing 1 alone leaves its statement derivable from 3; the cheaper cut is 2."""
    chain = Chain(frozenset("12"))
    restored = Inference(("c",), "a", name="c ⇒ a")
    facts = {"1": "a", "2": "b", "3": "c"}
    plain = ProofProblem("T", facts, (), (chain,), costs={"2": 1.5})
    assert cut_with_rules(plain).facts == ("1",)
    with_rule = ProofProblem("T", facts, (restored,), (chain,), costs={"2": 1.5})
    assert cut_with_rules(with_rule).facts == ("2",)
    locked = ProofProblem("T", facts, (restored,), (chain,), locked=frozenset("2"))
    assert cut_with_rules(locked).facts == ("1", "3")
    # The restored chain has two facts as well, but none of one.
    assert cut_with_rules(ProofProblem("T", facts, (restored,), (chain,), most=1)).facts == ()


def test_limit_leaves_larger_proofs() -> None:
    facts = {name: name.upper() for name in "abc"}
    rules = (
        Inference(("A", "B"), "D"), Inference(("D", "C"), "T"), Inference(("A", "A", "A"), "T"),
    )  # fmt: skip
    assert cut_with_rules(ProofProblem("T", facts, rules)).facts == ("a",)
    assert cut_with_rules(ProofProblem("T", facts, rules, most=3)).facts == ("a",)
    assert cut_with_rules(ProofProblem("T", facts, rules, most=2)).facts == ()
    assert cut_with_rules(ProofProblem("T", facts, rules, costs={"a": 9.0}, most=2)).facts == ()
    assert cut_with_rules(ProofProblem("T", facts, rules[:2], costs={"a": 9.0}, most=3)).facts in [
        ("b",),
        ("c",),
    ]


def test_proof_of_locked_facts_is_named() -> None:
    rules = (Inference(("A", "B"), "C"), Inference(("C",), "T", 1.0, "C ⇒ T"))
    chain = Chain(frozenset("d"), name="d")
    facts = {name: name.upper() for name in "abd"}
    found = cut_with_rules(ProofProblem("T", facts, rules, (chain,), locked=frozenset("ab")))
    assert found.facts == ("d",)
    assert found.open == (Chain(frozenset("ab"), 1.0, name="C ⇒ T"),)


def test_without_rules_it_is_the_hitting_set() -> None:
    for seed in range(60):
        problem = horn(seed)
        chains = problem.chains
        limits = {"costs": problem.costs, "locked": problem.locked, "groups": problem.groups}
        plain = hitting_set.cut(Problem(tuple(dict.fromkeys(chains)), **limits))
        found = cut_with_rules(ProofProblem("T", problem.facts, (), chains, **limits))
        if len(set(problem.facts.values())) == len(problem.facts):
            assert found.cost == pytest.approx(plain.cost)
            weights = [sum(c.weight for c in each.open) for each in (found, plain)]
            assert weights[0] == pytest.approx(weights[1])


def test_facts_that_state_the_target_are_edited_anyway() -> None:
    facts = {"1": "T", "2": "b"}
    problem = ProofProblem("T", facts, (Inference(("b",), "T"),), (Chain(frozenset("1")),))
    assert cut_with_rules(problem).facts == ("2",)
    assert cut_with_rules(ProofProblem("T", {"1": "T"}, ())).facts == ()


def test_reduced_keeps_what_proves_the_target() -> None:
    rules = (
        Inference(("A",), "B"), Inference(("B",), "T"), Inference(("A",), "X"),
        Inference(("nothing",), "T"), Inference(("T",), "A"),
    )  # fmt: skip
    small = ProofProblem("T", {"1": "A", "2": "X"}, rules).reduced()
    assert small.groundings == rules[:2]
    assert small.facts == {"1": "A"}
    assert small.atoms == {"A", "B", "T"}


def test_costs_are_positive() -> None:
    with pytest.raises(UsageError, match="must be positive"):
        cut_with_rules(ProofProblem("T", {"1": "A"}, (Inference(("A",), "T"),), costs={"1": 0.0}))


def test_hundreds_of_groundings_are_cut_fast() -> None:
    """Kinship of a chain of 30 generations: an ancestor is a parent, or an ancestor's parent."""
    n = 30
    facts = {f"p{i}": ("parent", i, i + 1) for i in range(n)}
    rules = [Inference((atom,), ("ancestor", *atom[1:])) for atom in facts.values()]
    for i, j in itertools.combinations(range(n + 1), 2):
        for k in range(i + 1, j):
            rules.append(Inference((("ancestor", i, k), ("ancestor", k, j)), ("ancestor", i, j)))
    assert len(rules) > 4_000
    found = cut_with_rules(ProofProblem(("ancestor", 0, n), facts, tuple(rules)), limit_s=5)
    assert (len(found.facts), found.gap) == (1, 0)
