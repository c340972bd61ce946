"""Stored lines of states: found by id, by graph, or by their edit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ...cypher import rows
from ..errors import NotFoundError
from ..scoring import deltas
from .schemas import LastingOut

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...cypher.sending import Tx
    from ..leases import Lease
    from ..settings import Settings

LISTING = "thinkeval lasting"


def save(db: Database, out: LastingOut, lease: Lease | None = None) -> None:
    """Store a line; its comparisons are stored already.

    Raises:
        LeaseLostError, JobInterrupt: it belongs to another worker, or shall be cancelled.
    """

    def write(tx: Tx) -> None:
        if lease is not None:
            lease.hold(tx.run)
        tx.run(
            rows.WrittenRow,
            "states/merge_lasting",
            id=out.id,
            graph=out.graph,
            edit=out.edit,
            request=json.dumps(out.request),
            outcome=out.model_dump_json(exclude={"reused"}),
            updates=[state.fine_tune for state in out.states if state.fine_tune],
            comparisons=[state.comparison for state in out.states],
        )

    db.atomically(write)


def find(db: Database, id: str) -> LastingOut | None:
    """A stored line; None where there is none."""
    found = db.read(rows.LastingRow, "states/lastings", id=id)
    return LastingOut.model_validate_json(found[0].outcome) if found else None


def get(db: Database, id: str) -> LastingOut:
    """A stored line.

    Raises:
        NotFoundError: there is none; close ones are suggested.
    """
    found = find(db, id)
    if found is None:
        known = [row.id for row in db.read(rows.LastingRow, "states/lastings", limit=1000)]
        raise NotFoundError("line of states", id, known, listing=LISTING)
    return found


def page(
    db: Database,
    *,
    graph: str | None = None,
    edit: str | None = None,
    job: str | None = None,
    skip: int = 0,
    limit: int = 100,
) -> list[LastingOut]:
    """Stored lines, newest first.

    Args:
        job: only the one that this job made or found.
    """
    found = db.read(
        rows.LastingRow, "states/lastings", graph=graph, edit=edit, job=job, skip=skip, limit=limit
    )
    return [LastingOut.model_validate_json(row.outcome) for row in found]


def delete(db: Database, settings: Settings, id: str) -> list[str]:
    """Delete a line, and the updates of its fine-tunes that no other line has; their ids.

    Its comparisons stay.

    Raises:
        NotFoundError: there is none.
    """
    get(db, id)
    (found,) = db.write(rows.DeleteLastingRow, "states/delete_lasting", id=id)
    for update in found.updates:
        deltas.remove(settings, update)
    return list(found.updates)
