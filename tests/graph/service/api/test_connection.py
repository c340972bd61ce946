"""The service's connection to the database: closed while it is still being made."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from fastapi.testclient import TestClient

from support.problems import BASE
from support.serving import settings_of, until
from thinkeval.cypher.errors import ServerUnavailableError
from thinkeval.cypher.run import Database
from thinkeval.service.base import database
from thinkeval.service.base.settings import Settings
from thinkeval.service.engines import connection
from thinkeval.service.web.app import create_app


def test_a_connection_that_is_made_after_the_close_is_closed(
    server: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An embedded server takes longer to start than a service that is stopped waits for it."""
    settings = settings_of(server)
    begun, stopped = threading.Event(), threading.Event()
    opened: list[Database] = []
    closed: list[Database] = []

    def slowly(settings: Settings, progress: object) -> Database:
        begun.set()
        assert stopped.wait(30)
        opened.append(database.connect(settings))
        return opened[0]

    close = Database.close
    monkeypatch.setattr(Database, "close", lambda self: (closed.append(self), close(self))[1])
    monkeypatch.setattr(connection, "connect", slowly)
    monkeypatch.setattr(connection, "JOIN_S", 0.1)
    service = connection.Connection(settings)
    service.start()
    assert begun.wait(30)
    service.close()
    stopped.set()
    service._thread.join(30)
    assert not service._thread.is_alive()
    assert len(opened) == 1
    assert set(closed) == set(opened)


def test_pages_and_programs_are_answered_how_far_a_database_is_that_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, failed = threading.Event(), threading.Event()

    def slowly(settings: Settings, progress: Callable[[int, int, str], None]) -> Database:
        progress(3, 20, "starting Neo4j")
        begun.set()
        assert failed.wait(30)
        raise ServerUnavailableError("No server is at this address.")

    monkeypatch.setattr(connection, "connect", slowly)
    page = {"Accept": "text/html"}
    with TestClient(create_app(Settings(), workers=0), base_url=BASE) as client:
        assert begun.wait(30)
        told = client.get("/methods", headers=page)
        assert told.status_code == 503
        assert "Starting the database" in told.text
        assert "Now starting Neo4j: 3 of 20." in told.text
        assert 'http-equiv="refresh"' in told.text
        assert "problem-page" not in told.text
        answer = client.get("/v1/graphs")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
        problem = answer.json()
        assert problem["code"] == "database-unavailable"
        assert problem["title"] == "The database is starting"
        assert "Now starting Neo4j: 3 of 20." in problem["detail"]
        failed.set()
        until(lambda: "No server is at this address." in client.get("/methods", headers=page).text)
        assert "problem-page" in client.get("/methods", headers=page).text
        assert "cannot be reached" in client.get("/v1/graphs").json()["title"]
