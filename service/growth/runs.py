"""Stored growth runs: found by id, and their requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.errors import NotFoundError
from .schemas import GrowthIn, GrowthOut

if TYPE_CHECKING:
    from ...cypher.run import Database


def require_run(db: Database, run: str) -> GrowthOut:
    """A stored run.

    Raises:
        NotFoundError: there is none; close ones are suggested.
    """
    found = db.read(GrowthOut, "growth/runs", id=run)
    if not found:
        known = [row.id for row in db.read(GrowthOut, "growth/runs", limit=1000)]
        raise NotFoundError("growth run", run, known, listing="thinkeval results growth")
    return found[0]


def request_of(row: GrowthOut) -> GrowthIn:
    """Return the stored request of a run."""
    return GrowthIn.model_validate(row.request)
