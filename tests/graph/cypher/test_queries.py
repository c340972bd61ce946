"""The real server's answer to every query file: its columns, its mode, and no complaint."""

from __future__ import annotations

from typing import LiteralString

import neo4j
import pytest

from support.job_queries import admin as admin
from thinkeval.cypher.catalog import names, query
from thinkeval.cypher.run import Database

KINDS = {"read": {"r"}, "write": {"rw", "w"}, "autocommit": {"rw", "w"}}
PLANNED = [name for name in names() if not name.startswith(("schema/", "migrations/"))]


SAMPLES: dict[str, object] = {
    "STRING": "text", "GRAPH_ID": "graph", "INTEGER": 1, "FLOAT": 0.5, "PROBABILITY": 0.5,
    "BOOLEAN": True, "MAP": {}, "LIST<STRING>": [], "LIST<MAP>": [],
}  # fmt: skip
"""A value of each declared type. The server keeps a plan for the types of the parameters: the next
test that runs the query finds it."""


@pytest.mark.parametrize("name", PLANNED)
def test_the_server_agrees_with_the_header(db: Database, name: str) -> None:
    """Of its columns and its mode, and that no parameter, its default or one given, is misused."""
    given = {
        each: SAMPLES[param.type] if param.required else param.default
        for each, param in query(name).params.items()
    }
    told = db.explain(name, **given)
    assert told.columns == tuple(query(name).columns)
    assert told.kind in KINDS[query(name).mode]
    assert told.notifications == ()


def setups(db: Database, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how often one more connection sends the statements of the schema."""
    sent: list[str] = []
    run = Database._run_statements

    def counted(self: Database, name: str) -> None:
        sent.append(name)
        run(self, name)

    with monkeypatch.context() as patch:
        patch.setattr(Database, "_run_statements", counted)
        db.setup_schema()
    return len(sent)


def test_the_schema_is_set_up_once(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    assert setups(db, monkeypatch) == 0


@pytest.mark.parametrize(
    "change",
    [
        "DROP INDEX iteration_run",
        "DROP CONSTRAINT experiment_id",
        "MATCH (s:Schema) SET s.constraints = 'of another version'",
    ],
)
def test_a_schema_that_lacks_something_is_completed(
    db: Database, admin: neo4j.Driver, monkeypatch: pytest.MonkeyPatch, change: LiteralString
) -> None:
    before = admin.execute_query("SHOW INDEXES YIELD name RETURN collect(name)")[0]
    admin.execute_query(change)
    assert setups(db, monkeypatch) == 1
    after = admin.execute_query("SHOW INDEXES YIELD name RETURN collect(name)")[0]
    assert sorted(after[0][0]) == sorted(before[0][0])
    assert setups(db, monkeypatch) == 0


def test_the_server_is_one_we_know(db: Database) -> None:
    server = db.verify()
    assert server.version.startswith(("5.26", "2026", "2027"))
    assert server.edition in ("community", "enterprise")
