"""A disk that is almost full: writes are refused before, reading and ending go on."""

from __future__ import annotations

from collections import namedtuple
from pathlib import Path

import pytest
from neo4j.exceptions import Neo4jError

from thinkeval.cypher import room, rows
from thinkeval.cypher.driver_errors import _translation
from thinkeval.cypher.errors import DiskFullError
from thinkeval.cypher.run import Database
from thinkeval.service.base.errors import describe
from thinkeval.service.graphs import datasets

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def full(
    server: dict[str, str], db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Database:
    """The same database, as if 299 MB were free on its disk."""
    usage = Usage(10**12, 10**12 - 299_000_000, 299_000_000)
    monkeypatch.setattr(room.shutil, "disk_usage", lambda folder: usage)
    return Database(
        server["THINKEVAL_NEO4J_URI"],
        server["THINKEVAL_NEO4J_USER"],
        server["THINKEVAL_NEO4J_PASSWORD"],
        disk=tmp_path,
    )


def test_nothing_is_written_where_a_write_might_fill_the_disk(
    full: Database, db: Database, graph_id: str
) -> None:
    with full, pytest.raises(DiskFullError, match=r"has 299 MB free.*Nothing was written") as said:
        datasets.store(full, datasets.read("hogwarts", name=graph_id))
    assert not db.read(rows.GraphRow, "graph/get_graph", graph=graph_id, incomplete=True)
    problem = describe(said.value)
    assert (problem.status, problem.code) == (507, "disk-full")
    assert "THINKEVAL_HOME" in problem.remedy


def test_reading_deleting_and_the_queue_go_on(full: Database, db: Database, graph_id: str) -> None:
    datasets.store(db, datasets.read("hogwarts", name=graph_id))
    with full:
        assert datasets.stored_graph(full, graph_id).facts
        full.autocommit(int, "graph/delete_graph", graph=graph_id)
    assert not db.read(rows.GraphRow, "graph/get_graph", graph=graph_id)


def test_a_database_that_stopped_writing_names_the_disk() -> None:
    said = "The database has encountered a critical error, and needs to be restarted. Please see"
    code = "Neo.DatabaseError.Transaction.TransactionStartFailed"
    error = Neo4jError._hydrate_neo4j(code=code, message=said)
    found = _translation(error, "graph/delete_graph")
    assert isinstance(found, DiskFullError)
    assert "its disk is full" in found.detail
    assert "db stop" in found.remedy
    assert "report" not in found.remedy
