"""The rule engine against every proof written out, on random graphs whose rules make circles."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest

from support.closure_rules import stored
from support.references.closure_reference import PlainRule, Tree, Triple, fixpoint, proofs
from thinkeval.service.base.errors import UsageError
from thinkeval.service.rules import engine
from thinkeval.service.rules.engine import STRENGTH, by_conclusion, ground, solve, solve_sizes

KINDS = dict.fromkeys("ABCD")
SEEDS = range(20)
MOST = 3
"""Facts of a proof that is written out."""
CIRCULAR = (
    PlainRule("r", True, None, False, "r", 0.75),
    PlainRule("r", False, "r", False, "r", 0.9),
    PlainRule("r", False, None, False, "s", 0.5),
    PlainRule("s", True, None, False, "r", 1.0),
)


def drawn(seed: int) -> tuple[dict[Triple, float], list[PlainRule]]:
    """Seven facts, and rules of one and two premises that lead back to their premises."""
    draw = random.Random(seed)
    facts: dict[Triple, float] = {}
    while len(facts) < 7:
        subject, object_ = draw.sample(sorted(KINDS), 2)
        facts[subject, draw.choice("rs"), object_] = draw.choice((0.0, 1.0, draw.random()))
    rules = {}
    while len(rules) < 4:
        first, second, last = (draw.choice("rst") for _ in range(3))
        if len(rules) < 2:
            backs = draw.random() < 0.5, draw.random() < 0.5
            made = PlainRule(first, backs[0], second, backs[1], last, draw.choice((0.5, 1.0)))
        else:
            back = first == last or draw.random() < 0.5
            made = PlainRule(first, back, None, False, last, draw.choice((0.75, 1.0)))
        rules[stored(made).id] = made
    return facts, list(rules.values())


def grounded(facts: dict[Triple, float], rules: list[PlainRule]) -> dict:
    used = [stored(rule) for rule in rules]
    factor = {one.id: one.rule.confidence or 1.0 for one in used}
    return by_conclusion(ground(facts, used, KINDS, factor))


def written_out(goal: Triple, facts: dict[Triple, float], rules: list[PlainRule]) -> list[Tree]:
    """Every proof of the goal with at most `MOST` facts."""
    return list(proofs(goal, facts, rules, KINDS, 8, most=MOST))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_best_proof_of_each_number_of_facts_is_that_of_all(seed: int) -> None:
    facts, rules = drawn(seed)
    ways = grounded(facts, rules)
    assert set(facts) | set(ways) == fixpoint(set(facts), rules, KINDS)
    sized, best = solve_sizes(ways, facts), solve(ways, facts, STRENGTH)
    for goal in ways:
        found: dict[int, list[float]] = defaultdict(list)
        for tree in written_out(goal, facts, rules):
            found[tree.leaves].append(tree.strength)
        mine = {n: proof.value for n, proof in sized[goal].items() if n <= MOST and proof}
        assert mine == pytest.approx({n: max(each) for n, each in found.items()}, abs=1e-15)
        if found:
            assert best[goal].value >= max(map(max, found.values())) - 1e-15


def test_search_without_steps_left_says_what_it_does_not_know() -> None:
    facts = {(a, "r", b): 0.5 + i / 20 for i, (a, b) in enumerate(("AB", "BC", "CD", "BA", "DA"))}
    ways = grounded(facts, list(CIRCULAR))
    exact = solve_sizes(ways, facts)
    assert all(proof is not None for sizes in exact.values() for proof in sizes.values())
    told = solve_sizes(ways, facts, most_steps=3)
    unknown = 0
    for triple, sizes in told.items():
        for size, proof in sizes.items():
            unknown += proof is None
            assert proof is None or proof.value == exact[triple][size].value  # type: ignore[union-attr]
    assert unknown


def test_too_many_groundings_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "MOST_GROUNDINGS", 3)
    with pytest.raises(UsageError, match="more than 3 groundings by round 1"):
        grounded({("A", "r", "B"): 1.0, ("B", "r", "C"): 1.0, ("C", "r", "D"): 1.0}, list(CIRCULAR))
