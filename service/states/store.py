"""Stored comparisons: found by id, by graph, or by an edit that they scored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...cypher import rows
from ..errors import NotFoundError
from ..graphs.write import rewrite_row
from ..scoring import record
from .schemas import ComparisonOut

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...cypher.sending import Tx
    from ...loaders.records import RewriteRequest
    from ..leases import Lease
    from ..schemas import Score

LISTING = "thinkeval comparisons"


def save(
    db: Database,
    out: ComparisonOut,
    scores: Sequence[Score],
    rewrites: Sequence[RewriteRequest],
    lease: Lease | None = None,
) -> None:
    """Store a comparison and the records of its edits, in one transaction.

    Args:
        rewrites: of the scores; one that the user wrote is stored beside the data set's.

    Raises:
        LeaseLostError, JobInterrupt: it belongs to another worker, or shall be cancelled.
    """

    def write(tx: Tx) -> None:
        if lease is not None:
            lease.hold(tx.run)
        if rewrites:
            stored = [rewrite_row(rewrite) for rewrite in rewrites]
            tx.run(rows.WrittenRow, "graph/merge_rewrites", dataset=out.graph, rows=stored)
        tx.run(
            rows.WrittenRow,
            "states/merge_comparison",
            id=out.id,
            graph=out.graph,
            before=out.before.name,
            after=out.after.name,
            before_digest=out.before.digest,
            after_digest=out.after.digest,
            request=json.dumps(out.request),
            outcome=out.model_dump_json(exclude={"reused"}),
            rows=[
                {
                    "edit": score.edit,
                    "rewrite": score.rewrite,
                    "method": score.method,
                    "score": score.stored(),
                    "provenance": json.dumps(score.provenance, default=str),
                }
                for score in scores
            ],
        )

    db.atomically(write)


def find(db: Database, id: str) -> ComparisonOut | None:
    """A stored comparison; None where there is none."""
    found = db.read(rows.ComparisonRow, "states/comparisons", id=id)
    return shown(found[0]) if found else None


def whole(db: Database, id: str) -> ComparisonOut | None:
    """A stored comparison with its graph and all its edits; None if one was deleted since."""
    out = find(db, id)
    if out is None or not db.read(rows.GraphRow, "graph/get_graph", graph=id):
        return None
    edits = (each.edit for each in out.requests)
    return (
        out if all(db.read(rows.GetEditRow, "edits/get_edit", id=edit) for edit in edits) else None
    )


def get(db: Database, id: str) -> ComparisonOut:
    """A stored comparison.

    Raises:
        NotFoundError: there is none; close ones are suggested.
    """
    found = find(db, id)
    if found is None:
        known = [row.id for row in db.read(rows.ComparisonRow, "states/comparisons", limit=1000)]
        raise NotFoundError("comparison", id, known, listing=LISTING)
    return found


def page(
    db: Database,
    *,
    graph: str | None = None,
    edit: str | None = None,
    job: str | None = None,
    skip: int = 0,
    limit: int = 100,
) -> list[ComparisonOut]:
    """Stored comparisons, newest first.

    Args:
        edit: only those that scored this edit.
        job: only the one that this job made or found.
    """
    found = db.read(
        rows.ComparisonRow,
        "states/comparisons",
        graph=graph,
        edit=edit,
        job=job,
        skip=skip,
        limit=limit,
    )
    return [shown(row) for row in found]


def shown(row: rows.ComparisonRow) -> ComparisonOut:
    """A stored comparison as every interface shows it."""
    return ComparisonOut.model_validate_json(row.outcome)


def delete(db: Database, id: str) -> list[str]:
    """Delete a comparison with its graph and the edits that it alone scored; their ids.

    Raises:
        NotFoundError: there is none.
    """
    get(db, id)
    (found,) = db.write(rows.DeleteComparisonRow, "states/delete_comparison", id=id)
    db.autocommit(int, "graph/delete_graph", graph=id)
    return [record.delete(db, edit) for edit in found.edits]
