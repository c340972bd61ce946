"""Stored growth runs: as every interface shows them, found by id, and deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pydantic import BaseModel, ValidationError

from ...cypher import rows
from ..errors import ConflictError, NotFoundError
from ..scoring.runtime import parse, written
from .schemas import EndpointIn, GrowthIn, GrowthOut

if TYPE_CHECKING:
    from ...cypher.run import Database

LISTING = "thinkeval grow list"


def require_run(db: Database, run: str) -> rows.GrowthRunRow:
    """A stored run.

    Raises:
        NotFoundError: there is none; close ones are suggested.
    """
    found = db.read(rows.GrowthRunRow, "growth/runs", id=run)
    if not found:
        known = [row.id for row in db.read(rows.GrowthRunRow, "growth/runs", limit=1000)]
        raise NotFoundError("growth run", run, known, listing=LISTING)
    return found[0]


def list_runs(db: Database, limit: int = 100) -> list[GrowthOut]:
    """Runs, newest first."""
    return [shown(row) for row in db.read(rows.GrowthRunRow, "growth/runs", limit=limit)]


def shown(row: rows.GrowthRunRow) -> GrowthOut:
    """A run as every interface shows it."""
    status = row.status or "succeeded"
    if status == "succeeded" and row.state == "waiting_review":
        status = "waiting_review"
    elif status in ("failed", "cancelled") and row.state == "paused":
        status = "paused"
    place = f"/v1/growth/{row.id}"
    return GrowthOut.model_validate(
        {name: getattr(row, name) for name in _SAME}
        | {
            "status": status,
            "scored_as": scored_as(_Answered.model_validate_json(row.request)),
            "links": {
                "self": place,
                "graph": f"/v1/graphs/{row.graph}",
                **{name: f"{place}/{name}" for name in _PARTS},
            },
        }
    )


def request_of(row: rows.GrowthRunRow | rows.ClaimJobRow) -> GrowthIn:
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


class _Answered(BaseModel):
    """The fields of a stored request that name its model; the others may be an older version's."""

    answers: EndpointIn = EndpointIn()
    base: str | None = None


def scored_as(posted: GrowthIn | _Answered) -> str | None:
    """How an edit names the model that answered; None where it was behind an address.

    An organism is trained on the graph that is scored, unless its name says on which: here the one
    that gave the relations.
    """
    if posted.answers.url is not None:
        return None
    spec = parse(posted.answers.model)
    return posted.answers.model if spec.organism is None else written(spec, posted.base)


_PARTS = ("iterations", "candidates", "decisions", "judge")
_SAME = tuple(
    name
    for name in GrowthOut.model_fields
    if name in rows.GrowthRunRow.__dataclass_fields__ and name != "status"
)


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
