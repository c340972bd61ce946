"""Running a query of the console, for REST and the web UI: its limits, and how many at once."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .....cypher.console import Answer, ask
from ....errors import ForbiddenError, ServiceError

if TYPE_CHECKING:
    from .....cypher.run import Database
    from ....settings import Settings

LONGEST_S = 60.0
LONGEST_QUERY = 10_000
MOST_ROWS = 1_000
AT_ONCE = 4
"""Queries of the console that run at the same time; further ones are refused."""

_running = threading.BoundedSemaphore(AT_ONCE)


def answer(
    db: Database,
    settings: Settings,
    query: str,
    params: Mapping[str, Any],
    limit: int,
    timeout_s: float,
) -> Answer:
    """The answer to a query of the console, for REST and the web UI.

    Raises:
        ForbiddenError: the operator has switched it off.
        ServiceError: AT_ONCE others are running.
        GraphError: what `ask` raises.
    """
    if not settings.console:
        raise ForbiddenError(
            "The console is switched off on this service.",
            remedy="Ask the operator, who can set THINKEVAL_CONSOLE=1.",
        )
    if not _running.acquire(blocking=False):
        raise ServiceError(
            f"{AT_ONCE} queries of the console are running, and no more may at a time.",
            remedy="Try again when one of them is finished.",
            status=429,
        )
    try:
        seconds = min(timeout_s, settings.query_timeout_s)
        return ask(db, query, params, limit=limit, timeout_s=seconds)
    finally:
        _running.release()
