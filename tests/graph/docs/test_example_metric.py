"""The metric of docs/inside/extending.md keeps the contract and gives the right values."""

from __future__ import annotations

from typing import Any

import pytest

from support.docs.page_blocks import titled
from support.references.reference import Case, Edge
from support.stored_graphs import case_map, store
from thinkeval.cypher import catalog
from thinkeval.cypher.run import Database

NAME = "metrics/old_answer"
TEXT = titled("inside/extending.md", "cypher/metrics/old_answer.cypher")
QUERY: Any = catalog.parse(NAME, TEXT).text
EDGES = [
    Edge("1", "s", "o", 0.9, 0.2, "at", role="target_true"),
    Edge("2", "s", "o", 0.7, 0.4, "in", role="target_true", cases=("r",)),
    Edge("3", "s", "o", 0.7, 0.6, "in", role="target_true", cases=("other",)),
    Edge("4", "s", "new", 0.1, 0.95, "at", role="target_new"),
    Edge("5", "x", "o", 0.5, 0.5, "at"),
]


def test_it_keeps_the_contract() -> None:
    query = catalog.parse(NAME, TEXT)
    like = catalog.query("metrics/efficacy")
    assert set(query.params) == set(like.params)
    assert list(query.columns) == list(like.columns)
    assert query.display is not None
    assert (query.display.headline, query.display.short) == (True, "old answer")


@pytest.mark.parametrize("rewrite", [None, "r", "nothing"])
def test_its_values_are_those_of_plain_python(
    db: Database, graph_id: str, rewrite: str | None
) -> None:
    store(db, graph_id, EDGES)
    case = case_map(graph_id, Case("s", "o", rewrite))
    with db._session("READ") as session:
        (row,) = session.run(QUERY, cases=[case], post="p_post")
    counted = [
        e.post
        for e in EDGES
        if e.role == "target_true" and (rewrite is None or not e.cases or rewrite in e.cases)
    ]
    assert (row["id"], row["step"], row["excluded"]) == ("case", None, 0)
    assert row["value"] == pytest.approx(sum(counted) / len(counted), abs=1e-12)
    assert row["n"] == len(counted)


def test_without_such_a_fact_it_is_0_of_0(db: Database, graph_id: str) -> None:
    store(db, graph_id, EDGES[3:])
    with db._session("READ") as session:
        case = case_map(graph_id, Case("s", "o"))
        (row,) = session.run(QUERY, cases=[case], post="p_post")
    assert (row["value"], row["n"]) == (0.0, 0)
