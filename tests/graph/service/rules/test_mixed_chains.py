"""The chains over conclusions, one by one: against every chain and proof written out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import pytest

from support.closure_rules import stored
from support.own_graphs import own_graphs
from support.references.closure_reference import PlainRule, Triple
from support.references.omega_reference import (
    MOST,
    SEEDS,
    THRESHOLD,
    Sizes,
    drawn_rules,
    mixed,
    sides,
    sized,
    survives,
    triple,
)
from support.stored_edits import probed, random_facts, store_edit
from thinkeval.cypher.run import Database
from thinkeval.service.models.edit import Score
from thinkeval.service.rules.omega import Chosen, MixedChainOut, MixedLinkOut, omega
from thinkeval.service.rules.omega import mixed as listed
from thinkeval.service.rules.schemas import ProofOut
from thinkeval.service.rules.store import StoredRule
from thinkeval.service.scoring.probe import ProbedFact


@pytest.fixture(scope="module")
def prefix(db: Database) -> Iterator[str]:
    with own_graphs(db) as mine:
        yield mine


def reference(
    facts: Sequence[ProbedFact], rules: Sequence[PlainRule]
) -> dict[tuple[str, ...], list[Sizes]]:
    names = dict.fromkeys(n for f in facts for n in (triple(f)[0], triple(f)[2]))
    goals = [(x, n, z) for x in names for n in "rqu" for z in names if x != z]
    worth = {goal: sized(goal, facts, rules, names) for goal in goals}
    return mixed(facts, worth, list(names))


def triple_of(proof: ProofOut) -> Triple:
    return (proof.subject, proof.relation, proof.object)


def holds(proof: ProofOut, rules: dict[str, PlainRule], values: dict[Triple, float]) -> float:
    """The proof's strength, computed anew; every inference is one of its rule's."""
    if not proof.implied:
        return values[triple_of(proof)]
    assert proof.rule is not None
    rule = rules[proof.rule]
    one, *others = (triple_of(premise) for premise in proof.premises)
    y = next((n for n in one[::2] for other in others if n in other[::2]), "")
    assert rule.premises(proof.subject, y, proof.object) == (one, *others)
    strength = math.prod(holds(premise, rules, values) for premise in proof.premises)
    assert proof.leaves == sum(premise.leaves for premise in proof.premises)
    return strength * rule.confidence


def passed(proof: ProofOut) -> set[Triple]:
    return {triple_of(proof)}.union(*(passed(premise) for premise in proof.premises))


def check_link(
    link: MixedLinkOut,
    rules: dict[str, PlainRule],
    before: dict[Triple, float],
    after: dict[Triple, float],
    edited: set[Triple],
) -> None:
    mine = (link.subject, link.relation, link.object)
    if not link.implied:
        assert (link.facts, link.proof) == (1, None)
        assert (link.pre, link.post) == (before[mine], after[mine])
        return
    assert link.proof is not None
    assert triple_of(link.proof) == mine
    assert link.facts == link.proof.leaves
    assert holds(link.proof, rules, after) == pytest.approx(link.post) == link.proof.strength_post
    pre = holds(link.proof, rules, before)
    assert link.proof.strength_pre == pytest.approx(pre)
    assert link.pre is not None
    assert pre <= link.pre + 1e-12
    below = set().union(*(passed(premise) for premise in link.proof.premises))
    assert not below & (edited | {mine})


def check_chain(item: MixedChainOut, forms: list[Sizes], most: int) -> None:
    """The strongest form that survives, else the strongest there is."""
    there = [(n, *pair) for form in forms for n, pair in form.items() if n <= most]
    alive = [(n, pre, post) for n, pre, post in there if survives(pre, post)]
    assert item.surviving == bool(alive)
    assert item.r_pre is not None
    assert item.r_post is not None
    assert item.r_post == pytest.approx(max(post for *_, post in alive or there))
    assert any(
        n == item.steps and (item.r_pre, item.r_post) == (pytest.approx(pre), pytest.approx(post))
        for n, pre, post in there
    )
    assert item.surviving == (item.r_post > THRESHOLD * item.r_pre and item.r_post > 0)
    assert item.steps == sum(link.facts or 0 for link in item.links)
    assert math.prod(link.post or 0.0 for link in item.links) == pytest.approx(item.r_post)
    assert item.entities == [item.links[0].subject, *(link.object for link in item.links)]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_chain_is_listed_with_its_strongest_form(
    db: Database, prefix: str, seed: int
) -> None:
    facts, rules = random_facts(seed, others=4, links=17), drawn_rules(seed)
    edit = f"{prefix}-{seed}"
    score = store_edit(db, edit, facts, dataset=edit)
    want = reference(facts, rules)
    used = [stored(rule) for rule in rules]
    by_id = {stored(rule).id: rule for rule in rules}
    before, after = sides(facts)
    counted = omega(db, score, "likelihood", used)
    for most in range(1, MOST + 1):
        found = listed(db, score, "likelihood", used, Chosen(max_steps=most))
        there = {p: forms for p, forms in want.items() if min(map(min, forms)) <= most}
        assert {tuple(item.entities) for item in found.items} == set(there)
        at = counted.at("both", most)
        assert (found.total, found.surviving) == (at.chains, at.surviving)
        assert len(found.items) == found.total
        for item in found.items:
            check_chain(item, want[tuple(item.entities)], most)
            for link in item.links:
                check_link(link, by_id, before, after, {triple(f) for f in facts[:2]})
        strengths = [item.r_post or 0.0 for item in found.items]
        assert strengths == sorted(strengths, reverse=True)


def in_parts(db: Database, score: Score, used: list[StoredRule], kept: Chosen) -> list:
    items: list[MixedChainOut] = []
    while True:
        part = kept.model_copy(update={"cursor": str(len(items)), "limit": 3})
        page = listed(db, score, "likelihood", used, part)
        items += page.items
        assert len(page.items) == 3 or page.next is None
        if page.next is None:
            assert len(items) == page.total
            return items
        assert page.next == str(len(items))


def test_a_part_of_them_and_those_that_survive(db: Database, prefix: str) -> None:
    cut = 0
    for seed in SEEDS:
        facts = random_facts(seed, others=4, links=17)
        edit = f"{prefix}-part-{seed}"
        score = store_edit(db, edit, facts, dataset=edit)
        used = [stored(rule) for rule in drawn_rules(seed)]
        everything = listed(db, score, "likelihood", used).items
        assert in_parts(db, score, used, Chosen()) == everything
        alive = in_parts(db, score, used, Chosen(surviving=True))
        assert alive == [item for item in everything if item.surviving]
        three = in_parts(db, score, used, Chosen(steps=3))
        assert three == [item for item in everything if item.steps == 3]
        cut += len(everything) - len(alive)
    assert cut >= 5


def test_without_rules_there_are_none(db: Database, prefix: str) -> None:
    edit = f"{prefix}-none"
    score = store_edit(db, edit, random_facts(1), dataset=edit)
    page = listed(db, score, "likelihood", [])
    assert (page.total, page.rules, page.items, page.next) == (0, 0, [], None)


def test_a_conclusion_is_counted_by_the_facts_below_it(db: Database, prefix: str) -> None:
    """S -q-> A, A -q-> B give S -u-> B; with B -t-> T that is a chain of three facts."""
    rule = PlainRule("q", False, "q", False, "u", 0.5)
    facts = [
        probed(("S", "r", "T"), 0.9, 0.1, "target_true", listed=False),
        probed(("S", "r", "N"), 0.1, 0.9, "target_new", listed=False),
        probed(("S", "q", "A"), 0.8, 0.4),
        probed(("A", "q", "B"), 0.5, 0.5),
        probed(("B", "t", "T"), 1.0, 0.25),
    ]
    edit = f"{prefix}-three"
    score = store_edit(db, edit, facts, dataset=edit)
    (item,) = listed(db, score, "likelihood", [stored(rule)]).items
    assert (item.steps, item.entities, item.surviving) == (3, ["S", "B", "T"], True)
    assert (item.r_pre, item.r_post) == (pytest.approx(0.2), pytest.approx(0.025))
    assert item.ratio == pytest.approx(0.125)
    implied, fact = item.links
    assert (implied.facts, implied.pre, implied.post) == (2, pytest.approx(0.2), pytest.approx(0.1))
    assert (fact.facts, fact.pre, fact.post, fact.ratio) == (1, 1.0, 0.25, 0.25)
    assert implied.proof is not None
    assert implied.proof.text == stored(rule).rule.text()
    assert [triple_of(premise) for premise in implied.proof.premises] == [
        ("S", "q", "A"),
        ("A", "q", "B"),
    ]
