"""State of one running service that its routes share: settings, database, workers, caches."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, cast

from fastapi import Depends, Request
from starlette.responses import Response

from ...cypher import rows
from ...cypher.errors import GraphError, ServerUnavailableError
from ...cypher.metric_options import headlines
from ...cypher.run import Database
from ..base.cache import Cache
from ..base.database import connect
from ..base.leases import new_token
from ..base.settings import Settings
from ..experiments import edit as store
from ..experiments import recovery
from ..experiments.recovery import Kinds, Recovery
from ..experiments.supervisor import Supervisor
from ..models.depedit import MethodRow
from ..reports.browser import browser_start

# Database connection of the service: opened in the background and reopened after a failure.
#
# The service answers as soon as it starts, with "not ready" until the database is connected. An
# embedded server that died is started again. The same thread recovers orphaned jobs.

log = logging.getLogger("thinkeval.database")

CHECK_S = 5.0
"""Seconds between two checks of the database and of orphaned jobs; fewer if leases are short."""
KILL_S = 5.0
"""A worker that outstays the grace period by so much does not exit itself: it is killed."""
RETRY_S = 1.0
"""Seconds between two attempts to connect."""
JOIN_S = 10.0
"""Seconds that closing waits for the thread; starting an embedded server may take longer."""


class Connection:
    """One Database for all threads of the service.

    Args:
        kinds: the kinds of job that are recovered.

    Attributes:
        service: id of this service, random.
        kill: kills one of this service's workers, by its id.
    """

    def __init__(self, settings: Settings, kinds: Kinds = ()) -> None:
        self.settings, self._kinds = settings, kinds
        self.service = new_token()
        self.kill: Callable[[str], None] = lambda worker: None
        self._recovery = Recovery(kinds, settings.lease_s)
        self._exited: dict[str, bool] = {}
        self.browser = ""
        """Address of Neo4j Browser with server and user filled in; empty while it is unknown."""
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
        self._thread.join(timeout=JOIN_S)
        with suppress(GraphError):
            self._release_exited()
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

    def worker_exited(self, worker: str, died: bool) -> None:
        """A worker process has exited: release its jobs at once."""
        self._exited[worker] = died
        self._check_now.set()

    def _run(self) -> None:
        while not self._end.is_set():
            if self._database is None:
                self._connect()
            else:
                self._check()
            check_s = min(CHECK_S, self.settings.lease_s / 3)
            self._check_now.wait(check_s if self._database is not None else RETRY_S)
            self._check_now.clear()

    def _connect(self) -> None:
        try:
            started = time.monotonic()
            database = connect(self.settings, self._progress)
        except GraphError as error:
            self.problem = f"{error.detail} {error.remedy}"
            log.warning("no database: %s", error.detail)
            return
        self.browser = browser_start(self.settings) or ""
        log.info("database at %s after %.1f s", database.uri, time.monotonic() - started)
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
        """Drop the connection if the database is gone; else recover orphaned jobs."""
        database = self._database
        if database is None:
            return
        try:
            database.write(int, "jobs/service_beat", id=self.service)
            self._release_exited()
            for job, status in self._recovery.run(database).items():
                log.warning("orphaned job %s is %s", job, status)
            grace_ms = round(1000 * (self.settings.stop_grace_s + KILL_S))
            for row in database.read(str, "jobs/overdue", grace_ms=grace_ms):
                self.kill(row)
        except ServerUnavailableError as error:
            log.warning("database connection lost: %s", error.detail)
            self.problem = "The connection to the database was lost; the service is reconnecting."
            # The exits of this time may be due to the database.
            for worker in list(self._exited):
                self._exited[worker] = False
            self._drop()
            self._check_now.set()
        except GraphError as error:
            log.warning("recovery of orphaned jobs: %s", error.detail)

    def _release_exited(self) -> None:
        """Release the jobs of workers whose process has exited."""
        database = self._database
        if database is None:
            return
        for worker, died in list(self._exited.items()):
            released = recovery.recover_worker(database, self._kinds, worker, crashed=died)
            database.write(int, "jobs/forget_workers", id=worker, silent_ms=10**9)
            del self._exited[worker]
            for job, status in released.items():
                log.warning("the worker of %s exited: it is %s", job, status)

    def _drop(self) -> None:
        with self._changed:
            database, self._database = self._database, None
        if database is not None:
            with suppress(GraphError):
                database.close()

    def _progress(self, done: int, total: int, stage: str) -> None:
        self.problem = f"The database is being started: {stage} ({done} of {total})."


CACHE_BYTES = 64 * 2**20
"""Total size of the cached response bodies."""
TABLES = 32
"""Cached tables of the leaderboard and of DepEdit's report each; computing one takes seconds."""
DATA_SETS = 200
"""Data sets whose chain counts are cached."""
FRESH_S = 0.25
"""Time for which the status of an edit is cached."""
JSON = "application/json"


class StatusCache:
    """Status of edits, read from the database at most four times a second for each edit.

    Many clients poll the same edit: they share one read. Changes that this service makes are
    visible at once, because it clears the cache after each.
    """

    def __init__(self, fresh_s: float = FRESH_S) -> None:
        self._rows: Cache[rows.JobRow] = Cache(1000, ttl_s=fresh_s)
        self._generation = object()

    def get(self, db: Database, edit: str) -> rows.JobRow:
        """The status of an edit.

        Raises:
            NotFoundError: there is no such edit; never cached.
        """
        return self._rows.get((self._generation, edit), lambda: store.job_of(db, edit))

    def clear(self) -> None:
        """Start a new generation: reads that are still under way are not shared with later ones."""
        self._generation = object()


def etag_response(request: Request, body: bytes, media_type: str = JSON) -> Response:
    """A response with an ETag; 304 if the client has this body already."""
    tag = f'"{hashlib.sha256(body).hexdigest()[:20]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    known = {part.strip().removeprefix("W/") for part in _list(request, "if-none-match")}
    if tag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=media_type, headers=headers)


def _list(request: Request, header: str) -> list[str]:
    return request.headers.get(header, "").split(",")


@dataclass(slots=True)
class State:
    """State of one running service.

    Attributes:
        responses: bodies of answers about finished edits. Keys name the edit and the time it
            finished, so an edit that is scored again is read anew.
        statuses: status of edits.
        chain_counts: chains by rewrite of the data sets, for the front page.
        boards: tables of the leaderboard page.
        depedit_tables: tables of the DepEdit page.
        extras: objects that one router keeps while the service runs, by the router's name.
    """

    settings: Settings
    connection: Connection
    supervisor: Supervisor
    responses: Cache[bytes] = field(default_factory=lambda: Cache(CACHE_BYTES, len))
    statuses: StatusCache = field(default_factory=StatusCache)
    chain_counts: Cache[dict[str, int]] = field(default_factory=lambda: Cache(DATA_SETS))
    boards: Cache[dict[str, Any]] = field(default_factory=lambda: Cache(TABLES))
    depedit_tables: Cache[list[MethodRow]] = field(default_factory=lambda: Cache(TABLES))
    extras: dict[str, Any] = field(default_factory=dict)


def state(request: Request) -> State:
    """State of the running service."""
    return cast(State, request.app.state.thinkeval)


# Coroutines although they await nothing: FastAPI runs a plain function in another thread.
async def _here(request: Request) -> State:
    return state(request)


async def database(request: Request) -> Database:
    """The database.

    Raises:
        ServerUnavailableError: it is not connected (yet); becomes a 503.
    """
    return state(request).connection.get()


async def settings(request: Request) -> Settings:
    """The settings in force."""
    return state(request).settings


Db = Annotated[Database, Depends(database)]
AppState = Annotated[State, Depends(_here)]
InForce = Annotated[Settings, Depends(settings)]
