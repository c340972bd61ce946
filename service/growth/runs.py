"""Stored growth runs: found by id, and their requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ..base.errors import ConflictError, NotFoundError
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
    """Return the stored request of a run; raises as `upgraded`."""
    return GrowthIn.model_validate(upgraded(row.request))


def upgraded(request: dict[str, Any]) -> dict[str, Any]:
    """Return a stored request as it is.

    Raises:
        ConflictError: an earlier version stored it, with a choice that there is no more.
    """
    try:
        GrowthIn.model_validate(request)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ConflictError(
            "The run was submitted to an earlier version, and this one cannot continue it:"
            f" {place}: {first['msg']}.",
            remedy="Its answers and graph stay; start another run.",
        ) from error
    return request
