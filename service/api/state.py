"""What the routes share: settings, the database, the workers, what was computed before."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, cast

from cachetools import LRUCache
from fastapi import Depends, Request
from starlette.responses import Response

from cypher.run import Database
from service.connection import Connection
from service.settings import Settings
from service.supervisor import Supervisor

CACHE_BYTES = 64 * 2**20
JSON = "application/json"


class Answers:
    """Answers about edits that have ended, as bytes: such an edit does not change any more.

    Keys name the edit and the moment it ended, so that one scored again is looked at anew.
    """

    def __init__(self, size: int = CACHE_BYTES) -> None:
        self._kept: LRUCache[tuple[object, ...], bytes] = LRUCache(size, getsizeof=len)
        self._lock = threading.Lock()
        self._making: dict[tuple[object, ...], threading.Lock] = {}

    def get(self, key: tuple[object, ...], make: Callable[[], bytes]) -> bytes:
        """The answer of that key; of clients that ask at the same moment one makes it for all."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                return found
            turn = self._making.setdefault(key, threading.Lock())
        with turn:
            with self._lock:
                found = self._kept.get(key)
            if found is None:
                try:
                    found = make()
                finally:  # also where it raises: hostile keys must not pile up
                    with self._lock:
                        self._making.pop(key, None)
                with self._lock:
                    if len(found) <= self._kept.maxsize:
                        self._kept[key] = found
        return found


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
    answers: Answers = field(default_factory=Answers)
    extras: dict[str, Any] = field(default_factory=dict)
    """Room for what a router keeps while the service runs, by the router's name."""


def state(request: Request) -> State:
    """The running service's state."""
    return cast(State, request.app.state.thinkeval)


def database(request: Request) -> Database:
    """The database.

    Raises:
        ServerUnavailableError: it is not there (yet); becomes a 503.
    """
    return state(request).connection.get()


def settings(request: Request) -> Settings:
    """The settings in force."""
    return state(request).settings


Db = Annotated[Database, Depends(database)]
Here = Annotated[State, Depends(state)]
InForce = Annotated[Settings, Depends(settings)]
