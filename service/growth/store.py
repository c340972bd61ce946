"""Stored growth runs: as every interface shows them, found by id, and deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pydantic import ValidationError

from ...cypher import rows
from ..base.errors import ConflictError, NotFoundError
from .schemas import GrowthIn, GrowthOut

if TYPE_CHECKING:
    from ...cypher.run import Database


LISTING = "thinkeval grow list"


def require_run(db: Database, run: str) -> GrowthOut:
    """A stored run.

    Raises:
        NotFoundError: there is none; close ones are suggested.
    """
    found = db.read(GrowthOut, "growth/runs", id=run)
    if not found:
        known = [row.id for row in db.read(GrowthOut, "growth/runs", limit=1000)]
        raise NotFoundError("growth run", run, known, listing=LISTING)
    return found[0]


def list_runs(db: Database, limit: int = 100) -> list[GrowthOut]:
    """Runs, newest first."""
    return db.read(GrowthOut, "growth/runs", limit=limit)


def request_of(row: GrowthOut | rows.ClaimJobRow) -> GrowthIn:
    """Return the stored request of a run.

    Raises:
        ConflictError: an earlier version stored it, with a choice that there is no more.
    """
    try:
        return GrowthIn.model_validate_json(row.request)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ConflictError(
            f"Run {row.id!r} was submitted to an earlier version, and this one cannot continue it:"
            f" {place}: {first['msg']}.",
            remedy="Its answers and graph stay; start another run.",
        ) from error


def delete(db: Database, run: str) -> int:
    """Delete a run with its answers and decisions; number of deleted nodes. Its graph stays.

    Raises:
        NotFoundError: there is none.
        ConflictError: it is queued or running.
    """
    row = require_run(db, run)
    if row.status in ("queued", "running"):
        raise ConflictError(f"Run {run!r} is {row.status}.", remedy="Cancel it first.")
    return cast("int", db.autocommit(int, "growth/delete_run", id=row.id)[0])
