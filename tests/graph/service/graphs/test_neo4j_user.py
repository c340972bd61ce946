"""Users for Neo4j Browser: what the server's edition makes of them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import neo4j
import pytest

from thinkeval.cypher.run import Database
from thinkeval.service.base.database import create_user
from thinkeval.service.base.errors import ConflictError, UsageError

PASSWORD = "eight-or-more"


@pytest.fixture
def name(server: dict[str, str]) -> Iterator[str]:
    """A name that nobody has; the user is dropped afterwards."""
    name = f"test-{uuid.uuid4().hex[:10]}"
    yield name
    auth = (server["THINKEVAL_NEO4J_USER"], server["THINKEVAL_NEO4J_PASSWORD"])
    with neo4j.GraphDatabase.driver(server["THINKEVAL_NEO4J_URI"], auth=auth) as driver:
        driver.execute_query("DROP USER $name IF EXISTS", name=name, database_="system")


def test_a_user_can_log_in_and_is_told_what_it_may_do(
    db: Database, server: dict[str, str], name: str
) -> None:
    made = create_user(db, name, PASSWORD)
    assert made["user"] == name
    assert made["read_only"] is (made["edition"] == "enterprise")
    assert ("no roles" in made["note"]) is (made["edition"] == "community")
    with Database(server["THINKEVAL_NEO4J_URI"], name, PASSWORD) as theirs:
        assert theirs.verify().edition == made["edition"]


def test_in_community_edition_that_user_writes_as_the_note_says(
    db: Database, server: dict[str, str], name: str
) -> None:
    if create_user(db, name, PASSWORD)["edition"] != "community":
        pytest.skip("this server has roles")
    with (
        neo4j.GraphDatabase.driver(server["THINKEVAL_NEO4J_URI"], auth=(name, PASSWORD)) as driver,
        driver.session() as session,
        session.begin_transaction() as tx,
    ):
        made = tx.run("CREATE (n) RETURN count(n) AS made").single(strict=True)["made"]
        tx.rollback()
    assert made == 1


def test_a_user_of_that_name_is_left_alone(db: Database, server: dict[str, str], name: str) -> None:
    create_user(db, name, PASSWORD)
    with pytest.raises(ConflictError, match="already"):
        create_user(db, name, "another-password")
    with Database(server["THINKEVAL_NEO4J_URI"], name, PASSWORD) as theirs:
        theirs.verify()


@pytest.mark.parametrize("wrong", ["", "two words", "a:b", "a,b", "é"])
def test_a_name_the_server_would_refuse_is_refused_first(db: Database, wrong: str) -> None:
    with pytest.raises(UsageError, match="cannot be a user's name"):
        create_user(db, wrong, PASSWORD)


def test_a_short_password_is_refused_without_being_shown(db: Database, name: str) -> None:
    with pytest.raises(UsageError, match="7 characters") as caught:
        create_user(db, name, "sevench")
    assert "sevench" not in caught.value.detail
