"""A disk that fills up under the embedded Neo4j is named; with room, all committed data are there.

On a tmpfs of its own; skipped where none can be mounted.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.servers.java import QUICK
from thinkeval.cypher.embedded import EmbeddedServer, ServerInfo
from thinkeval.cypher.errors import DiskFullError, EmbeddedServerError
from thinkeval.cypher.run import Database
from thinkeval.loaders.records import Entity, Fact, KnowledgeGraph
from thinkeval.service.base.settings import Settings
from thinkeval.service.graphs import datasets
from thinkeval.service.graphs.write import write_graph

LEFT = 1_500_000
"""Bytes that are free when a large graph is written."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1100m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("no tmpfs can be mounted here: that needs the rights of an administrator")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def server(disk: Path) -> Iterator[EmbeddedServer]:
    cache = Settings().cache / "neo4j"
    server = EmbeddedServer(disk / "neo4j", cache=cache, jvm_args=QUICK, heap="1g",
                            release=Settings().neo4j_release, ready_timeout_s=180)  # fmt: skip
    yield server
    server.stop(force=True)


def opened(info: ServerInfo, disk: Path | None) -> Database:
    return Database(info.bolt, info.user, info.password, disk=disk)


def large() -> KnowledgeGraph:
    facts = tuple(Fact(f"s{i}", f"r{i % 50}", f"o{i % 3000}", "{} is") for i in range(20_000))
    names = dict.fromkeys(name for fact in facts for name in (fact.subject, fact.object))
    return KnowledgeGraph("large", tuple(map(Entity, names)), facts)


def written(db: Database) -> None:
    graph = large()
    rows = [datasets.fact_row(fact) for fact in graph.facts]
    write_graph(db, datasets.header(graph), graph.entities, rows)


def test_a_full_disk_is_named_and_after_room_all_that_was_committed_is_there(
    server: EmbeddedServer, disk: Path
) -> None:
    info = server.ensure_running()
    with opened(info, disk) as db:
        db.setup_schema()
        datasets.store(db, datasets.read("hogwarts"))
        fill = disk / "fill"
        with fill.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(disk).free - LEFT)
        # The look at the disk refuses the write, and the database goes on.
        with pytest.raises(DiskFullError, match="has 1 MB free"):
            written(db)
        assert len(datasets.stored_graph(db, "hogwarts").facts) == 108
    # What it prevents: the database stops, and says why.
    with opened(info, None) as db, pytest.raises(DiskFullError, match="its disk is full"):
        written(db)
    with pytest.raises(DiskFullError, match="has stopped, as its disk is full"):
        server.ensure_running()
    server.home.debug.write_text("")  # a full disk may have no room for the line
    with pytest.raises(DiskFullError, match="has stopped, as its disk is full"):
        server.ensure_running()
    fill.unlink()
    # The next command starts it again, or says that the log needs repair: the last write may be
    # cut off in the middle of it.
    try:
        info = server.ensure_running()
    except EmbeddedServerError as error:
        if "thinkeval db repair" not in error.remedy:
            raise
        server.repair()
        info = server.ensure_running()
    with opened(info, disk) as db:
        assert len(datasets.stored_graph(db, "hogwarts").facts) == 108
        written(db)
        assert len(datasets.stored_graph(db, "large").facts) == 20_000


def test_repair_copies_the_data_first_and_loses_nothing(server: EmbeddedServer, disk: Path) -> None:
    with pytest.raises(EmbeddedServerError, match="no database"):
        server.repair()
    with opened(server.ensure_running(), disk) as db:
        db.setup_schema()
        datasets.store(db, datasets.read("hogwarts"))
    copy, cut = server.repair()
    assert cut == 0
    assert (copy / "databases" / "neo4j").is_dir()
    assert "tx_log" not in (server.home.conf / "neo4j.conf").read_text()
    with opened(server.ensure_running(), disk) as db:
        assert len(datasets.stored_graph(db, "hogwarts").facts) == 108
    with (disk / "fill").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(disk).free - LEFT)
    with pytest.raises(DiskFullError, match="Nothing was changed"):
        server.repair()
