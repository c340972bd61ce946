"""Data sets in and out of the real database: published counts, twice the same, all or nothing."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import neo4j
import psutil
import pytest

from support.servers.cut_line import CutLine
from thinkeval.cypher import rows
from thinkeval.cypher.errors import GraphError, ParameterError, ServerUnavailableError
from thinkeval.cypher.run import Database
from thinkeval.loaders.records import Entity, Fact, KnowledgeGraph, LoadedGraph, RewriteRequest
from thinkeval.service.base.errors import ConflictError, NotFoundError
from thinkeval.service.graphs import datasets, delete, write

KNOWGIC_CHAINS = {1: 24, 2: 108, 3: 227, 4: 428, 5: 619}
"""What the README of KnowGIC counts."""


@pytest.fixture
def count(server: dict[str, str], graph_id: str) -> Iterator[Callable[[], tuple[int, int]]]:
    """Counts nodes and relationships of this test's graphs with the plain driver."""
    auth = (server["THINKEVAL_NEO4J_USER"], server["THINKEVAL_NEO4J_PASSWORD"])
    with neo4j.GraphDatabase.driver(server["THINKEVAL_NEO4J_URI"], auth=auth) as driver:

        def counted() -> tuple[int, int]:
            nodes, _, _ = driver.execute_query(
                "MATCH (n:Graph|Entity|RewriteRequest)"
                " WHERE coalesce(n.key, n.id) STARTS WITH $p RETURN count(n)",
                p=graph_id,
            )
            facts, _, _ = driver.execute_query(
                "MATCH ()-[f:FACT]->() WHERE f.id STARTS WITH $p RETURN count(f)", p=graph_id
            )
            return nodes[0][0], facts[0][0]

        yield counted


def imported(db: Database, loaded: LoadedGraph) -> KnowledgeGraph:
    """Import, and check that the same comes back."""
    outcome = datasets.store(db, loaded)
    assert outcome.status == "imported"
    graph = loaded.graph
    assert (outcome.n_facts, outcome.n_entities) == (len(graph.facts), len(graph.entities))
    stored = datasets.stored_graph(db, graph.name)
    assert stored.content_digest == graph.content_digest
    return stored


@pytest.mark.parametrize("source", ["chains.json", "chains_grouped_e31626d.json"])
def test_knowgic_has_its_published_chains(
    db: Database, graph_id: str, data_dir: Path, source: str
) -> None:
    loaded = datasets.read(data_dir / "knowgic" / source, name=graph_id)
    stored = imported(db, loaded)
    assert len(stored.rewrites) == 26
    counts = datasets.chain_counts(db, graph_id, stored.rewrites)
    assert {n: sum(c[n] for c in counts.values()) for n in range(1, 6)} == KNOWGIC_CHAINS
    assert all(sum(steps.values()) > 0 for steps in counts.values())


def test_mquake_comes_back_with_its_questions_and_scopes(
    db: Database, graph_id: str, data_dir: Path
) -> None:
    loaded = datasets.read(data_dir / "mquake" / "MQuAKE-hard.json", name=graph_id)
    stored = imported(db, loaded)
    assert stored.rewrites == loaded.graph.rewrites
    assert set(stored.facts) == set(loaded.graph.facts)
    counts = datasets.chain_counts(db, graph_id, stored.rewrites[:40])
    assert all(steps[1] == 1 for steps in counts.values())


def test_the_folder_of_knowgic_is_a_data_set(db: Database, graph_id: str, data_dir: Path) -> None:
    loaded = datasets.read(data_dir / "knowgic", name=graph_id)
    assert len(imported(db, loaded).rewrites) == 26


def test_the_scalability_graph_comes_with_its_rewrite(
    db: Database, graph_id: str, data_dir: Path
) -> None:
    loaded = datasets.read(data_dir / "knowgic" / "scalability" / "kg.yaml", name=graph_id)
    stored = imported(db, loaded)
    assert len(stored.rewrites) == 1
    steps = datasets.chain_counts(db, graph_id, stored.rewrites)[stored.rewrites[0].id]
    assert sum(steps.values()) > 0


def test_our_own_graph_is_big_enough(db: Database, graph_id: str) -> None:
    stored = imported(db, datasets.read("hogwarts", name=graph_id))
    assert len(stored.facts) >= 80
    assert all(f.question and len(f.paraphrases) >= 2 for f in stored.facts)
    demo = next(r for r in stored.rewrites if r.id.startswith("harry-potter--studied-at"))
    assert sum(datasets.chain_counts(db, graph_id, [demo])[demo.id].values()) >= 100


def test_importing_twice_changes_nothing(
    db: Database, graph_id: str, count: Callable[[], tuple[int, int]]
) -> None:
    loaded = datasets.read("hogwarts", name=graph_id)
    datasets.store(db, loaded)
    before, facts = count(), db.read(rows.FactRow, "graph/facts", graph=graph_id)
    header = db.read(rows.GraphRow, "graph/get_graph", graph=graph_id)
    n_rewrites = len(loaded.graph.rewrites)
    assert before == (1 + header[0].n_entities + n_rewrites, header[0].n_facts)
    for replaced in (False, True):
        assert datasets.store(db, loaded, replace=replaced).status == "unchanged"
    assert count() == before
    assert db.read(rows.FactRow, "graph/facts", graph=graph_id) == facts
    assert db.read(rows.GraphRow, "graph/get_graph", graph=graph_id) == header


def test_other_content_of_the_same_name_is_refused_unless_replaced(
    db: Database, graph_id: str, count: Callable[[], tuple[int, int]]
) -> None:
    loaded = datasets.read("hogwarts", name=graph_id)
    datasets.store(db, loaded)
    whole = count()
    fewer = replace(loaded.graph, facts=loaded.graph.facts[1:], rewrites=loaded.graph.rewrites[1:])
    changed = replace(loaded, graph=fewer)
    with pytest.raises(ConflictError, match=graph_id) as caught:
        datasets.store(db, changed)
    assert "--replace" in caught.value.remedy
    assert datasets.stored_graph(db, graph_id).content_digest == loaded.graph.content_digest
    assert datasets.store(db, changed, replace=True).status == "replaced"
    assert datasets.stored_graph(db, graph_id).content_digest == fewer.content_digest
    assert count() == (whole[0] - 1, whole[1] - 1)


def test_a_graph_that_is_not_there_is_named_with_close_ones(db: Database, graph_id: str) -> None:
    datasets.store(db, datasets.read("hogwarts", name=f"{graph_id}-mine"))
    with pytest.raises(NotFoundError) as caught:
        datasets.stored_graph(db, f"{graph_id}-mina")
    assert f"{graph_id}-mine" in caught.value.suggestions
    for odd in ("", "a|b", f"{graph_id}|"):
        with pytest.raises(NotFoundError):
            datasets.stored_graph(db, odd)


def test_deleted_graphs_are_gone_with_their_rewrites(
    db: Database, graph_id: str, count: Callable[[], tuple[int, int]]
) -> None:
    datasets.store(db, datasets.read("hogwarts", name=graph_id))
    delete.delete_graph(db, graph_id)
    assert count() == (0, 0)
    with pytest.raises(NotFoundError):
        delete.delete_graph(db, graph_id)


@pytest.mark.parametrize("name", ["a|b", "", " "])
def test_a_name_that_cannot_be_an_id_is_refused(db: Database, name: str) -> None:
    loaded = datasets.read("hogwarts", name="fine")
    before = {g.graph for g in db.read(rows.GraphRow, "graph/list_graphs", incomplete=True)}
    with pytest.raises(GraphError):
        datasets.store(db, replace(loaded, graph=replace(loaded.graph, name=name)))
    after = {g.graph for g in db.read(rows.GraphRow, "graph/list_graphs", incomplete=True)}
    assert name not in after - before


def test_two_at_once_store_one_graph(
    db: Database, graph_id: str, count: Callable[[], tuple[int, int]]
) -> None:
    loaded = datasets.read("hogwarts", name=graph_id)
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda _: datasets.store(db, loaded), range(2)))
    assert {outcome.n_facts for outcome in done} == {len(loaded.graph.facts)}
    assert count()[1] == len(loaded.graph.facts)
    assert datasets.stored_graph(db, graph_id).content_digest == loaded.graph.content_digest


def star(name: str, n: int) -> KnowledgeGraph:
    """A small data set of n facts about one subject."""
    facts = tuple(Fact("hub", "knows", f"spoke {i}", "{} knows") for i in range(n))
    rewrite = RewriteRequest(
        RewriteRequest.make_id("hub", "knows", "nobody"), name, "{} knows", "hub", "knows",
        "spoke 0", "nobody",
    )  # fmt: skip
    entities = [Entity("hub"), Entity("nobody"), *(Entity(f.object) for f in facts)]
    return KnowledgeGraph(name, tuple(entities), facts, (rewrite,))


Writer = Callable[[Database, Callable[[int, int, str], None] | None], None]


@pytest.fixture
def former(db: Database, graph_id: str) -> Iterator[KnowledgeGraph]:
    """A stored graph that shall be replaced; at the end it must be there as it was."""
    graph = star(graph_id, 3)
    _write(db, graph)
    yield graph
    assert datasets.stored_graph(db, graph_id).content_digest == graph.content_digest
    header = db.read(rows.GraphRow, "graph/get_graph", graph=graph_id, incomplete=True)[0]
    assert (header.complete, header.content_digest) == (True, graph.content_digest)
    assert len(db.read(rows.FactRow, "graph/facts", graph=graph_id)) == 3


def _write(
    db: Database,
    graph: KnowledgeGraph,
    progress: Callable[[int, int, str], None] | None = None,
    **first_fact: object,
) -> None:
    header = rows.GraphHeader(
        graph.name, "dataset", graph.name, content_digest=graph.content_digest
    )
    facts = [datasets.fact_row(f) for f in graph.facts]
    facts[-1] |= first_fact
    write.write_graph(db, header, graph.entities, facts, graph.rewrites, progress)


class Died(Exception):
    """Something in the middle of a write."""


@pytest.mark.parametrize("error", [Died, KeyboardInterrupt])
def test_what_dies_in_the_middle_leaves_the_former_graph(
    db: Database,
    graph_id: str,
    former: KnowledgeGraph,
    monkeypatch: pytest.MonkeyPatch,
    error: type[BaseException],
) -> None:
    monkeypatch.setattr(write, "BATCH", 5)

    def die(done: int, total: int, stage: str) -> None:
        if done == 10:
            raise error

    with pytest.raises(error):
        _write(db, star(graph_id, 20), die)


def test_what_is_no_probability_leaves_the_former_graph(
    db: Database, graph_id: str, former: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "BATCH", 5)
    with pytest.raises(ParameterError, match=r"p_pre.*2\.0"):
        _write(db, star(graph_id, 20), p_pre=2.0)


def test_a_fact_of_an_unknown_entity_leaves_the_former_graph(
    db: Database, graph_id: str, former: KnowledgeGraph
) -> None:
    graph = star(graph_id, 20)
    with pytest.raises(GraphError, match="create_facts"):
        _write(db, replace(graph, entities=graph.entities[:-1]))


def own_addresses(uri: str) -> set[str]:
    """The client addresses of this process's connections to the server."""
    port = urlsplit(uri).port
    found = psutil.Process().net_connections("tcp")
    return {f"{c.laddr.ip}:{c.laddr.port}" for c in found if c.raddr and c.raddr.port == port}


def test_a_transaction_the_server_ends_leaves_the_former_graph(
    db: Database,
    server: dict[str, str],
    graph_id: str,
    former: KnowledgeGraph,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As an administrator's TERMINATE TRANSACTIONS does, or a server short of memory."""
    monkeypatch.setattr(write, "BATCH", 5)
    uri = server["THINKEVAL_NEO4J_URI"]
    auth = (server["THINKEVAL_NEO4J_USER"], server["THINKEVAL_NEO4J_PASSWORD"])
    others = own_addresses(uri)
    ended: list[str] = []
    with Database(uri, *auth) as mine, neo4j.GraphDatabase.driver(uri, auth=auth) as admin:
        mine.verify()
        ours = own_addresses(uri) - others

        def terminate(done: int, total: int, stage: str) -> None:
            if ended:
                return
            shown, _, _ = admin.execute_query(
                "SHOW TRANSACTIONS YIELD transactionId, clientAddress"
            )
            ended.extend(r["transactionId"] for r in shown if r["clientAddress"] in ours)
            if not ended:
                pytest.skip("the server sees other addresses than ours")
            admin.execute_query("TERMINATE TRANSACTIONS $ids", ids=ended)

        with pytest.raises(GraphError) as caught:
            _write(mine, star(graph_id, 20), terminate)
    assert len(ended) == 1
    assert "nothing of it is stored" in caught.value.detail


@contextmanager
def cuttable(server: dict[str, str]) -> Iterator[tuple[Database, CutLine]]:
    with (
        CutLine(server["THINKEVAL_NEO4J_URI"]) as line,
        Database(
            line.uri,
            server["THINKEVAL_NEO4J_USER"],
            server["THINKEVAL_NEO4J_PASSWORD"],
            retry_s=1.0,  # of a server that does not come back
        ) as database,
    ):
        yield database, line


def test_a_server_that_goes_away_leaves_the_former_graph(
    db: Database,
    server: dict[str, str],
    graph_id: str,
    former: KnowledgeGraph,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(write, "BATCH", 5)
    with cuttable(server) as (database, line):

        def cut(done: int, total: int, stage: str) -> None:
            line.cut()

        with pytest.raises(ServerUnavailableError) as caught:
            _write(database, star(graph_id, 20), cut)
    assert "thinkeval db start" in caught.value.remedy


def test_no_server_at_all_says_how_to_start_one(graph_id: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with Database(f"bolt://127.0.0.1:{port}", "neo4j", "x") as nowhere:  # noqa: SIM117
        with pytest.raises(ServerUnavailableError, match=str(port)):
            nowhere.verify()


@pytest.fixture
def _in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything above 50 facts counts as too big for one transaction."""
    monkeypatch.setattr(write, "TX_LIMIT", 50)
    monkeypatch.setattr(write, "BATCH", 30)


@pytest.mark.usefixtures("_in_batches")
def test_a_big_graph_is_seen_when_all_of_it_is_there(
    db: Database, graph_id: str, count: Callable[[], tuple[int, int]]
) -> None:
    loaded = datasets.read("hogwarts", name=graph_id)
    seen: list[tuple[int, int, bool]] = []

    def watch(done: int, total: int, stage: str) -> None:
        visible = bool(db.read(rows.GraphRow, "graph/get_graph", graph=graph_id))
        seen.append((done, count()[1], visible))

    assert datasets.store(db, loaded, progress=watch).n_facts == 108
    assert seen == [(n, n, False) for n in (30, 60, 90, 108)]
    assert datasets.stored_graph(db, graph_id).content_digest == loaded.graph.content_digest
    assert datasets.store(db, loaded).status == "unchanged"


@pytest.mark.usefixtures("_in_batches")
@pytest.mark.parametrize("error", [Died, KeyboardInterrupt])
def test_a_big_graph_that_dies_in_the_middle_leaves_nothing(
    db: Database,
    graph_id: str,
    count: Callable[[], tuple[int, int]],
    error: type[BaseException],
) -> None:
    def die(done: int, total: int, stage: str) -> None:
        raise error

    with pytest.raises(error):
        datasets.store(db, datasets.read("hogwarts", name=graph_id), progress=die)
    assert count() == (0, 0)


@pytest.mark.usefixtures("_in_batches")
def test_a_big_graph_cut_off_in_the_middle_is_not_seen_and_can_be_imported_again(
    db: Database, server: dict[str, str], graph_id: str
) -> None:
    loaded = datasets.read("hogwarts", name=graph_id)
    with cuttable(server) as (database, line):

        def cut(done: int, total: int, stage: str) -> None:
            line.cut()

        with pytest.raises(ServerUnavailableError):
            datasets.store(database, loaded, progress=cut)
    with pytest.raises(NotFoundError):
        datasets.stored_graph(db, graph_id)
    assert graph_id not in {g.id for g in datasets.list_graphs(db)}
    assert datasets.store(db, loaded).status == "imported"
    assert datasets.stored_graph(db, graph_id).content_digest == loaded.graph.content_digest


def test_of_several_rows_of_one_fact_the_last_is_stored(db: Database, graph_id: str) -> None:
    facts = [Fact("a", "r", "b", "{} is first"), Fact("a", "r", "b", "{} is last")]
    given = [datasets.fact_row(fact) for fact in facts]
    header = rows.GraphHeader(graph_id, "dataset", graph_id)
    done = write.write_graph(db, header, [Entity("a"), Entity("b")], given)
    assert (done.n_facts, done.complete) == (1, True)
    (stored,) = db.read(rows.FactRow, "graph/facts", graph=graph_id)
    assert stored.prompt == "{} is last"


def test_entities_can_be_read_by_whether_they_have_further_names(
    db: Database, graph_id: str
) -> None:
    entities = [Entity("a", ("A",)), Entity("b"), Entity("c", ("C", "see"), "letter")]
    header = rows.GraphHeader(graph_id, "dataset", graph_id)
    write.write_graph(db, header, entities, [])
    for aliased, names in ((False, ["a", "b", "c"]), (True, ["a", "c"])):
        found = db.read(rows.EntityRow, "graph/entities", graph=graph_id, aliased=aliased)
        assert [each.name for each in found] == names
