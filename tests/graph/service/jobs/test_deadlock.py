"""Two transactions that wait for each other's locks: one begins again, and both are stored."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from support.own_graphs import hogwarts_as, own_graphs
from thinkeval.cypher import rows
from thinkeval.cypher.errors import GraphError, ParameterError
from thinkeval.cypher.run import Database
from thinkeval.cypher.sending import Tx
from thinkeval.loaders.records import Entity
from thinkeval.service.base.errors import LeaseLostError
from thinkeval.service.base.leases import Lease, event, new_token
from thinkeval.service.base.settings import Settings
from thinkeval.service.experiments import queue
from thinkeval.service.experiments.edit import EDIT
from thinkeval.service.graphs.write import write_graph
from thinkeval.service.models.edit import EditIn

Pair = tuple[Lease, Lease]


@pytest.fixture
def leases(db: Database) -> Iterator[Pair]:
    """Two running edits."""
    with own_graphs(db) as prefix:
        graph = hogwarts_as(db, f"{prefix}-hogwarts")
        found = []
        for seed in (1, 2):
            asked = {"graph": graph, "rewrite": "harry-potter--studied-at", "seed": seed}
            EDIT.store.submit(db, Settings(), EditIn.model_validate(asked))
            idle = {"worker": "w", "lease": new_token(), "affinity": None}
            told = {"lease_ms": 60_000, "event": event("running", "starting")}
            (row,) = db.write(
                rows.ClaimJobRow, "jobs/claim", kinds=[queue.EDIT], rows=[idle], **told
            )
            found.append(Lease(str(idle["lease"]), row.attempt))
        yield found[0], found[1]
        for edit in db.read(rows.PageEditRow, "edits/page_edits", dataset=graph, limit=10):
            db.write(rows.DeleteEditRow, "edits/delete_edit", id=edit.id)


def test_one_of_two_deadlocked_transactions_begins_again(db: Database, leases: Pair) -> None:
    both_hold_one = threading.Barrier(2, timeout=30)
    begun: list[int] = []

    def crosswise(first: int) -> str:
        def work(tx: Tx) -> str:
            mine = leases[first].assert_owned(tx.run)
            if begun.count(first) == 0:
                begun.append(first)
                both_hold_one.wait()
            else:
                begun.append(first)
            leases[1 - first].assert_owned(tx.run)
            tx.run(
                rows.WrittenRow,
                "edits/write_score",
                id=mine,
                graph=mine,
                score="{}",
                provenance="{}",
            )
            return mine

        return db.atomically(work)

    with ThreadPoolExecutor(2) as pool:
        edits = list(pool.map(crosswise, (0, 1)))
    assert len(begun) == 3, "the deadlock happened, and one transaction was repeated"
    assert [db.read(rows.GetEditRow, "edits/get_edit", id=edit)[0].score for edit in edits] == [
        "{}",
        "{}",
    ]


def test_two_graphs_whose_writing_waits_for_each_other_are_both_stored(
    db: Database, graph_id: str
) -> None:
    graphs = [f"{graph_id}-{side}" for side in "ab"]
    headers = [rows.GraphHeader(graph, "dataset", graph) for graph in graphs]
    for header in headers:
        write_graph(db, header, [], [])
    both_hold_one = threading.Barrier(2, timeout=30)
    begun: list[int] = []

    def crosswise(first: int) -> int:
        def fence(run: Any) -> None:
            begun.append(first)
            if begun.count(first) == 1:
                both_hold_one.wait()
            run(rows.CompleteGraphRow, "graph/complete_graph", graph=graphs[1 - first])

        names = [Entity("Harry Potter"), Entity("Hogwarts")][: first + 1]
        return write_graph(db, headers[first], names, [], fence=fence).n_entities

    with ThreadPoolExecutor(2) as pool:
        stored = list(pool.map(crosswise, (0, 1)))
    assert len(begun) == 3, "the deadlock happened, and one transaction was repeated"
    assert stored == [1, 2]


def test_without_repeating_one_of_them_fails(db: Database, leases: Pair) -> None:
    both_hold_one = threading.Barrier(2, timeout=30)

    def crosswise(first: int) -> str:
        try:
            with db.transaction() as tx:
                mine = leases[first].assert_owned(tx.run)
                both_hold_one.wait()
                leases[1 - first].assert_owned(tx.run)
        except GraphError as error:
            return str(error)
        return mine

    with ThreadPoolExecutor(2) as pool:
        told = list(pool.map(crosswise, (0, 1)))
    assert ["DeadlockDetected" in each for each in told].count(True) == 1


def test_an_error_of_the_work_itself_is_raised_at_once_and_stores_nothing(
    db: Database, leases: Pair
) -> None:
    calls: list[str] = []

    def work(tx: Tx) -> None:
        edit = leases[0].assert_owned(tx.run)
        calls.append(edit)
        tx.run(
            rows.WrittenRow, "edits/write_score", id=edit, graph=edit, score="{}", provenance="{}"
        )
        Lease("a token of another", 1).assert_owned(tx.run)

    with pytest.raises(LeaseLostError):
        db.atomically(work)
    assert len(calls) == 1
    assert db.read(rows.GetEditRow, "edits/get_edit", id=calls[0])[0].score is None


def test_a_caught_error_stores_no_part(db: Database, leases: Pair) -> None:
    def work(tx: Tx) -> str:
        edit = leases[0].assert_owned(tx.run)
        tx.run(
            rows.WrittenRow, "edits/write_score", id=edit, graph=edit, score="{}", provenance="{}"
        )
        with pytest.raises(ParameterError):
            tx.run(rows.GetEditRow, "edits/get_edit")
        return edit

    with pytest.raises(GraphError, match="nothing of it was stored"):
        db.atomically(work)
    edit = leases[0].assert_owned(db.write)
    assert db.read(rows.GetEditRow, "edits/get_edit", id=edit)[0].score is None
