"""Drift and routes against brute force, on random small graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from random import Random
from typing import Any

import pytest

from support.references import reference as ref
from support.references import states_reference as states
from support.references.reference import Case, Edge
from support.stored_graphs import case_map, scalars, set_properties, store
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database

COUNTS = ("n", "kept", "weakened", "lost", "added", "unknown")
MEANS = ("mean_moved", "mean_shift", "median_change")
KNOWN = ref.KNOWN
RULES = [
    ref.Rule(known=known, known_chain=chain)
    for known, chain in ((0.05, 0.01), (0.0, 0.0), (0.0, 0.01), (0.3, 0.3))
]


def bounds(rule: ref.Rule) -> dict[str, float]:
    return {"known": rule.known, "known_chain": rule.known_chain}


def random_edges(seed: int) -> list[Edge]:
    """3 to 9 entities, some of them not connected; roles that count and roles that do not."""
    random = Random(seed)
    names = ["s", "o", *"abcdefg"[: random.randint(1, 7)]]
    values = [0.0, 0.02, 0.05, 0.3, 0.9, 1.0]
    pairs = [(a, b) for a in names for b in names if a != b and random.random() < 0.25]
    return [
        Edge(
            id=f"f{i}", subject=a, object=b, pre=random.choice(values), post=random.choice(values),
            relation=random.choice("rq"), role=random.choice(["fact"] * 4 + ["target_true"]),
        )
        for i, (a, b) in enumerate(pairs)
    ] + [
        Edge(id="new", subject="s", object="x", role="target_new", relation="r"),
        Edge(id="implied", subject="x", object="y", role="implication", relation="r"),
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_drift_equals_brute_force(db: Database, graph_id: str, seed: int) -> None:
    edges = random_edges(seed)
    store(db, graph_id, edges)
    for subjects in ([], ["s"], ["a", "o", "nowhere"]):
        found = db.read(
            rows.DriftRow, "states/drift", graph=graph_id, around=graph_id, subjects=subjects
        )
        same_drift(found, states.drift(edges, subjects))


@pytest.mark.parametrize("seed", range(8))
def test_drift_of_known_facts_equals_brute_force(db: Database, graph_id: str, seed: int) -> None:
    """An edit's graph has some facts of the data set, and others of its own."""
    graph, random = random_edges(seed), Random(seed)
    around = [replace(edge, role="fact") for edge in graph if edge.role != "implication"]
    store(db, graph_id, around)
    roles = ["fact", "subject", "outside", "target_true"]
    edges = [replace(e, role=random.choice(roles)) for e in graph if random.random() < 0.8]
    store(db, f"{graph_id}-edit", edges)
    edited = [edge.id for edge in around if random.random() < 0.2]
    for subjects in (["s"], ["a", "o"]):
        found = db.read(
            rows.DriftRow, "states/drift", graph=f"{graph_id}-edit", around=graph_id,
            subjects=subjects, edited=edited, known_before=True,
        )  # fmt: skip
        same_drift(found, states.drift(edges, subjects, around, edited, known_before=True))
        assert all(row.added == row.unknown == 0 for row in found)


def same_drift(found: Sequence[rows.DriftRow], expected: dict[states.Group, Any]) -> None:
    by = {(row.by, row.relation if row.by == "relation" else row.distance): row for row in found}
    assert by.keys() == expected.keys()
    for group, row in by.items():
        assert row.missing == 0
        wanted = expected[group]
        assert {name: getattr(row, name) for name in COUNTS} == {
            name: wanted.get(name, 0) for name in COUNTS
        }
        for name in MEANS:
            assert getattr(row, name) == pytest.approx(wanted[name]), (row, name)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("rule", RULES)
def test_routes_equal_brute_force(db: Database, graph_id: str, seed: int, rule: ref.Rule) -> None:
    edges, case = random_edges(seed), Case("s", "o")
    store(db, graph_id, edges)
    asked = {"cases": [case_map(graph_id, case)], "max_steps": 5}
    (row,) = db.read(rows.RoutesRow, "states/routes", **asked, **bounds(rule))
    expected = states.routes(ref.chains(edges, case, 5), rule)
    assert {name: getattr(row, name) for name in expected} == expected
    assert row.missing == 0
    moved = [
        (abs(post - pre), [edge.id for edge in chain], (pre, post))
        for chain in ref.chains(edges, case, 5)
        for pre, post in [ref.reliability(chain)]
        if len(set(states.both(chain, rule))) == 2
    ]
    found = {tuple(link.id.partition("|")[2] for link in each.links): each for each in row.moved}
    for _, ids, both in moved:
        if (each := found.get(tuple(ids))) is not None:
            assert (each.r_pre, each.r_post) == pytest.approx(both)
    largest = sorted((size for size, _, _ in moved), reverse=True)[:5]
    assert [abs(each.r_post - each.r_pre) for each in row.moved] == pytest.approx(largest)


def test_a_chain_with_an_unknown_fact_is_no_route(db: Database, graph_id: str) -> None:
    """A lone fact of p .02 multiplies to more than .01, and no state knows it."""
    for facts in ([("s", "o")], [("s", "a"), ("a", "o")]):
        edges = [
            Edge(id=f"{a}{b}", subject=a, object=b, relation="r", pre=0.0 if a == "s" else 1.0,
                 post=0.02 if a == "s" else 1.0)
            for a, b in facts
        ]  # fmt: skip
        graph = f"{graph_id}-{len(facts)}"
        store(db, graph, edges)
        cases = [case_map(graph, Case("s", "o"))]
        (row,) = db.read(rows.RoutesRow, "states/routes", cases=cases, max_steps=5)
        assert (row.chains, row.after, row.opened, row.moved) == (1, 0, 0, [])


@pytest.mark.parametrize("seed", range(6))
def test_changed_facts_equal_brute_force(db: Database, graph_id: str, seed: int) -> None:
    """The own answers decide between replaced, weakened and lost where they are known."""
    edges, random = random_edges(seed), Random(seed)
    store(db, graph_id, edges)
    own = {edge.id: random.choice([None, True, False]) for edge in edges}
    set_properties(db, *(
        {"id": f"{graph_id}|{edge.id}", "replaced": own[edge.id], "says_pre": edge.object,
         "says_post": "another" if own[edge.id] else edge.object}
        for edge in edges if own[edge.id] is not None
    ))  # fmt: skip
    wanted = {}
    for edge in edges:
        state = states.state_of(edge)
        if own[edge.id] is not None and state in ("weakened", "lost"):
            state = "replaced" if own[edge.id] else "weakened"
        if edge.role in ("fact", "target_true") and state not in ("kept", "unknown"):
            wanted[edge.id] = state
    found = db.read(rows.ChangedFact, "states/changed_facts", graph=graph_id)
    assert {fact.fact: fact.change for fact in found} == wanted
    sizes = [abs(fact.after - fact.before) for fact in found]
    assert sizes == sorted(sizes, reverse=True)
    by_id = {edge.id: edge for edge in edges}
    for fact in found:
        edge = by_id[fact.fact]
        assert (fact.subject, fact.object, fact.before, fact.after) == (
            edge.subject, edge.object, edge.pre, edge.post,
        )  # fmt: skip
        said = None if own[edge.id] is None else "another" if own[edge.id] else edge.object
        assert fact.says_after == said
    (drift, *_) = db.read(
        rows.DriftRow, "states/drift", graph=graph_id, around=graph_id, subjects=[]
    )
    assert drift.weakened + drift.replaced + drift.lost + drift.added == len(found)
    assert len(db.read(rows.ChangedFact, "states/changed_facts", graph=graph_id, limit=1)) <= 1


def test_a_missing_probability_is_counted(db: Database, graph_id: str) -> None:
    store(db, graph_id, [Edge(id="f", subject="s", object="o", pre=0.5, post=0.5)])
    rows_ = db.read(
        rows.DriftRow, "states/drift", graph=graph_id, around=graph_id, post="likelihood_post"
    )
    for row in rows_:
        assert (row.n, row.missing, row.kept) == (0, 1, 0)
        assert (row.mean_moved, row.median_change) == (None, None)
    assert [row.by for row in rows_] == ["all", "relation"]


def parallel_facts(seed: int) -> tuple[list[Edge], list[Edge]]:
    """Facts of base and edited model, and the same of base and later state; some are parallel."""
    random = Random(seed)
    names = ["s", "o", *"abcd"[: random.randint(1, 4)]]
    edges = [
        Edge(
            id=f"f{i}", subject=a, object=b, pre=random.choice([0.3, 0.9, 1.0]),
            post=random.choice([0.0, 0.1, 0.9, 1.0]), relation=random.choice("rq"),
            role=random.choice(["fact"] * 5 + ["target_true"]),
        )
        for i, (a, b) in enumerate((a, b) for a in names for b in names if a != b)
        if random.random() < 0.6
    ]  # fmt: skip
    edges += [
        replace(edge, id=f"{edge.id}-too", pre=random.choice([0.2, 1.0]), post=random.random())
        for edge in edges
        if edge.role == "fact" and random.random() < 0.3
    ]
    later = [replace(edge, post=random.choice([0.0, 0.2, 0.8, 1.0])) for edge in edges]
    return edges, later


@pytest.mark.parametrize("seed", range(10))
def test_revived_chains_equal_brute_force(db: Database, graph_id: str, seed: int) -> None:
    (edges, later), case = parallel_facts(seed), Case("s", "o")
    store(db, graph_id, edges, ["s", "o"])
    # An id of another length, as those of two comparisons are.
    store(db, f"{graph_id}-later", later, ["s", "o"])
    asked = {"later": f"{graph_id}-later", **scalars(graph_id, case)}
    for parallel, rule in product(("before", "after"), RULES):
        of = asked | bounds(rule)
        (row,) = db.read(rows.RevivedRow, "states/revived", parallel=parallel, **of)
        same_revival(row, states.revived(edges, later, case, rule, parallel))


def same_revival(row: rows.RevivedRow, expected: dict[str, Any]) -> None:
    assert (row.closed, row.opened) == (expected["closed"], expected["opened"])
    assert row.missing == 0
    if not row.opened:
        assert (row.entities, row.links, row.r_later) == ((), (), None)
        return
    assert row.r_later == pytest.approx(expected["later"])
    assert len(row.entities) == len(expected["entities"])
    if row.entities == tuple(expected["entities"]):  # not so where products differ by rounding
        assert row.r_base == pytest.approx(expected["base"])
        assert row.r_edited == pytest.approx(expected["edited"])
        assert [link.edited for link in row.links] == pytest.approx(expected["links_edited"])
        assert [link.later for link in row.links] == pytest.approx(expected["links_later"])
        assert [link.object for link in row.links] == expected["entities"][1:]


def test_chains_are_revived_in_these_graphs() -> None:
    """The graphs above have closed chains that stay closed, and others that open again."""
    counts = [states.revived(*parallel_facts(seed), Case("s", "o"), KNOWN) for seed in range(10)]
    assert any(count["opened"] for count in counts)
    assert any(count["closed"] > count["opened"] for count in counts)


def test_a_fact_that_the_later_state_was_not_asked_for_is_counted(
    db: Database, graph_id: str
) -> None:
    edges = [
        Edge(id="a", subject="s", object="x", pre=0.9, post=0.0),
        Edge(id="b", subject="x", object="o", pre=0.9, post=0.9),
    ]
    store(db, graph_id, edges)
    store(db, f"{graph_id}-later", edges[:1], ["o"])
    (row,) = db.read(
        rows.RevivedRow,
        "states/revived",
        later=f"{graph_id}-later",
        **scalars(graph_id, Case("s", "o")),
    )
    assert (row.closed, row.opened, row.missing, row.entities) == (1, 0, 1, ())
