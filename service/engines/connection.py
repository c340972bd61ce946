"""The database connection of a service: opened in the background, reopened after a failure.

The service answers as soon as it starts, with "not ready" until the database is connected. An
embedded server that died is started again.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress

from ...cypher import rows
from ...cypher.errors import GraphError, ServerUnavailableError
from ...cypher.metric_options import headlines
from ...cypher.run import Database
from ..base.database import connect
from ..base.errors import DatabaseStartingError
from ..base.settings import Settings
from ..reports.browser import browser_start

log = logging.getLogger("thinkeval.database")

CHECK_S = 5.0
"""Seconds between two checks of the database."""
RETRY_S = 1.0
"""Seconds between two attempts to connect."""
JOIN_S = 10.0
"""Seconds that closing waits for the thread; starting an embedded server may take longer."""


class Connection:
    """One Database for all threads of a service, or of a dispatcher."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.browser = ""
        """Address of Neo4j Browser with server and user filled in; empty while it is unknown."""
        self.problem = "The database is starting."
        self.starting = True
        """True until it was connected to for the first time, or could not be."""
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
        self._thread.join(timeout=JOIN_S)
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
        kind = DatabaseStartingError if self.starting else ServerUnavailableError
        raise kind(
            self.problem,
            remedy="Wait a little and try again: the service reconnects automatically."
            " `/ready` shows the status.",
        )

    def waited(self) -> Database:
        """The database, after waiting a moment for it.

        Raises:
            ServerUnavailableError: it is not connected (yet).
        """
        return self.get(RETRY_S)

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
            self.starting, self.problem = False, f"{error.detail} {error.remedy}"
            log.warning("no database: %s", error.detail)
            return
        self.browser = browser_start(self.settings) or ""
        log.info("database at %s after %.1f s", database.uri, time.monotonic() - started)
        self.starting = False
        with self._changed:
            ended = self._end.is_set()
            if not ended:
                self._database = database
            self._changed.notify_all()
        if ended:  # starting an embedded server takes longer than `close` waits
            database.close()
            return
        self._warm(database)

    def _warm(self, database: Database) -> None:
        """Let the server plan the queries on an edit, which takes seconds the first time.

        A plan is kept for the types of parameters and the magnitude of their lengths, so they are
        those of a usual edit: its chains on the web UI first, then the metrics of a score.
        """
        edit = {
            "graph": "no-such-edit-of-any-graph", "subject": "No such subject", "object": "Nowhere",
            "relation": "no such relation", "rewrite": None,
        }  # fmt: skip
        measured = {"pre": "likelihood_pre", "post": "likelihood_post", "threshold": 0.01}
        with suppress(GraphError):
            database.read(rows.ScoredChainRow, "chains/scored", **edit, **measured)
        with suppress(GraphError):
            database.read(rows.LeakageRow, "chains/leakage", **edit, **measured)
        with suppress(GraphError):
            names = ("chains_by_steps", *headlines())
            database.metrics(names, cases=[{"id": "-", **edit}], **measured)

    def _check(self) -> None:
        """Drop the connection if the database is gone."""
        database = self._database
        if database is None:
            return
        try:
            database.verify()
        except ServerUnavailableError as error:
            log.warning("database connection lost: %s", error.detail)
            self.problem = "The connection to the database was lost; the service is reconnecting."
            self._drop()
            self._check_now.set()
        except GraphError as error:
            log.warning("the database could not be checked: %s", error.detail)

    def _drop(self) -> None:
        with self._changed:
            database, self._database = self._database, None
        if database is not None:
            with suppress(GraphError):
                database.close()

    def _progress(self, done: int, total: int, stage: str) -> None:
        self.problem = f"The database is starting. Now {stage}" + (
            f": {done} of {total}." if total else "."
        )
