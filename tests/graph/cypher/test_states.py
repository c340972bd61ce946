"""Drift and routes against brute force, on random small graphs."""

from __future__ import annotations

from random import Random

import pytest

from support.references import reference as ref
from support.references import states_reference as states
from support.references.reference import Case, Edge
from support.stored_graphs import case_map, store
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database

COUNTS = ("n", "kept", "weakened", "removed", "added", "unknown", "moved", "shift")


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
        found = db.read(rows.DriftRow, graph=graph_id, subjects=subjects)
        expected = states.drift(edges, subjects)
        assert {(row.relation, row.distance) for row in found} == set(expected)
        for row in found:
            counts = expected[row.relation, row.distance]
            assert row.missing == 0
            for name in COUNTS:
                assert getattr(row, name) == pytest.approx(counts[name]), (row, name)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("floor", [0.0, 0.01])
def test_routes_equal_brute_force(db: Database, graph_id: str, seed: int, floor: float) -> None:
    edges, case = random_edges(seed), Case("s", "o")
    store(db, graph_id, edges)
    asked = {"cases": [case_map(graph_id, case)], "max_steps": 5, "floor": floor}
    (row,) = db.read(rows.RoutesRow, **asked)
    expected = states.routes(ref.chains(edges, case, 5), floor)
    assert {name: getattr(row, name) for name in expected} == expected
    assert row.missing == 0


def test_a_missing_probability_is_counted(db: Database, graph_id: str) -> None:
    store(db, graph_id, [Edge(id="f", subject="s", object="o", pre=0.5, post=0.5)])
    (row,) = db.read(rows.DriftRow, graph=graph_id, post="likelihood_post")
    assert (row.n, row.missing, row.kept, row.moved) == (0, 1, 0, 0.0)
