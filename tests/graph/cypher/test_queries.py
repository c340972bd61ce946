"""What the real server says of every query file: its columns, its mode, and no complaint."""

from __future__ import annotations

import pytest

from thinkeval.cypher.catalog import REQUIRED, names, query
from thinkeval.cypher.run import Database

KINDS = {"read": {"r"}, "write": {"rw", "w"}, "autocommit": {"rw", "w"}}
PLANNED = [name for name in names() if not name.startswith(("schema/", "migrations/"))]


@pytest.mark.parametrize("name", PLANNED)
def test_the_server_agrees_with_the_header(db: Database, name: str) -> None:
    told = db.explain(name)
    assert told.columns == tuple(query(name).columns)
    assert told.kind in KINDS[query(name).mode]
    assert told.notifications == ()


@pytest.mark.parametrize("name", names("metrics/") + names("chains/"))
def test_defaults_are_of_the_declared_type_on_the_server_too(db: Database, name: str) -> None:
    defaults = {k: p.default for k, p in query(name).params.items() if p.default is not REQUIRED}
    assert db.explain(name, **defaults).notifications == ()


def test_the_schema_can_be_set_up_again_and_again(db: Database) -> None:
    db.setup_schema()
    db.setup_schema()


def test_the_server_is_one_we_know(db: Database) -> None:
    server = db.verify()
    assert server.version.startswith(("5.26", "2026", "2027"))
    assert server.edition in ("community", "enterprise")
