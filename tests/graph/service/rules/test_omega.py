"""Omega(G) and an edit's implications against every path and proof written out."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import pytest

from support.closure_rules import stored
from support.own_graphs import own_graphs
from support.references.closure_reference import PlainRule, Triple, fits
from support.references.omega_reference import (
    MOST,
    SEEDS,
    THRESHOLD,
    TWO_PREMISES,
    drawn_rules,
    known,
    mixed,
    sized,
    survives,
    triple,
)
from support.stored_edits import probed, random_facts, store_edit
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.rules import closure
from thinkeval.service.rules.implications import ImplicationOut, implications, verdict
from thinkeval.service.rules.omega import KINDS, omega


@pytest.fixture(scope="module")
def prefix(db: Database) -> Iterator[str]:
    with own_graphs(db) as mine:
        yield mine


@pytest.mark.parametrize("seed", SEEDS)
def test_omega_is_every_path_and_proof_written_out(db: Database, prefix: str, seed: int) -> None:
    facts = random_facts(seed, others=4, links=17)
    rules = drawn_rules(seed)
    edit = f"{prefix}-{seed}"
    score = store_edit(db, edit, facts, dataset=edit)
    names = dict.fromkeys(n for f in facts for n in (triple(f)[0], triple(f)[2]))
    told = omega(db, score, "likelihood", [stored(r) for r in rules])

    metric = db.metric(
        "deep_edited",
        cases=[{
            "id": "x", "graph": edit, "subject": "S", "object": "T", "relation": "r",
            "rewrite": None,
        }],
        pre="likelihood_pre", post="likelihood_post", threshold=THRESHOLD,
    )  # fmt: skip
    by_step = {row.step: row for row in metric if row.step is not None}
    for step, row in by_step.items():
        assert (told.at("paths", step).chains, told.at("paths", step).value) == (row.n, row.value)

    goals = [(x, n, z) for x in names for n in "rqu" for z in names if x != z]
    worth = {goal: sized(goal, facts, rules, names) for goal in goals}
    held = {
        closure.triple_of(a): a.id
        for a in closure.closure(db, edit, [stored(r) for r in rules]).atoms.values()
        if a.implied
    }
    assert {g for g, sizes in worth.items() if sizes} <= set(held)

    old = known(worth["S", "r", "T"])
    chains = mixed(facts, worth, list(names))
    for step in range(1, MOST + 1):
        ways = [survives(*pair) for n, pair in old.items() if n <= step]
        at = told.at("rules", step)
        assert (at.chains, at.surviving) == (len(ways), sum(ways))
        assert at.value == (float(not any(ways)) if ways else None)
        there = [forms for forms in chains.values() if min(map(min, forms)) <= step]
        alive = [
            forms
            for forms in there
            if any(survives(*pair) for form in forms for n, pair in form.items() if n <= step)
        ]
        at = told.at("both", step)
        assert (at.chains, at.surviving) == (len(there), len(alive))
    for kind in KINDS:
        deep = [s for s in range(1, MOST + 1) if told.at(kind, s).value == 1]
        assert told.deep[kind] == max(deep, default=0)


@pytest.mark.parametrize(("left", "survives_"), [(0.008, 0), (0.01, 1)])
def test_a_proof_survives_above_its_share_of_what_it_was(
    db: Database, prefix: str, left: float, survives_: int
) -> None:
    """R is .81: R' of .0072 is below a hundredth of it; R' of .009 is above, though below .01."""
    facts = [
        probed(("S", "r", "T"), 0.9, 0.1, "target_true"),
        probed(("S", "r", "N"), 0.1, 0.9, "target_new", listed=False),
        probed(("S", "q", "A"), 0.9, left),
        probed(("A", "t", "T"), 0.9, 0.9),
    ]
    edit = f"{prefix}-share-{survives_}"
    score = store_edit(db, edit, facts, dataset=edit)
    told = omega(db, score, "likelihood", [stored(PlainRule("q", False, "t", False, "r"))])
    at = told.at("rules", 2)
    assert (at.chains, at.surviving, at.value) == (1, survives_, 1.0 - survives_)


def test_the_random_edits_have_something_to_come_back_by() -> None:
    both, by_rules = 0, 0
    for seed in SEEDS:
        facts, rules = random_facts(seed, others=4, links=17), drawn_rules(seed)
        names = dict.fromkeys(n for f in facts for n in (triple(f)[0], triple(f)[2]))
        goals = [(x, n, z) for x in names for n in "rqu" for z in names if x != z]
        worth = {goal: sized(goal, facts, rules, names) for goal in goals}
        by_rules += bool(worth["S", "r", "T"])
        both += len(mixed(facts, worth, list(names)))
    assert by_rules >= 2
    assert both >= 40


def dataset(db: Database, graph: str, facts: Sequence[Triple], kinds: dict[str, Any]) -> None:
    with db.transaction() as tx:
        tx.run(rows.MergeGraphRow, "graph/merge_graph", graph=graph, kind="dataset", dataset=graph)
        tx.run(int, "graph/clear_graph", graph=graph)
        tx.run(
            rows.WrittenRow,
            "graph/merge_entities",
            graph=graph,
            rows=[{"name": n, "kind": k} for n, k in kinds.items()],
        )
        tx.run(rows.WrittenRow, "graph/merge_facts", graph=graph, rows=[
            {"id": "-".join(t), "subject": t[0], "relation": t[1], "object": t[2], "prompt": "{}"}
            for t in facts
        ])  # fmt: skip
        tx.run(rows.CompleteGraphRow, "graph/complete_graph", graph=graph)


def compared(db: Database, graph: str, seed: int) -> list[ImplicationOut]:
    """The implications of a random edit, held to all groundings of the edited fact."""
    draw = random.Random(seed)
    kinds = {"S": "p", "T": "q", "A": "p", "B": "q", "C": None, "N": "q"}
    old, new = ("S", "r", "T"), ("S", "r", "N")
    facts = {old}
    while len(facts) < 13:
        a, b = draw.sample(["S", "T", "A", "B", "C"], 2)
        facts.add((a, draw.choice("rqt"), b))
    if seed % 2:  # the new object is one of the data set's, or not
        facts.add(("N", "q", "A"))
    listed = {name: kinds[name] for t in facts for name in (t[0], t[2])}
    dataset(db, graph, sorted(facts), listed)
    some = [t for t in sorted(facts) if t != old and draw.random() < 0.5]
    asked = {t: (draw.random(), draw.random()) for t in some}
    edited = [probed(old, 0.9, 0.1, "target_true"), probed(new, 0.0, 0.8, "target_new")]
    score = store_edit(
        db, f"{graph}-edit", [*edited, *(probed(t, *p) for t, p in asked.items())], dataset=graph
    )
    kind = (None, None, "q") if seed % 3 == 0 else (None, None, None)
    rules = [
        PlainRule("r", False, "q", seed % 2 == 0, "t", kinds=kind),
        PlainRule("q", True, "r", False, "t"),
        PlainRule("t", False, "r", True, "q"),
    ]
    if seed not in TWO_PREMISES:
        ends = ("p", None, "q") if seed % 2 else (None, None, None)
        rules += [
            PlainRule("r", False, None, False, "t", kinds=ends),
            PlainRule("r", True, None, False, "q"),
            PlainRule("q", True, None, False, "t"),
        ]
    told = implications(db, score, "likelihood", [stored(r) for r in rules])

    want: dict[Triple, set[tuple[str, str, Triple | None]]] = {}
    names = sorted({*listed, "N"})
    for form, fact in (("old", old), ("new", new)):
        for rule, x, y, z in ((r, *n) for r in rules for n in product(names, repeat=3)):
            if len({x, y, z}) < 3 or not fits(rule, kinds, x, y, z):
                continue
            one, *others = rule.premises(x, y, z)
            if not others and one == fact:
                ground = (form, stored(rule).id, None)
                want.setdefault((x, rule.relation3, z), set()).add(ground)
            for mine, rest in ((a, b) for b in others for a, b in ((one, b), (b, one))):
                if mine == fact and rest in facts - {old}:
                    ground = (form, stored(rule).id, rest)
                    want.setdefault((x, rule.relation3, z), set()).add(ground)
    mine = {(i.subject, i.relation, i.object): i for i in told.items}
    assert set(mine) == set(want)
    left = facts - {old}
    for key, item in mine.items():
        grounds = {
            (g.form, g.rule, next(((p.subject, p.relation, p.object) for p in g.premises
                                   if not p.edited), None))
            for g in item.groundings
        }  # fmt: skip
        assert grounds == want[key]
        support = sum(
            key[1] == rule.relation3
            and fits(rule, kinds, key[0], y, key[2])
            and set(rule.premises(key[0], y, key[2])) <= left
            for rule in rules
            for y in (set(listed) - {key[0], key[2]} if rule.relation2 else ("",))
        )
        assert item.support == support
        forms = {form for form, *_ in want[key]}
        assert item.side == (
            "kept" if support or len(forms) > 1 else "lost" if forms == {"old"} else "due"
        )
        probabilities = {**asked, old: (0.9, 0.1), new: (0.0, 0.8)}
        assert (item.pre, item.post) == probabilities.get(key, (None, None))
        assert item.stated == (key in facts)
        assert (item.verdict is None) == (item.pre is None)
    for side, hit, miss, share in (
        ("lost", "stale", "dropped", told.stale),
        ("due", "propagated", "missing", told.propagated),
        ("kept", "kept", "broken", told.kept),
    ):
        for which, part in ((True, share.stated), (False, share.only_implied)):
            there = [
                i.verdict for key, i in mine.items() if i.side == side and (key in facts) == which
            ]
            n = there.count(hit) + there.count(miss)
            assert (part.n, part.undefined) == (n, len(there) - n)
            assert part.value == (there.count(hit) / n if n else None)
        assert share.n == share.stated.n + share.only_implied.n
        assert share.undefined == share.stated.undefined + share.only_implied.undefined
    return told.items


def test_implications_are_every_grounding_of_the_edited_fact(db: Database, prefix: str) -> None:
    seen = set()
    for seed in SEEDS:
        items = compared(db, f"{prefix}-imp-{seed}", seed)
        seen |= {(item.side, item.verdict is None) for item in items}
    assert {side for side, _ in seen} == {"lost", "due", "kept"}
    assert {undefined for _, undefined in seen} == {True, False}


@pytest.mark.parametrize(
    ("side", "pre", "post", "expected"),
    [
        ("lost", 0.9, 0.5, "stale"),
        ("lost", 0.9, 0.4, "dropped"),
        ("lost", 0.04, 0.9, "not known"),
        ("due", 0.0, 0.5, "propagated"),
        ("due", 0.4, 0.49, "missing"),
        ("kept", 0.8, 0.4, "kept"),
        ("kept", 0.8, 0.39, "broken"),
        ("lost", None, 0.4, None),
        ("due", 0.2, None, None),
    ],
)
def test_verdicts(side: Any, pre: float | None, post: float | None, expected: str | None) -> None:
    assert verdict(side, pre, post) == expected
