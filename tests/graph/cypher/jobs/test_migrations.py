"""A database that the version before migrations wrote, opened by this one; and a newer database."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import neo4j
import pytest

from support.job_queries import admin as admin
from thinkeval.cypher import migrations, rows
from thinkeval.cypher.errors import NewerDatabaseError
from thinkeval.cypher.run import Database
from thinkeval.service.base.leases import event, new_token
from thinkeval.service.base.settings import Settings
from thinkeval.service.depedit.kind import DEPEDIT
from thinkeval.service.experiments import edit as edits
from thinkeval.service.experiments import queue, recovery
from thinkeval.service.experiments.edit import job_of as edit_job_of
from thinkeval.service.experiments.job import job_of
from thinkeval.service.experiments.sweep import SWEEP
from thinkeval.service.models.edit import EditIn

OLD = Path(__file__).with_name("before_migrations.cypher")
KINDS = (job_of(edits.EDIT), job_of(DEPEDIT))
SETTINGS = Settings()
EDIT = "rome-harry-potter-"
REWRITE = {"graph": "old-hogwarts", "rewrite": "harry-potter--studied-at"}
QUEUED = (
    "none-harry-potter-c17460bb07",  # from before there were tickets
    f"{EDIT}1d3831a9e2",  # was running
    "runs-9a39e48b6c",  # was running too, with a run stored
    f"{EDIT}e519c00de3",
    "runs-c1de4b3b48",
    f"{EDIT}98826059e5",
    "runs-96d7353ce4",
    f"{EDIT}720dc2e26e",
)
"""What that version would have done next, in this order."""


@pytest.fixture
def old(db: Database, admin: neo4j.Driver) -> Iterator[None]:
    """The old database's nodes beside those of other tests, and no version."""
    assert queue.counts(db)["queued"] == queue.counts(db)["running"] == 0
    assert queue.counts(db, kind="depedit")["queued"] == 0
    labels = "Edit|Post|Queue|Worker|Sweep|ProtocolJob|Job|RewriteRequest|ProtocolRun|KnowledgeSet"
    (before,) = admin.execute_query(
        f"MATCH (n:{labels}|Graph) RETURN collect(elementId(n)) AS ids"
    )[0]
    admin.execute_query("MATCH (s:Schema) SET s.version = 0")
    text = "\n".join(x for x in OLD.read_text("utf-8").splitlines() if not x.startswith("//"))
    with admin.session() as session:
        for statement in text.split(";\n"):
            if statement.strip():
                session.run(statement).consume()  # type: ignore[arg-type]
    yield
    admin.execute_query(
        f"MATCH (n:{labels}|Graph) WHERE NOT elementId(n) IN $ids AND NOT n:Queue DETACH DELETE n",
        ids=before["ids"],
    )
    admin.execute_query("MATCH (s:Schema) SET s.version = $v", v=migrations.latest())


def claims(db: Database) -> list[rows.ClaimJobRow]:
    """Everything that workers would claim, in order."""
    found: list[rows.ClaimJobRow] = []
    told = {"lease_ms": 60_000, "event": event("running", "starting")}
    kinds = [kind.KIND for kind in KINDS]
    while True:
        idle = [{"worker": "w", "lease": new_token(), "affinity": None}]
        row = db.write(rows.ClaimJobRow, "jobs/claim", kinds=kinds, rows=idle, **told)
        if not row:
            return found
        found += row


@pytest.mark.usefixtures("old")
def test_every_job_of_the_old_database_is_readable_and_goes_on(db: Database) -> None:
    db.setup_schema()
    scored = edits.EDIT.store.get(db, f"{EDIT}46f4202e59")
    assert (scored.id, scored.status) == (f"{EDIT}46f4202e59-final", "succeeded")
    assert scored.result is not None
    assert scored.result.values
    assert edits.EDIT.store.get(db, f"{EDIT}31838971fb").error == "no"
    assert edit_job_of(db, f"{EDIT}2681075ee8").status == "cancelled"
    done = DEPEDIT.store.get(db, "runs-d9e454fc12")
    assert (done.status, done.parts, done.request["sets"]) == (
        "succeeded",
        ["old-set.base.8068c814"],
        ["old-set"],
    )
    assert DEPEDIT.store.get(db, "runs-39c3389aa6").remedy == "what"
    assert SWEEP.store.find(db, "sweep-6d9d5a2ec1").counts["queued"] == 1
    # What was running when that version ended is recovered; no attempt is used up.
    assert recovery.Recovery(KINDS, lease_s=0).run(db) == {
        "old-command": "failed",
        f"{EDIT}e5e28c6122": "cancelled",
        f"{EDIT}1d3831a9e2": "queued",
        "runs-9a39e48b6c": "queued",
    }
    assert "exited unexpectedly" in (edits.EDIT.store.get(db, "old-command").error or "")
    assert edit_job_of(db, f"{EDIT}1d3831a9e2").attempts == 0
    found = claims(db)
    assert [row.id for row in found] == list(QUEUED)
    assert found[2].parts == ("old-set.base.686b809a",)
    assert {row.kind for row in found} == {"edit", "depedit"}


@pytest.mark.usefixtures("old")
def test_keys_and_ids_of_the_old_database_find_the_same_jobs(db: Database) -> None:
    db.setup_schema()
    posted = EditIn.model_validate(REWRITE)
    again = edits.EDIT.store.submit(db, SETTINGS, posted, key="key-of-the-first")
    assert (again.edit, again.outcome) == (f"{EDIT}46f4202e59-final", "known")
    late = EditIn.model_validate(REWRITE | {"seed": 99})
    added = edits.EDIT.store.submit(
        db, SETTINGS, late, key="key-of-the-job"
    )  # that one is of another kind
    assert added.outcome == "created"
    recovery.Recovery(KINDS, lease_s=0).run(db)
    assert [row.id for row in claims(db)] == [*QUEUED, added.edit]


@pytest.mark.usefixtures("old")
def test_of_several_programs_that_start_at_once_one_migrates(
    db: Database, server: dict[str, str]
) -> None:
    login = (server["THINKEVAL_NEO4J_URI"], server["THINKEVAL_NEO4J_USER"],
             server["THINKEVAL_NEO4J_PASSWORD"])  # fmt: skip

    def start(_: int) -> None:
        with Database(*login) as mine:
            mine.setup_schema()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(start, range(4)))
    with db._session(neo4j.WRITE_ACCESS) as session:
        assert migrations.migrate(session, db.uri) == []
    assert queue.counts(db)["queued"] == 4
    assert queue.counts(db, kind="depedit")["queued"] == 2


def test_a_newer_database_is_refused_before_anything_is_written(
    db: Database, admin: neo4j.Driver
) -> None:
    admin.execute_query("MATCH (s:Schema) SET s.version = 999")
    try:
        with pytest.raises(NewerDatabaseError, match="schema 999; this one knows 3") as caught:
            db.setup_schema()
        with pytest.raises(NewerDatabaseError), db._session(neo4j.WRITE_ACCESS) as session:
            migrations.migrate(session, db.uri)
        assert "Update ThinkEval" in caught.value.remedy
    finally:
        admin.execute_query("MATCH (s:Schema) SET s.version = $v", v=migrations.latest())


def test_migrations_are_numbered_without_a_gap() -> None:
    numbers = [number for number, _ in migrations.numbered()]
    assert numbers == list(range(1, migrations.latest() + 1))
