"""What the routes share: settings, the database, the workers, what was computed before."""

from __future__ import annotations

import hashlib
import threading
import time
from dataclasses import dataclass, field
from typing import Annotated, Any, cast

from cachetools import LRUCache
from fastapi import Depends, Request
from starlette.responses import Response

from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.api.connection import Connection
from thinkeval.service.cache import Kept
from thinkeval.service.jobs import queue
from thinkeval.service.jobs.supervisor import Supervisor
from thinkeval.service.settings import Settings

CACHE_BYTES = 64 * 2**20
"""Of answers about edits that have ended: such an edit does not change any more. Keys name the edit
and the moment it ended, so that one scored again is looked at anew."""
JSON = "application/json"


class Looks:
    """How edits stand, asked of the database at most four times a second for each.

    Many clients look at one edit at the same time. While one of them asks the database anew, the
    others are told what was known a moment ago. What this service changes itself shows at once.
    """

    def __init__(self, fresh_s: float = 0.25, stale_s: float = 2.0) -> None:
        self._fresh_s, self._stale_s = fresh_s, stale_s
        self._kept: LRUCache[str, tuple[float, rows.EditJobRow]] = LRUCache(1000)
        self._asking: set[str] = set()
        self._lock = threading.Lock()

    def at(self, db: Database, edit: str) -> rows.EditJobRow:
        """How an edit stands.

        Raises:
            NotFoundError: there is none; that is looked up anew each time.
        """
        now = time.monotonic()
        with self._lock:
            kept = self._kept.get(edit)
            allowed = self._stale_s if edit in self._asking else self._fresh_s
            if kept is not None and now - kept[0] < allowed:
                return kept[1]
            self._asking.add(edit)
        try:
            found = queue.job_of(db, edit)
            with self._lock:
                self._kept[edit] = (now, found)
        finally:
            with self._lock:
                self._asking.discard(edit)
        return found

    def clear(self) -> None:
        """Something was changed here."""
        with self._lock:
            self._kept.clear()


def answer(request: Request, body: bytes, media_type: str = JSON) -> Response:
    """A response with an ETag; 304 where the client has it already."""
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
    """What one running service holds."""

    settings: Settings
    connection: Connection
    supervisor: Supervisor
    answers: Kept[bytes] = field(default_factory=lambda: Kept(CACHE_BYTES, len))
    looks: Looks = field(default_factory=Looks)
    extras: dict[str, Any] = field(default_factory=dict)
    """Room for what a router keeps while the service runs, by the router's name."""


def state(request: Request) -> State:
    """The running service's state."""
    return cast(State, request.app.state.thinkeval)


# Coroutines, although they wait for nothing: a plain function would be sent to another thread.
async def _here(request: Request) -> State:
    return state(request)


async def database(request: Request) -> Database:
    """The database.

    Raises:
        ServerUnavailableError: it is not there (yet); becomes a 503.
    """
    return state(request).connection.get()


async def settings(request: Request) -> Settings:
    """The settings in force."""
    return state(request).settings


Db = Annotated[Database, Depends(database)]
Here = Annotated[State, Depends(_here)]
InForce = Annotated[Settings, Depends(settings)]
