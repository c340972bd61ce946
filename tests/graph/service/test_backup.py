"""A backup of the tests' server, restored on a second server in another home."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import neo4j
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from support.servers.java import QUICK
from support.stored_edits import random_facts, store_edit
from thinkeval.cypher import backup as content
from thinkeval.cypher import catalog, migrations, rows
from thinkeval.cypher.embedded import EmbeddedServer
from thinkeval.cypher.errors import (
    ChangedError,
    DiskFullError,
    NewerDatabaseError,
    NotEmptyError,
    OlderDatabaseError,
    UnfinishedRestoreError,
)
from thinkeval.cypher.migrations import FIRST, latest
from thinkeval.cypher.run import Database
from thinkeval.editing.deltas import EditEffect, files
from thinkeval.service import worker
from thinkeval.service.base import backup as backups
from thinkeval.service.base.database import connect, silent
from thinkeval.service.base.errors import ConflictError, UsageError
from thinkeval.service.base.settings import Settings
from thinkeval.service.experiments.recovery import release_expired
from thinkeval.service.graphs import datasets
from thinkeval.service.scoring.plan import query_digests
from thinkeval.service.scoring.recompute import recompute

RELEASES = get_args(Settings.model_fields["neo4j_release"].annotation)
LATER = "// Name every graph anew.\n\nMATCH (g:Graph) SET g.name = 'later ' + g.id"


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Settings of a second server, of another release, as arguments of `Settings`."""
    home, settings = tmp_path_factory.mktemp("second") / "neo4j", Settings()
    server = EmbeddedServer(
        home,
        cache=settings.cache / "neo4j",
        jvm_args=QUICK,
        release=next(each for each in RELEASES if each != settings.neo4j_release),
        ready_timeout_s=180,
    )
    info = server.ensure_running()
    yield {
        "neo4j_uri": info.bolt,
        "neo4j_user": info.user,
        "neo4j_password": SecretStr(info.password),
    }
    server.stop(force=True)


@pytest.fixture
def there(second: dict[str, Any], tmp_path: Path) -> Settings:
    """Settings of the second server, which is empty, with a home of the test's own."""
    found = Settings(home=tmp_path / "there", **second)
    with Database(found.neo4j_uri, found.neo4j_user, password_of(found)) as db:
        db.setup_schema() if not db.is_restoring() else None
        content.clear(db)
        db.setup_schema()
    return found


@pytest.fixture
def here(test_settings: Settings, tmp_path: Path) -> Settings:
    return test_settings.model_copy(update={"home": tmp_path / "here"})


def password_of(found: Settings) -> str:
    assert found.neo4j_password is not None
    return found.neo4j_password.get_secret_value()


def save_update(found: Settings, edit: str, value: float = 1.0) -> str:
    effect = EditEffect(deltas={"layer.weight": torch.full((3, 4), value)})
    path = found.home / "deltas" / f"{edit}.safetensors"
    return files.save(effect, path, files.DeltaMeta(weights_digest="w", method="rome", edit=edit))


def store(db: Database, found: Settings, prefix: str, n: int = 2) -> list[str]:
    """Store a data set and scored edits with their updates; the ids of the edits."""
    graph = datasets.store(db, datasets.read("hogwarts", name=prefix)).graph
    edits = [f"{prefix}-e{i}" for i in range(n)]
    for i, edit in enumerate(edits):
        about = {"saved": True, "digest": save_update(found, edit, i + 1.0)}
        provenance = {"delta": about, "queries": query_digests()}
        store_edit(db, edit, random_facts(i), dataset=graph, provenance=provenance)
    return edits


def copied(db: Database, here: Settings, there: Settings, file: Path) -> tuple[Any, Any]:
    """Back up, and restore on the second server; the manifest, and what was restored."""
    made = backups.make(db, here, file, silent)
    return made, restored(file, there)


def restored(file: Path, there: Settings, progress: Any = silent) -> Any:
    with backups.opened(file) as found:
        found.check(silent)
        with connect(there, restoring=True) as db:
            return backups.restore(db, there, found, progress)


def opened(found: Settings) -> Database:
    return Database(found.neo4j_uri or "", found.neo4j_user, password_of(found), strict=True)


def stores_nothing(db: Database) -> bool:
    return db.read(rows.SizeRow, "backup/size")[0].nodes == 0


def everything(db: Database) -> tuple[Counter[str], Counter[str]]:
    """All nodes and relationships of a database as texts; ends of relationships by their node."""
    text = json.dumps
    with db._session("READ") as session:
        nodes = {
            record["id"]: text([sorted(record["labels"]), record["p"]], sort_keys=True)
            for record in session.run(
                "MATCH (n) WHERE NOT n:Schema AND NOT n:Worker"
                " RETURN elementId(n) AS id, labels(n) AS labels, properties(n) AS p"
            )
        }
        ends = Counter(
            text([nodes[r["a"]], nodes[r["b"]], r["t"], r["p"]], sort_keys=True)
            for r in session.run(
                "MATCH (a)-[r]->(b) RETURN elementId(a) AS a, elementId(b) AS b, type(r) AS t,"
                " properties(r) AS p"
            )
        )
    return Counter(nodes.values()), ends


def test_another_home_has_everything_after_a_restore(
    db: Database, graph_id: str, here: Settings, there: Settings, tmp_path: Path
) -> None:
    edits = store(db, here, graph_id)
    (here.home / "tuned").mkdir()
    (here.home / "tuned" / "rome.json").write_text("{}")
    made, done = copied(db, here, there, tmp_path / "b.zip")
    assert made.nodes["Edit"] >= 2
    assert made.relationships["FACT"] > 100
    assert done.files == len(made.files) == 3
    with opened(there) as other:
        assert everything(other) == everything(db)
        counts = content.counts_of(other)
        assert dict(counts.nodes) == made.nodes
        assert dict(counts.relationships) == made.relationships
        assert (counts.n_nodes, counts.n_relationships) == (made.n_nodes, made.n_relationships)
        again = recompute(other, silent)
        assert again.differing == ()
        assert again.values >= 6
        other.setup_schema()  # nobody refuses it any more
    for edit in edits:
        name = f"deltas/{edit}.safetensors"
        assert (there.home / name).read_bytes() == (here.home / name).read_bytes()
    found = backups.verify(tmp_path / "b.zip", silent)
    assert (found.deltas, found.compared, found.notes) == (2, 2, ())


def test_a_number_that_is_not_read_off_the_graph_is_named(
    db: Database, graph_id: str, here: Settings
) -> None:
    edit = store(db, here, graph_id, n=1)[0]
    assert not any(edit in each for each in recompute(db, silent).differing)
    with db._session("WRITE") as session:
        session.run(
            "MATCH ()-[f:FACT {graph: $edit}]->() SET f.likelihood_post = 0.5", edit=edit
        ).consume()
    (found,) = [each for each in recompute(db, silent).differing if each.startswith(edit)]
    assert "stored" in found


# Damage.


@pytest.fixture
def whole(db: Database, graph_id: str, here: Settings, tmp_path: Path) -> Path:
    store(db, here, graph_id, n=1)
    backups.make(db, here, tmp_path / "whole.zip", silent)
    return tmp_path / "whole.zip"


def test_one_flipped_bit_in_any_part_is_found(whole: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(whole) as archive:
        infos = archive.infolist()
    body = whole.read_bytes()
    assert len(infos) == 4
    for info in infos:
        start = info.header_offset + 30 + len(info.filename)
        for place in (start + 25, start + info.compress_size // 2, start + info.compress_size - 2):
            bad = bytearray(body)
            bad[place] ^= 16
            (tmp_path / "bad.zip").write_bytes(bad)
            with pytest.raises(UsageError, match="is no whole backup"):
                backups.verify(tmp_path / "bad.zip", silent)


def test_a_flipped_bit_anywhere_is_found_or_changes_nothing(whole: Path, tmp_path: Path) -> None:
    body, draw, found = whole.read_bytes(), random.Random(0), 0
    good = backups.verify(whole, silent)
    tail = range(len(body) - 700, len(body))  # the directory of the parts
    for place in [*(draw.randrange(len(body)) for _ in range(60)), *draw.sample(tail, 60)]:
        bad = bytearray(body)
        bad[place] ^= 1 << draw.randrange(8)
        path = tmp_path / "bad.zip"
        path.write_bytes(bad)
        try:
            same = backups.verify(path, silent)
        except (UsageError, NewerDatabaseError, OlderDatabaseError):
            found += 1
            continue
        assert {**vars_of(same), "file": ""} == {**vars_of(good), "file": ""}
    assert found > 60


def vars_of(found: backups.Verified) -> dict[str, Any]:
    return {name: getattr(found, name) for name in found.__slots__}


def test_a_truncated_file_is_refused(whole: Path, tmp_path: Path) -> None:
    body = whole.read_bytes()
    for length in (0, 1, 100, len(body) // 2, len(body) - 1):
        (tmp_path / "cut.zip").write_bytes(body[:length])
        with pytest.raises(UsageError, match="is no whole backup"):
            backups.verify(tmp_path / "cut.zip", silent)


def test_a_part_that_was_replaced_by_a_valid_one_is_found(whole: Path, tmp_path: Path) -> None:
    """Whoever makes a new zip of changed lines: the checksums of the zip are right then."""
    with zipfile.ZipFile(whole) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["nodes.jsonl"] = parts["nodes.jsonl"].replace(b"Hogwarts", b"Hogwerts", 1)
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    with pytest.raises(UsageError, match=r"nodes\.jsonl does not have the digest"):
        backups.verify(tmp_path / "bad.zip", silent)


def manifest_changed(whole: Path, to: Path, **changes: Any) -> Path:
    with zipfile.ZipFile(whole) as archive, zipfile.ZipFile(to, "w") as out:
        for name in archive.namelist():
            data = archive.read(name)
            if name == "manifest.json":
                data = json.dumps(json.loads(data) | changes).encode()
            out.writestr(name, data)
    return to


def test_a_backup_of_another_version_is_refused(whole: Path, tmp_path: Path) -> None:
    newer = manifest_changed(whole, tmp_path / "new.zip", database_schema=latest() + 1)
    with pytest.raises(NewerDatabaseError, match=f"schema {latest() + 1}; this one knows"):
        backups.verify(newer, silent)
    old = manifest_changed(whole, tmp_path / "old.zip", database_schema=FIRST - 1)
    with pytest.raises(OlderDatabaseError, match=f"schema {FIRST - 1}; this one reads {FIRST}"):
        backups.verify(old, silent)


def test_a_part_outside_the_folders_of_a_home_is_refused(whole: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(whole) as archive:
        told = json.loads(archive.read("manifest.json"))
        bodies = {each["name"]: archive.read(each["name"]) for each in told["parts"]}
    for name in ("deltas/../../x", "password", "neo4j/password", "/deltas/x"):
        parts = [*told["parts"][:2], told["parts"][2] | {"name": name}]
        with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
            for each in told["parts"][:2]:
                archive.writestr(each["name"], bodies[each["name"]])
            archive.writestr(name, bodies[told["parts"][2]["name"]])
            archive.writestr("manifest.json", json.dumps(told | {"parts": parts}))
        with pytest.raises(UsageError, match="is no file of a home"):
            backups.verify(tmp_path / "bad.zip", silent)


def test_no_file_and_a_file_that_is_no_backup(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no file"):
        backups.verify(tmp_path / "none.zip", silent)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(UsageError, match="is no whole backup"):
        backups.verify(tmp_path / "text", silent)


def test_an_update_that_was_not_scored_is_named(
    db: Database, graph_id: str, here: Settings, tmp_path: Path
) -> None:
    edits = store(db, here, graph_id, n=2)
    backups.make(db, here, tmp_path / "a.zip", silent)
    gone = backups.verify(tmp_path / "a.zip", silent).gone  # edits of other tests
    save_update(here, edits[0], 7.0)
    (here.home / "deltas" / f"{edits[1]}.safetensors").unlink()
    save_update(here, "nobody", 7.0)
    backups.make(db, here, tmp_path / "b.zip", silent)
    found = backups.verify(tmp_path / "b.zip", silent)
    notes = "\n".join(found.notes)
    assert f"deltas/{edits[0]}.safetensors is another update than the one that was scored" in notes
    assert len(found.notes) == 1  # an update may be there before its edit is scored
    assert (found.deltas, found.compared, found.unscored) == (2, 1, 1)
    assert found.gone == gone + 1


# Restoring.


def test_a_database_that_is_not_empty_stays_as_it_is(whole: Path, there: Settings) -> None:
    with opened(there) as other:
        datasets.store(other, datasets.read("hogwarts"))
        before = everything(other)
    with pytest.raises(NotEmptyError, match="is not empty: it has"):
        restored(whole, there)
    with opened(there) as other:
        assert everything(other) == before
        other.setup_schema()


def test_another_file_of_the_home_is_not_replaced(
    whole: Path, there: Settings, graph_id: str
) -> None:
    mine = there.home / "deltas" / f"{graph_id}-e0.safetensors"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    with pytest.raises(ConflictError, match="is another file than that of the backup"):
        restored(whole, there)
    assert mine.read_text() == "mine"
    with opened(there) as other:
        assert stores_nothing(other)
        other.setup_schema()


def test_a_restore_that_fails_leaves_nothing(whole: Path, there: Settings, graph_id: str) -> None:
    def stop(done: int, total: int, stage: str) -> None:
        if stage == "restoring the database":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        restored(whole, there, stop)
    assert not (there.home / "deltas" / f"{graph_id}-e0.safetensors").exists()
    with opened(there) as other:
        assert stores_nothing(other)
        other.setup_schema()
    assert restored(whole, there).nodes > 50


KILLED = """
import os, signal, sys
from pathlib import Path
from thinkeval.service.base import backup
from thinkeval.service.base.database import connect, silent
from thinkeval.service.base.settings import Settings

def kill(done, total, stage):
    if stage == "restoring the database":
        os.kill(os.getpid(), signal.SIGKILL)

settings = Settings()
with backup.opened(Path(sys.argv[1])) as found, connect(settings, restoring=True) as db:
    backup.restore(db, settings, found, kill)
"""


def test_a_killed_restore_is_refused_by_all_until_it_is_restored_again(
    whole: Path, there: Settings
) -> None:
    env = os.environ | {
        "THINKEVAL_NEO4J_URI": there.neo4j_uri or "",
        "THINKEVAL_NEO4J_USER": there.neo4j_user,
        "THINKEVAL_NEO4J_PASSWORD": password_of(there),
        "THINKEVAL_HOME": str(there.home),
    }
    command = [sys.executable, "-c", KILLED, str(whole)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    with opened(there) as other:
        assert not stores_nothing(other)
    with pytest.raises(UnfinishedRestoreError, match=r"restore of whole\.zip .* not finished"):
        connect(there)
    assert restored(whole, there).nodes > 50
    with connect(there) as other:
        assert recompute(other, silent).differing == ()


def test_jobs_wait_for_a_service_of_the_other_database(
    db: Database, graph_id: str, here: Settings, there: Settings, tmp_path: Path
) -> None:
    with db._session("WRITE") as session:
        session.run(
            """
            UNWIND [['queued', '{}'], ['running', '{}'], ['command', null]] AS each
            CREATE (j:Job:Edit {id: $prefix + '-' + each[0], kind: 'edit', dataset: $prefix,
              status: CASE each[0] WHEN 'queued' THEN 'queued' ELSE 'running' END, ticket: 1,
              request: each[1], attempt: 1, attempts: 1})
            FOREACH (go IN CASE WHEN each[0] = 'queued' THEN [] ELSE [1] END |
              SET j.lease = $prefix + each[0], j.lease_ms = 600000,
                j.lease_until = timestamp() + 600000, j.worker = 'w')
            """,
            prefix=graph_id,
        ).consume()
    _, done = copied(db, here, there, tmp_path / "b.zip")
    assert done.running == 2
    with connect(there) as other:
        released = release_expired(other, worker.KINDS)
        assert {name.rpartition("-")[2]: now for name, now in released.items()} == {
            "running": "queued",
            "command": "failed",
        }
        with other._session("READ") as session:
            found = session.run(
                "MATCH (j:Job) WHERE j.id STARTS WITH $prefix"
                " RETURN j.id AS id, j.status AS status, j.lease AS lease, j.worker AS worker",
                prefix=graph_id,
            ).data()
    assert {each["id"].rpartition("-")[2]: each["status"] for each in found} == {
        "queued": "queued",
        "running": "queued",
        "command": "failed",
    }
    assert {(each["lease"], each["worker"]) for each in found} == {(None, None)}


# Jobs that run while a backup is made.


def test_what_is_written_meanwhile_is_whole_or_left_out(
    db: Database, graph_id: str, here: Settings, there: Settings, tmp_path: Path
) -> None:
    store(db, here, graph_id, n=1)
    ended = threading.Event()
    errors: list[BaseException] = []

    def work() -> None:
        n = 0
        try:
            while not ended.is_set():
                about = {"queries": query_digests()}
                store_edit(db, f"{graph_id}-w{n}", random_facts(n), dataset=graph_id,
                           provenance=about)  # fmt: skip
                n += 1
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        made = [backups.make(db, here, tmp_path / f"b{i}.zip", silent) for i in range(4)]
    finally:
        ended.set()
        thread.join()
    assert errors == []
    assert made[-1].nodes["Edit"] > made[0].nodes["Edit"]  # it did run meanwhile
    restored(tmp_path / "b3.zip", there)
    with opened(there) as other:
        again = recompute(other, silent)
        assert (again.differing, again.without_graph, again.unreadable) == ((), 0, 0)
        with other._session("READ") as session:
            (bare,) = session.run(
                "MATCH (e:Entity) WHERE NOT EXISTS"
                " { MATCH (g:Graph) WHERE g.complete AND e.key STARTS WITH g.id + '|' }"
                " RETURN count(e)"
            ).values()
        assert bare == [0]


READ = content.Reading.relationships


def replacing(db: Database, graph_id: str, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Replace the graph between the reading of nodes and that of relationships."""
    read, left = READ, [times]

    def replaced(self: content.Reading) -> Iterator[str]:
        if left[0]:
            left[0] -= 1
            other = datasets.read(("hogwarts", "world")[left[0] % 2], name=graph_id)
            assert datasets.store(db, other, replace=True).status != "unchanged"
        return read(self)

    monkeypatch.setattr(content.Reading, "relationships", replaced)


def test_a_graph_that_is_replaced_meanwhile_is_read_again(
    db: Database,
    graph_id: str,
    here: Settings,
    there: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    datasets.store(db, datasets.read("hogwarts", name=graph_id))
    replacing(db, graph_id, monkeypatch, 2)
    copied(db, here, there, tmp_path / "b.zip")
    with opened(there) as other:
        assert everything(other) == everything(db)
    replacing(db, graph_id, monkeypatch, 10)
    with pytest.raises(ChangedError):
        backups.make(db, here, tmp_path / "c.zip", silent)
    assert not [path for path in tmp_path.iterdir() if "c.zip" in path.name]


def test_a_graph_that_is_deleted_meanwhile_is_noticed(
    db: Database, graph_id: str, here: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deleting(self: content.Reading) -> Iterator[str]:
        yield from READ(self)
        db.autocommit(int, "graph/delete_graph", graph=graph_id)

    datasets.store(db, datasets.read("hogwarts", name=graph_id))
    monkeypatch.setattr(content.Reading, "relationships", deleting)
    made = backups.make(db, here, tmp_path / "b.zip", silent)  # the second time it is gone
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        assert graph_id.encode() not in archive.read("nodes.jsonl")
    assert made.n_nodes >= 0


def test_a_graph_that_is_being_written_is_left_out(
    db: Database, graph_id: str, here: Settings, tmp_path: Path
) -> None:
    datasets.store(db, datasets.read("hogwarts", name=graph_id))
    with db._session("WRITE") as session:
        session.run("MATCH (g:Graph {id: $id}) SET g.complete = false", id=graph_id).consume()
    made = backups.make(db, here, tmp_path / "b.zip", silent)
    assert made.left_out["graphs being written"] >= 1
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        lines = map(json.loads, archive.read("nodes.jsonl").splitlines())
    owned = [labels for labels, properties in lines if graph_id in str(properties.get("key"))]
    assert owned == []


# The disk.


def full(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    usage = shutil.disk_usage("/")._replace(free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)


def test_a_backup_is_not_begun_without_room(
    db: Database, here: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full(monkeypatch, 10**6)
    with pytest.raises(DiskFullError, match=r"The backup needs \d+ MB"):
        backups.make(db, here, tmp_path / "b.zip", silent)
    assert not list(tmp_path.glob("*b.zip*"))


def test_a_restore_is_not_begun_without_room(
    whole: Path, there: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    full(monkeypatch, 10**6)
    with pytest.raises(DiskFullError):
        restored(whole, there)
    monkeypatch.undo()
    with connect(there) as other:
        assert stores_nothing(other)


def test_a_backup_never_replaces_a_file(db: Database, here: Settings, tmp_path: Path) -> None:
    (tmp_path / "b.zip").write_text("mine")
    with pytest.raises(ConflictError, match="exists"):
        backups.make(db, here, tmp_path / "b.zip", silent)
    assert (tmp_path / "b.zip").read_text() == "mine"
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        backups.make(db, here, tmp_path / "file" / "b.zip", silent)


# A database of an older release.


@pytest.fixture
def older(whole: Path, there: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    """The second server with a database that a later version migrates."""
    restored(whole, there)
    later = catalog.parse("migrations/0004_later", LATER)
    monkeypatch.setattr(migrations, "numbered", lambda: [(FIRST + 1, later)])
    yield there
    with opened(there) as other, other._session("WRITE") as session:
        session.run("MATCH (s:Schema) SET s.version = $v", v=FIRST).consume()


def test_an_older_database_is_backed_up_before_it_is_migrated(
    older: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(older) as other:
        before = everything(other)
    with connect(older) as other:
        after = everything(other)
        assert other.version() == latest() == FIRST + 1
    assert after != before
    (file,) = (older.home / "backups").glob(f"schema-{FIRST}-*.zip")
    assert str(file) in caplog.text
    connect(older).close()
    assert len(list((older.home / "backups").glob("*.zip"))) == 1
    # Restored, it is migrated to the same.
    with opened(older) as other:
        content.clear(other)
    assert restored(file, older).migrations == ("migrations/0004_later",)
    with connect(older) as other:
        assert everything(other) == after


def test_an_older_database_is_not_migrated_without_room_for_its_backup(
    older: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    full(monkeypatch, 10**6)
    with pytest.raises(DiskFullError, match="older release, and is backed up before"):
        connect(older)
    with opened(older) as other:
        assert other.version() == FIRST


# Properties of every type.

INTEGERS = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(allow_nan=True, allow_infinity=True)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
OFFSETS = st.integers(-1079, 1079)


def date(days: int) -> neo4j.time.Date:
    return neo4j.time.Date.from_ordinal(days)


DATES = st.integers(1, 3652059).map(date)
TIMES = st.builds(
    neo4j.time.Time, st.integers(0, 23), st.integers(0, 59), st.integers(0, 59),
    st.integers(0, 999_999_999),
)  # fmt: skip
ZONES = st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC"])


def moment(day: int, nanosecond: int, zone: str | int | None) -> neo4j.time.DateTime:
    import pytz

    local = neo4j.time.DateTime.combine(
        date(day), neo4j.time.Time(nanosecond % 24, 30, 59, nanosecond % 1_000_000_000)
    )
    if zone is None:
        return local
    known = pytz.timezone(zone) if isinstance(zone, str) else pytz.FixedOffset(zone)
    return known.localize(local)


MOMENTS = st.builds(
    moment, st.integers(693_596, 767_000), st.integers(0, 10**12),
    st.one_of(st.none(), ZONES, OFFSETS),
)  # fmt: skip
SMALL = st.integers(-(10**6), 10**6)
DURATIONS = st.builds(
    lambda m, d, s, n: neo4j.time.Duration(months=m, days=d, seconds=s, nanoseconds=n),
    SMALL, SMALL, SMALL, st.integers(0, 999_999_999),
)  # fmt: skip
PLACES = st.floats(-80, 80)
POINTS = [
    st.lists(PLACES, min_size=n, max_size=n).map(kind)
    for kind in (neo4j.spatial.CartesianPoint, neo4j.spatial.WGS84Point)
    for n in (2, 3)
]
SCALARS = [INTEGERS, FLOATS, TEXTS, st.booleans(), DATES, TIMES, MOMENTS, DURATIONS, *POINTS]
VALUES = st.one_of(
    *SCALARS,
    st.binary(max_size=20),
    *(st.lists(each, max_size=4) for each in SCALARS if each is not MOMENTS),
)
PROPERTIES = st.dictionaries(st.sampled_from("abcdef"), VALUES, max_size=6)
LABELS = st.sets(st.sampled_from(["Odd", "Even label", "Ünï`code"]), max_size=3)


def same(a: Any, b: Any) -> bool:
    """Equal in type and value; NaN is equal to NaN, and 0.0 is not -0.0."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        signs = math.copysign(1, a) == math.copysign(1, b)
        return (math.isnan(a) and math.isnan(b)) or (a == b and signs)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, neo4j.time.DateTime | neo4j.time.Time):
        return a == b and str(a.tzinfo) == str(b.tzinfo) and a.iso_format() == b.iso_format()
    if isinstance(a, neo4j.spatial.Point):
        return a.srid == b.srid and tuple(a) == tuple(b)
    return bool(a == b)


@settings(max_examples=40)
@given(
    nodes=st.lists(st.tuples(LABELS, PROPERTIES), min_size=1, max_size=5),
    ends=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), PROPERTIES), max_size=5),
)
def test_any_property_survives(second: dict[str, Any], nodes: list[Any], ends: list[Any]) -> None:
    """Written to a server, read as a backup reads it, restored, and read by the driver alone."""
    found = Settings(**second)
    with opened(found) as db:
        if db.is_restoring():
            content.clear(db)
        db.setup_schema()
        content.clear(db)
        with db._session("WRITE") as session:
            ids = []
            for i, (labels, properties) in enumerate(nodes):
                (record,) = session.run(
                    "CREATE (n:$($labels)) SET n = $p SET n.i = $i RETURN elementId(n) AS id",
                    labels=sorted(labels), p=properties, i=i,
                )  # fmt: skip
                ids.append(record["id"])
            for i, (a, b, properties) in enumerate(ends):
                session.run(
                    "MATCH (a), (b) WHERE elementId(a) = $a AND elementId(b) = $b"
                    " CREATE (a)-[r:`Odd type`]->(b) SET r = $p SET r.i = $i",
                    a=ids[a % len(ids)], b=ids[b % len(ids)], p=properties, i=i,
                ).consume()  # fmt: skip
        before = by_number(db)
        with db.reading() as tx:
            reading = content.Reading(tx)
            lines = list(reading.nodes()), list(reading.relationships())
            reading.require_unchanged()
        content.clear(db)
        content.begin(db, latest(), "test")
        content.write(db, *lines, silent_tick)
        content.end(db)
        after = by_number(db)
    assert len(before) == len(after) == len(nodes) + len(ends)
    for key, (names, properties) in before.items():
        others, stored = after[key]
        assert names == others
        assert properties.keys() == stored.keys()
        for name, value in properties.items():
            assert same(value, stored[name]), (name, value, stored[name])


def silent_tick(n: int) -> None:
    pass


def by_number(db: Database) -> dict[Any, Any]:
    with db._session("READ") as session:
        found = {
            ("node", record["n"]["i"]): (sorted(record["n"].labels), dict(record["n"]))
            for record in session.run("MATCH (n) WHERE NOT n:Schema RETURN n")
        }
        for record in session.run("MATCH (a)-[r]->(b) RETURN a.i AS a, b.i AS b, r"):
            key = ("relationship", record["r"]["i"])
            found[key] = ([record["a"], record["b"], record["r"].type], dict(record["r"]))
    return found


def test_a_value_of_an_unknown_type_is_refused_by_name() -> None:
    with pytest.raises(content.GraphError, match=r"Odd\.name has a value of type object"):
        content.encoded({"name": object()}, "Odd")
    for bad in ({"odd": 1}, {}, {"bytes": "&"}, {"duration": [1]}, {"a": 1, "b": 2}):
        with pytest.raises(content.ParameterError, match="is no value of a backup"):
            content.decoded({"name": bad})
