"""The version of a database: an older and a newer one are refused, later ones are migrated to."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import neo4j
import pytest

from support.job_queries import admin as admin
from thinkeval.cypher import catalog, migrations
from thinkeval.cypher.errors import GraphError, NewerDatabaseError, OlderDatabaseError
from thinkeval.cypher.run import Database

LATER = "// Count how often this runs.\n\nMATCH (s:Schema) SET s.ran = coalesce(s.ran, 0) + 1"


@pytest.fixture
def versioned(admin: neo4j.Driver) -> Iterator[neo4j.Driver]:
    """The version of the database may be changed."""
    yield admin
    admin.execute_query("MATCH (s:Schema) SET s.version = $v, s.ran = null", v=migrations.FIRST)


@pytest.mark.parametrize(
    ("version", "error", "says", "remedy"),
    [
        (None, OlderDatabaseError, "schema 0; this one reads 3 and later", "Export its graphs"),
        (2, OlderDatabaseError, "schema 2; this one reads 3 and later", "new THINKEVAL_HOME"),
        (999, NewerDatabaseError, "schema 999; this one knows 3", "Update ThinkEval"),
    ],
)
def test_another_database_is_refused_before_anything_is_written(
    db: Database,
    versioned: neo4j.Driver,
    graph_id: str,
    version: int | None,
    error: type[GraphError],
    says: str,
    remedy: str,
) -> None:
    versioned.execute_query("CREATE (:Graph {id: $id})", id=graph_id)
    versioned.execute_query("MATCH (s:Schema) SET s.version = $v", v=version)
    with pytest.raises(error, match=says) as caught:
        db.setup_schema()
    assert remedy in caught.value.remedy
    if version:
        with pytest.raises(error):
            db.migrate()


def test_of_several_programs_that_start_at_once_one_migrates(
    server: dict[str, str], versioned: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = catalog.parse("migrations/0004_later", LATER)
    monkeypatch.setattr(migrations, "numbered", lambda: [(4, later)])
    login = (server["THINKEVAL_NEO4J_URI"], server["THINKEVAL_NEO4J_USER"],
             server["THINKEVAL_NEO4J_PASSWORD"])  # fmt: skip

    def start(_: int) -> None:
        with Database(*login) as mine:
            mine.setup_schema()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(start, range(4)))
    (found,) = versioned.execute_query("MATCH (s:Schema) RETURN s.version AS v, s.ran AS ran")[0]
    assert (found["v"], found["ran"]) == (4, 1)


def test_migrations_are_numbered_without_a_gap() -> None:
    numbers = [number for number, _ in migrations.numbered()]
    assert numbers == list(range(migrations.FIRST + 1, migrations.latest() + 1))
