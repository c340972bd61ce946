"""Search of chains: from both ends, joined in the middle; hubs against brute force."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import neo4j
import pytest

from support.references import reference as ref
from support.references.reference import Case, Edge
from support.stored_graphs import case_map, fact_ids, scalars, store
from thinkeval.cypher import rows
from thinkeval.cypher.catalog import Query, names, query
from thinkeval.cypher.run import Database

SEARCHING = [
    query(name)
    for name in (*names("chains/"), *names("metrics/"), "probes/facts_in_scope")
    if "All paths of 1..$max_steps facts" in query(name).text
]
OPTIONS = {"max_steps": 5, "bare": "listed", "pre": "p_pre", "post": "p_post"} | {
    "parallel": "before", "known": 0.05, "known_chain": 0.01, "rule": "known"
}  # fmt: skip


@pytest.fixture(scope="module")
def session(server: dict[str, str]) -> Iterator[neo4j.Session]:
    user, password = server["THINKEVAL_NEO4J_USER"], server["THINKEVAL_NEO4J_PASSWORD"]
    uri = server["THINKEVAL_NEO4J_URI"]
    with neo4j.GraphDatabase.driver(uri, auth=(user, password)) as driver, driver.session() as ses:
        yield ses


def operators(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("children", ()):
        yield from operators(child)


def test_all_queries_on_chains_search_the_same_way() -> None:
    assert {q.name for q in SEARCHING} >= {
        "chains/enumerate", "chains/leakage", "chains/scored", "metrics/ifr",
        "metrics/active_chains", "metrics/chains_by_steps", "probes/facts_in_scope",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["metrics/ifr", "probes/facts_in_scope"])
def test_paths_from_both_ends_are_joined_in_the_middle(session: neo4j.Session, name: str) -> None:
    q: Query = query(name)
    given = dict.fromkeys(q.params) | {"cases": []}
    plan = session.run(f"EXPLAIN {q.text}", given).consume().plan
    assert plan is not None
    found = [each["operatorType"].removesuffix("@neo4j") for each in operators(plan)]
    assert found.count("NodeHashJoin") == 4
    assert not [each for each in found if "Shortest" in each]


def hub() -> list[Edge]:
    """Two hubs with 14 entities around them, both ways, some facts twice, and self-loops."""
    around = [f"e{i}" for i in range(14)]
    edges = []
    for i, entity in enumerate(around):
        edges.append(Edge(f"a{i}", "s", entity, 0.9, 0.5))
        edges.append(Edge(f"b{i}", entity, "o", 0.8, 0.4))
        edges.append(Edge(f"c{i}", entity, "s", 0.5, 0.5))
        edges.append(Edge(f"d{i}", "o", entity, 0.5, 0.5))
        edges.append(Edge(f"g{i}", entity, around[(i + 1) % 14], 0.7, 0.1 * (i % 10)))
        edges.append(Edge(f"h{i}", entity, entity, 1.0, 1.0))
        if i % 3 == 0:
            edges.append(Edge(f"i{i}", "s", entity, 0.2, 0.9))
            edges.append(Edge(f"j{i}", entity, around[(i + 5) % 14], 0.3, 0.6))
    return [*edges, Edge("k", "s", "o", 0.5, 0.5), Edge("l", "s", "s"), Edge("m", "o", "o")]


@pytest.mark.parametrize(("subject", "object_"), [("s", "o"), ("o", "s"), ("e0", "o"), ("s", "e0")])
def test_chains_between_hubs_equal_brute_force(
    db: Database, graph_id: str, subject: str, object_: str
) -> None:
    """Searched three steps from the end with fewer facts, of which o has fewer than s."""
    edges, case = hub(), Case(subject, object_)
    store(db, graph_id, edges)
    for max_steps in range(1, 6):
        expected = ref.chains(edges, case, max_steps, walk=True)
        found = db.read(
            rows.ChainRow, "chains/enumerate", **scalars(graph_id, case), max_steps=max_steps
        )
        assert sorted(row.facts for row in found) == sorted(fact_ids(graph_id, c) for c in expected)
        (row,) = db.metric("ifr", cases=[case_map(graph_id, case)], max_steps=max_steps)
        wanted = ref.ifr(expected)
        assert (row.value, row.n) == (pytest.approx(wanted.value, abs=1e-12), wanted.n)


def test_nothing_is_searched_between_an_entity_and_itself(
    db: Database, session: neo4j.Session, graph_id: str
) -> None:
    store(db, graph_id, hub())
    (row,) = db.metric("ifr", cases=[case_map(graph_id, Case("s", "s"))])
    assert (row.value, row.n) == (None, 0)
    text = query("metrics/ifr").text
    given = OPTIONS | {"cases": [case_map(graph_id, Case("s", "s"))]}
    result = session.run(f"PROFILE {text}", given)
    profile = result.consume().profile
    assert profile is not None
    expanded = [each for each in operators(profile) if "Expand" in each["operatorType"]]
    assert expanded
    assert sum(each.get("dbHits", 0) for each in expanded) == 0
