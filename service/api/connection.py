"""The service's database: connected to in the background, and again whenever it goes away.

The service answers at once when it starts, with "not ready" until the database is there. An
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

LOOK_S = 5.0
"""How often the database and lost edits are looked after."""
RETRY_S = 1.0


class Connection:
    """Keeps one Database for all threads of the service."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.browser = ""
        """Address of Neo4j Browser; empty while it is not known."""
        self.problem = "The database is being started or connected to."
        self._database: Database | None = None
        self._changed = threading.Condition()
        self._end = threading.Event()
        self._look = threading.Event()
        self._thread = threading.Thread(target=self._run, name="database", daemon=True)

    def start(self) -> None:
        """Begin to connect."""
        self._thread.start()

    def close(self) -> None:
        """Let go of the database; an embedded server stays up, as after any command."""
        self._end.set()
        self._look.set()
        self._thread.join(timeout=10)
        self._drop()

    def get(self, wait_s: float = 0.0) -> Database:
        """The database.

        Raises:
            ServerUnavailableError: it is not there (yet).
        """
        with self._changed:
            self._changed.wait_for(lambda: self._database is not None, timeout=wait_s)
            if self._database is not None:
                return self._database
        raise ServerUnavailableError(
            self.problem,
            remedy="Wait a little and try again: the service connects by itself. `/ready` says how"
            " it stands.",
        )

    def suspect(self) -> None:
        """A query found the database gone: look at once."""
        self._look.set()

    def _run(self) -> None:
        while not self._end.is_set():
            if self._database is None:
                self._connect()
            else:
                self._check()
            self._look.wait(LOOK_S if self._database is not None else RETRY_S)
            self._look.clear()

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
        """Let the server plan the page's queries: the first time takes it seconds, then no more."""
        nowhere: dict[str, Any] = {
            "graph": "-", "subject": "-", "object": "-",
            "pre": "likelihood_pre", "post": "likelihood_post", "threshold": 0.01,
        }  # fmt: skip
        case = {"id": "-", "rewrite": None, "relation": None} | {
            key: nowhere[key] for key in ("graph", "subject", "object")
        }
        for row_type in (rows.ScoredChainRow, rows.LeakageRow):
            with suppress(GraphError):
                database.read(row_type, **nowhere)
        with suppress(GraphError):
            database.metric("chains_by_steps", cases=[case])

    def _check(self) -> None:
        """Is it still there? Then see to edits that lost their worker."""
        database = self._database
        if database is None:
            return
        try:
            for work, status in recovery.recover(database).items():
                log.warning("%s lost its worker and is %s", work, status)
        except ServerUnavailableError as error:
            log.warning("the database is gone: %s", error.detail)
            self.problem = "The database went away and is being connected to again."
            self._drop()
            self._look.set()
        except GraphError as error:
            log.warning("looking for lost edits: %s", error.detail)

    def _drop(self) -> None:
        with self._changed:
            database, self._database = self._database, None
        if database is not None:
            with suppress(GraphError):
                database.close()

    def _progress(self, done: int, total: int, stage: str) -> None:
        self.problem = f"The database is being started: {stage} ({done} of {total})."
