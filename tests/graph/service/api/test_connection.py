"""The service's connection to the database: closed while it is still being made."""

from __future__ import annotations

import threading

import pytest

from support.serving import settings_of
from thinkeval.cypher.run import Database
from thinkeval.service.base import database
from thinkeval.service.base.settings import Settings
from thinkeval.service.engines import connection


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
