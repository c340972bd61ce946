"""Pause, resume and cancel a growth run; its answers and findings stay stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ConflictError
from ..jobs import queue
from . import job
from .schemas import GrowthOut
from .store import require_run

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..settings import Settings

PAUSED = "paused by a person"
AGAIN = "Resume it: what it has asked is not asked again."


def pause(db: Database, run: str) -> GrowthOut:
    """Stop a queued or running run until it is resumed.

    Raises:
        NotFoundError: no such run.
        ConflictError: it is neither queued nor running.
    """
    row = require_run(db, run)
    if row.status not in ("queued", "running"):
        raise ConflictError(
            f"Run {row.id!r} is neither queued nor running.", remedy="Resume it to run it again."
        )
    queue.cancel_all(db, [row.id], job.GROWTH, AGAIN)
    db.write(float, "growth/set_run", id=row.id, state="paused", stop_reason=PAUSED)
    return require_run(db, row.id)


def resume(db: Database, settings: Settings, run: str) -> GrowthOut:
    """Queue a run again that was paused or cancelled, failed, or waits for people.

    Raises:
        NotFoundError: no such run.
        ConflictError: it is queued or running already, or its prompts changed.
        QueueFullError: too many jobs wait already.
    """
    row = require_run(db, run)
    if row.status in ("queued", "running"):
        raise ConflictError(f"Run {row.id!r} is {row.status}.", remedy="Wait until it ends.")
    job.post_again(db, settings, row)
    db.write(float, "growth/set_run", id=row.id, state="growing")
    return require_run(db, row.id)


def cancel(db: Database, run: str) -> GrowthOut:
    """Cancel a run at once if it is queued, within about a second if it runs.

    Raises:
        NotFoundError: no such run.
    """
    row = require_run(db, run)
    queue.cancel_all(db, [row.id], job.GROWTH, AGAIN)
    return require_run(db, row.id)
