"""Database connection of the service: opened in the background and reopened after a failure.

The service answers as soon as it starts, with "not ready" until the database is connected. An
embedded server that died is started again.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from thinkeval.cypher import rows
from thinkeval.cypher.errors import GraphError, ServerUnavailableError
from thinkeval.service.database import connect
from thinkeval.service.jobs import recovery
from thinkeval.service.reports.browser import browser_address
from thinkeval.service.settings import Settings

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database

log = logging.getLogger("thinkeval.database")

CHECK_S = 5.0
"""Seconds between two checks of the database and of orphaned jobs."""
RETRY_S = 1.0
"""Seconds between two attempts to connect."""


class Connection:
    """One Database for all threads of the service."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.browser = ""
        """Address of Neo4j Browser; empty while it is unknown."""
        self.problem = "The database is being started or connected to."
        self._database: Database | None = None
        self._changed = threading.Condition()
        self._end = threading.Event()
        self._check_now = threading.Event()
        self._thread = threading.Thread(target=self._run, name="database", daemon=True)

    def start(self) -> None:
        """Start connecting."""
        self._thread.start()

    def close(self) -> None:
        """Close the connection; an embedded server keeps running, as after any command."""
        self._end.set()
        self._check_now.set()
        self._thread.join(timeout=10)
        self._drop()

    def get(self, wait_s: float = 0.0) -> Database:
        """The database.

        Raises:
            ServerUnavailableError: it is not connected (yet).
        """
        with self._changed:
            self._changed.wait_for(lambda: self._database is not None, timeout=wait_s)
            if self._database is not None:
                return self._database
        raise ServerUnavailableError(
            self.problem,
            remedy="Wait a little and try again: the service reconnects automatically."
            " `/ready` shows the status.",
        )

    def suspect(self) -> None:
        """Check the database now: a query could not reach it."""
        self._check_now.set()

    def _run(self) -> None:
        while not self._end.is_set():
            if self._database is None:
                self._connect()
            else:
                self._check()
            self._check_now.wait(CHECK_S if self._database is not None else RETRY_S)
            self._check_now.clear()

    def _connect(self) -> None:
        try:
            started = time.monotonic()
            database = connect(self.settings, self._progress)
        except GraphError as error:
            self.problem = f"{error.detail} {error.remedy}"
            log.warning("no database: %s", error.detail)
            return
        self.browser = browser_address(self.settings) or ""
        log.info("database at %s after %.1f s", database.uri, time.monotonic() - started)
        with self._changed:
            self._database = database
            self._changed.notify_all()
        self._warm(database)

    def _warm(self, database: Database) -> None:
        """Let the server plan the web UI's queries, which takes seconds the first time."""
        unmatched: dict[str, Any] = {
            "graph": "-", "subject": "-", "object": "-",
            "pre": "likelihood_pre", "post": "likelihood_post", "threshold": 0.01,
        }  # fmt: skip
        case = {"id": "-", "rewrite": None, "relation": None} | {
            key: unmatched[key] for key in ("graph", "subject", "object")
        }
        for row_type in (rows.ScoredChainRow, rows.LeakageRow):
            with suppress(GraphError):
                database.read(row_type, **unmatched)
        with suppress(GraphError):
            database.metric("chains_by_steps", cases=[case])

    def _check(self) -> None:
        """Drop the connection if the database is gone; else recover orphaned jobs."""
        database = self._database
        if database is None:
            return
        try:
            for work, status in recovery.recover(database).items():
                log.warning("orphaned job %s is %s", work, status)
        except ServerUnavailableError as error:
            log.warning("database connection lost: %s", error.detail)
            self.problem = "The connection to the database was lost; the service is reconnecting."
            self._drop()
            self._check_now.set()
        except GraphError as error:
            log.warning("recovery of orphaned jobs: %s", error.detail)

    def _drop(self) -> None:
        with self._changed:
            database, self._database = self._database, None
        if database is not None:
            with suppress(GraphError):
                database.close()

    def _progress(self, done: int, total: int, stage: str) -> None:
        self.problem = f"The database is being started: {stage} ({done} of {total})."
