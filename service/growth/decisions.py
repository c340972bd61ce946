"""Decisions of people, and their consequence: a run that waited for the last one continues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .kind import GROWTH
from .request import prepare
from .review import record
from .review.record import Decision
from .review.schemas import Recorded, RecordedFile
from .review.tables import read_decisions
from .runs import request_of, require_run

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..settings import Settings


def decide(db: Database, settings: Settings, run: str, decisions: Sequence[Decision]) -> Recorded:
    """Record decisions of people; the run is queued again if nothing waits any more.

    Raises:
        NotFoundError: no such run or candidate.
        ConflictError: an added triplet is a candidate already.
        UsageError: no such verb, no valid name, or a correction is missing, idle or of a chain.
    """
    done = record.record(db, run, decisions)
    row = require_run(db, run)
    if row.state != "waiting_review" or row.to_review:
        return done
    prepared = prepare(db, request_of(row))  # a command may have begun it with any model
    db.atomically(lambda tx: GROWTH.store.enqueue(tx, settings, prepared))
    return done.model_copy(update={"resumed": True})


def decide_by_file(
    db: Database, settings: Settings, run: str, text: str, name: str, by: str | None = None
) -> RecordedFile:
    """Record the decisions of a CSV file: all of them, or none where one is refused.

    Args:
        by: who decides where a row has no `by` of its own.

    Raises:
        UsageError: the file cannot be read; with the line.
        NotFoundError, ConflictError: as `decide`.
    """
    read = read_decisions(text, name, by)
    done = decide(db, settings, run, read.decisions)
    return RecordedFile(**done.model_dump(), undecided=read.undecided, judged=read.judged)
