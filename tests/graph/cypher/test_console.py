"""Queries of a user's own: what only reads is answered, everything else is refused twice."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import neo4j
import pytest

from support.own_graphs import own_graphs
from support.stored_edits import probed, store_edit
from thinkeval.cypher import console
from thinkeval.cypher.console import Answer, ask
from thinkeval.cypher.errors import InvalidQueryError, QueryTimeoutError, ReadOnlyError
from thinkeval.cypher.run import Database

WRITES = (
    "CREATE (n:Intruder) RETURN n",
    "MATCH (n:Entity) SET n.name = 'x'",
    "MATCH (n:Entity) DETACH DELETE n",
    "MERGE (n:Intruder)",
    "MATCH (n:Entity) WHERE false FOREACH (x IN [1] | SET n.y = 1) RETURN 1",
    "CREATE INDEX intruder FOR (n:Intruder) ON (n.x)",
    "CREATE USER intruder SET PASSWORD 'eight-or-more'",
    "CALL db.createLabel('Intruder')",
    "MATCH (n) CALL (n) { DELETE n } IN TRANSACTIONS",
)
"""Refused by the server in a read transaction too."""
REACHES = {
    "LOAD CSV FROM 'http://127.0.0.1:9/x' AS line RETURN line": "LOAD CSV",
    "UNWIND [1] AS x CALL (x) { LOAD CSV FROM $file AS line RETURN line } RETURN line": "LOAD CSV",
    "TERMINATE TRANSACTION 'neo4j-transaction-1'": "TERMINATE",
    "CALL { RETURN 1 AS x } IN TRANSACTIONS RETURN x": "IN TRANSACTIONS",
    "CALL db.clearQueryCaches()": "administers",
    "CALL dbms.listConfig()": "administers",
    "SHOW USERS": "administers",
}
"""Allowed in a read transaction, but they do more than read the graphs."""


def asked(db: Database, text: str, *, limit: int = 100, **params: Any) -> Answer:
    return ask(db, text, params, limit=limit, timeout_s=30)


@pytest.fixture(scope="module")
def edit(db: Database) -> Iterator[str]:
    with own_graphs(db) as prefix:
        facts = [
            probed(("Harry", "studied at", "Hogwarts"), 0.93, 0.001, "target_true"),
            probed(("Harry", "knows", "Ron"), 0.8, 0.4),
            probed(("Ron", "went to", "Hogwarts"), 0.9, 0.3),
        ]
        yield store_edit(db, f"{prefix}-edit", facts, dataset=prefix).edit


@pytest.mark.parametrize("text", WRITES)
def test_what_writes_is_refused_before_it_runs(db: Database, text: str) -> None:
    with pytest.raises(ReadOnlyError, match="was not run"):
        asked(db, text)


@pytest.mark.parametrize("text", WRITES)
def test_the_server_refuses_what_writes_even_without_the_check(db: Database, text: str) -> None:
    with pytest.raises(neo4j.exceptions.ClientError) as caught:  # noqa: SIM117
        with db.read_transaction(30, 10) as tx:
            tx.run(text).consume()  # type: ignore[arg-type]
    assert caught.value.code == "Neo.ClientError.Statement.AccessMode"


@pytest.mark.parametrize(("text", "why"), REACHES.items())
def test_what_reaches_beyond_the_graphs_is_refused(db: Database, text: str, why: str) -> None:
    with pytest.raises(ReadOnlyError, match=why):
        asked(db, text, file="file:///x")


def test_a_procedure_that_reads_the_graphs_may_be_called(db: Database, edit: str) -> None:
    assert asked(db, "CALL db.labels() YIELD label WHERE label = 'Edit' RETURN label").rows


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("RETURN x", r"line 1, column 8 \(offset: 7\)"),
        ("MATCH (n)\nRETURN nn", r"line 2, column 8 \(offset: 17\)"),
        ("RETURN $absent", "absent"),
        ("RETURN 1 / 0", "by zero"),
        ("CALL no.such.thing()", "no.such.thing"),
        ("// nothing", "Unexpected end"),
        ("RETURN 1; RETURN 2", "Expected exactly one statement"),
        (" /* a */ explain RETURN 1", "EXPLAIN or PROFILE"),
        ("PROFILE RETURN 1", "EXPLAIN or PROFILE"),
    ],
)
def test_a_query_that_fails_says_where_in_the_users_text(
    db: Database, text: str, says: str
) -> None:
    with pytest.raises(InvalidQueryError, match=says):
        asked(db, text)


def test_a_parameter_that_cannot_be_sent_is_named(db: Database) -> None:
    with pytest.raises(InvalidQueryError, match="parameter"):
        asked(db, "RETURN $x", x=2**70)
    assert asked(db, "RETURN $x", x=2**60).rows == [[2**60]]


def test_a_long_query_is_stopped(db: Database) -> None:
    started = time.monotonic()
    with pytest.raises(QueryTimeoutError, match=r"after 0\.5 s"):
        ask(
            db,
            "UNWIND range(1, 1000000000) AS x WITH x WHERE x % 7 = 8 RETURN count(x)",
            {},
            limit=1,
            timeout_s=0.5,
        )
    assert time.monotonic() - started < 20


def test_paths_nodes_and_relationships_come_once_with_their_properties(
    db: Database, edit: str
) -> None:
    found = asked(
        db,
        "MATCH p = (s:Subject {graph: $edit})-[f:FACT]->(o) RETURN s, f, p ORDER BY f.relation",
        edit=edit,
    )
    assert found.columns == ("s", "f", "p")
    assert len(found.rows) == 2
    assert len(found.nodes) == 3
    assert [edge.properties["relation"] for edge in found.edges.values()] == ["knows", "studied at"]
    for node, edge, path in found.rows:
        link = found.edges[edge["relationship"]]
        assert path == {"path": [node["node"], link.id, link.target]}
        assert link.source == node["node"]
    names = {node.properties["name"] for node in found.nodes.values()}
    assert names == {"Harry", "Ron", "Hogwarts"}


def test_values_are_plain(db: Database) -> None:
    text = (
        "RETURN $list AS a, {k: [true, null]} AS b, date('2026-01-02') AS c,"
        " duration('P1DT2S') AS d, point({x: 1, y: 2}) AS e, 0.0 / 0.0 AS f, 2 ^ 10 AS g"
    )
    (row,) = asked(db, text, list=[1, 2.5, "x"]).rows
    assert row[:4] == [[1, 2.5, "x"], {"k": [True, None]}, "2026-01-02", "P1DT2S"]
    assert isinstance(row[4], str)
    assert row[5:] == ["nan", 1024.0]


def test_rows_are_limited_and_that_is_said(db: Database) -> None:
    found = asked(db, "UNWIND range(1, 5) AS x RETURN x", limit=4)
    assert (found.rows, found.cut) == ([[1], [2], [3], [4]], "rows")
    assert asked(db, "UNWIND range(1, 4) AS x RETURN x", limit=4).cut is None


def test_the_size_of_an_answer_is_limited(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "MOST_CHARACTERS", 1000)
    monkeypatch.setattr(console, "MOST_TEXT", 300)
    monkeypatch.setattr(console, "MOST_ITEMS", 3)
    found = asked(
        db, "UNWIND range(1, 50) AS x RETURN reduce(t = '', i IN range(1, 400) | t + 'a')"
    )
    assert found.cut == "size"
    assert len(found.rows) == 4  # 301 characters each
    assert found.rows[0][0] == "a" * 300 + "…"
    assert asked(db, "RETURN range(1, 9) AS x").rows == [[[1, 2, 3]]]
