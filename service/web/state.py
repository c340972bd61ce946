"""State of one running service that its routes share: settings, database, workers, caches."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Annotated, Any, cast

from fastapi import Depends, Request
from starlette.responses import Response

from ...cypher import rows
from ...cypher.run import Database
from ..base.cache import Cache
from ..base.settings import Settings
from ..engines.connection import Connection
from ..engines.dispatcher import Dispatcher
from ..experiments import edit as store
from ..models.depedit import MethodRow

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
    dispatcher: Dispatcher
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
