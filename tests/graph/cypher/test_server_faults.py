"""The server stops a query, goes away, refuses us: what the caller gets, and what is stored."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from support.references.reference import Case, Edge
from support.servers.cut_line import CutLine
from support.stored_graphs import case_map, scalars, store
from thinkeval.cypher import rows
from thinkeval.cypher.errors import (
    GraphError,
    QueryContractError,
    QueryTimeoutError,
    ServerUnavailableError,
)
from thinkeval.cypher.run import Database

CASE = Case("e0", "e1")


@pytest.fixture
def login(server: dict[str, str]) -> dict[str, Any]:
    return {
        "user": server["THINKEVAL_NEO4J_USER"],
        "password": server["THINKEVAL_NEO4J_PASSWORD"],
        "retry_s": 1.0,  # of a server that does not come back
    }


@pytest.fixture
def crowded(db: Database, graph_id: str) -> str:
    """30 entities, each with a fact about every other: 570,000 chains of up to 5 steps."""
    ends = permutations((f"e{i}" for i in range(30)), 2)
    store(db, graph_id, [Edge(f"{s}-{o}", s, o, 0.5, 0.5) for s, o in ends])
    return graph_id


def test_too_many_paths_are_stopped_with_advice_that_helps(
    db: Database, login: dict[str, Any], crowded: str
) -> None:
    asked = [case_map(crowded, CASE)]
    with Database(db.uri, **login, timeout_s=1.0) as hasty:
        with pytest.raises(QueryTimeoutError, match="metrics/ifr") as caught:
            hasty.metric("ifr", cases=asked)
        assert "--max-steps" in caught.value.remedy
        with pytest.raises(QueryTimeoutError, match="chains/enumerate"):
            hasty.read(rows.ChainRow, "chains/enumerate", **scalars(crowded, CASE))

        def count() -> None:
            with hasty.transaction() as tx:
                tx.run(rows.ChainRow, "chains/enumerate", **scalars(crowded, CASE))

        with pytest.raises(QueryTimeoutError, match="chains/enumerate"):
            count()
    (row,) = db.metric("ifr", cases=asked, max_steps=3)
    assert row.n == 1 + 28 + 28 * 27
    assert row.value == pytest.approx(1.0)


def test_a_server_that_goes_away_leaves_nothing_half_written(
    db: Database, login: dict[str, Any], graph_id: str
) -> None:
    with CutLine(db.uri) as line, Database(line.uri, **login) as far:
        far.verify()

        def write() -> None:
            with far.transaction() as tx:
                tx.run(
                    rows.MergeGraphRow,
                    "graph/merge_graph",
                    graph=graph_id,
                    kind="dataset",
                    dataset=graph_id,
                )
                names = [{"name": f"e{i}"} for i in range(2000)]
                tx.run(rows.WrittenRow, "graph/merge_entities", graph=graph_id, rows=names)
                line.cut()
                tx.run(rows.CompleteGraphRow, "graph/complete_graph", graph=graph_id)

        with pytest.raises(ServerUnavailableError) as caught:
            write()
        assert "thinkeval db start" in caught.value.remedy
        with pytest.raises(ServerUnavailableError, match="graph/list_graphs"):
            far.read(rows.GraphRow, "graph/list_graphs")
    assert db.read(rows.EntityRow, "graph/entities", graph=graph_id) == []
    assert db.read(rows.GraphRow, "graph/get_graph", graph=graph_id, incomplete=True) == []


def test_a_server_that_goes_away_between_batches_leaves_an_invisible_graph(
    db: Database, login: dict[str, Any], graph_id: str
) -> None:
    with CutLine(db.uri) as line, Database(line.uri, **login) as far:

        def names() -> Any:
            for i in range(30):
                if i == 25:
                    line.cut()
                yield {"name": f"e{i}"}

        far.write(
            rows.MergeGraphRow,
            "graph/merge_graph",
            graph=graph_id,
            kind="dataset",
            dataset=graph_id,
        )
        with pytest.raises(ServerUnavailableError):
            far.write_all(
                rows.WrittenRow, "graph/merge_entities", names(), graph=graph_id, batch=10
            )
    assert len(db.read(rows.EntityRow, "graph/entities", graph=graph_id)) == 20
    assert db.read(rows.GraphRow, "graph/get_graph", graph=graph_id) == []
    # and doing it again completes it
    rest = ({"name": f"e{i}"} for i in range(30))
    db.write_all(rows.WrittenRow, "graph/merge_entities", rest, graph=graph_id, batch=10)
    assert (
        db.write(rows.CompleteGraphRow, "graph/complete_graph", graph=graph_id)[0].n_entities == 30
    )


def test_a_stream_that_breaks_off_says_so(
    db: Database, login: dict[str, Any], graph_id: str
) -> None:
    store(db, graph_id, [Edge(str(i), f"e{i}", "o") for i in range(3000)])
    with CutLine(db.uri) as line, Database(line.uri, **login) as far:
        stream = far.stream(rows.FactRow, "graph/facts", graph=graph_id)
        next(stream)
        line.cut()
        with pytest.raises(ServerUnavailableError, match="graph/facts"):
            list(stream)


def test_no_server_no_right_no_address(db: Database, login: dict[str, Any]) -> None:
    with Database("bolt://127.0.0.1:1", **login) as nowhere:
        with pytest.raises(ServerUnavailableError, match=r"127\.0\.0\.1:1") as caught:
            nowhere.verify()
        assert "thinkeval db start" in caught.value.remedy
    with Database(db.uri, user="nobody", password="wrong") as stranger:
        with pytest.raises(ServerUnavailableError, match="user name or password") as caught:
            stranger.verify()
        assert "THINKEVAL_NEO4J_PASSWORD" in caught.value.remedy
    for address in ("http://127.0.0.1:7474", "127.0.0.1:7687", "bolts://127.0.0.1"):
        with pytest.raises(ServerUnavailableError) as caught:
            Database(address, **login)
        assert "bolt://" in caught.value.remedy


def test_a_strict_database_does_not_swallow_what_the_server_notes(
    db: Database, login: dict[str, Any], graph_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A misspelt property only earns a notification; the query file is replaced by such a one."""
    from dataclasses import replace

    from thinkeval.cypher import sending
    from thinkeval.cypher.catalog import query

    found = query("graph/entities")
    misspelt = replace(found, text=found.text.replace("e.kind AS", "e.knid AS"))
    monkeypatch.setattr(sending, "query", lambda _: misspelt)
    with pytest.raises(QueryContractError, match="knid"):
        db.read(rows.EntityRow, "graph/entities", graph=graph_id)
    with Database(db.uri, **login) as lenient:
        assert lenient.read(rows.EntityRow, "graph/entities", graph=graph_id) == []


def test_what_the_server_refuses_is_told_with_the_query(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from thinkeval.cypher import sending
    from thinkeval.cypher.catalog import query

    broken = replace(query("graph/list_graphs"), text="MATCH (g:Graph RETURN g")
    monkeypatch.setattr(sending, "query", lambda _: broken)
    with pytest.raises(GraphError, match=r"(?s)graph/list_graphs: .*SyntaxError") as caught:
        db.read(rows.GraphRow, "graph/list_graphs")
    assert caught.value.remedy


@pytest.mark.parametrize("scheme", ["neo4j+s", "bolt+s", "neo4j+ssc"])
def test_tls_is_asked_of_a_server_that_has_none(
    db: Database, login: dict[str, Any], scheme: str
) -> None:
    address = db.uri.partition("://")[2]
    with Database(f"{scheme}://{address}", **login) as secure:  # noqa: SIM117
        with pytest.raises(ServerUnavailableError) as caught:
            secure.verify()
    assert "does not speak TLS" in caught.value.remedy
    assert f"{scheme.partition('+')[0]}://{address}" in caught.value.remedy


@pytest.mark.parametrize("scheme", ["bolt", "neo4j"])
def test_a_database_that_the_server_does_not_have(
    db: Database, login: dict[str, Any], scheme: str
) -> None:
    address = f"{scheme}://{db.uri.partition('://')[2]}"
    with Database(address, **login, database="neo4j") as there:
        there.verify()
    with Database(address, **login, database="think-eval") as elsewhere:
        for use in (elsewhere.verify, elsewhere.setup_schema):
            with pytest.raises(ServerUnavailableError, match="think-eval") as caught:
                use()
            assert "THINKEVAL_NEO4J_DATABASE" in caught.value.remedy
