"""Decisions of people, and what follows from them: a run that waited for the last one continues."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import job
from .review import log
from .review.schemas import Appended, Triplet, Verdict
from .store import require_run

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..settings import Settings


def decide(
    db: Database,
    settings: Settings,
    run: str,
    candidate: str,
    verb: Verdict,
    by: str,
    *,
    after: Triplet | None = None,
    reason: str | None = None,
) -> Appended:
    """Record a person's decision; the run is queued again if nothing waits any more.

    Raises:
        NotFoundError: no such run or candidate.
        UsageError: no such verb, no valid name, or a correction is missing, idle or of a chain.
    """
    done = log.decide(db, run, candidate, verb, by, after=after, reason=reason)
    return _resumed(db, settings, run, done)


def add(
    db: Database,
    settings: Settings,
    run: str,
    triplet: Triplet,
    by: str,
    *,
    reason: str | None = None,
) -> Appended:
    """Add a triplet to a run; the run is queued again if it waits and nothing else does.

    Raises:
        NotFoundError: no such run.
        ConflictError: it is a candidate already.
        UsageError: no valid name.
    """
    return _resumed(db, settings, run, log.add(db, run, triplet, by, reason=reason))


def _resumed(db: Database, settings: Settings, run: str, done: Appended) -> Appended:
    row = require_run(db, run)
    if row.state != "waiting_review" or row.to_review:
        return done
    job.post_again(db, settings, row)
    return done.model_copy(update={"resumed": True})
