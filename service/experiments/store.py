"""Stored experiments: saved, found, listed, cancelled and deleted, whatever their kind.

The record of a result is one `:Experiment` node with the request and the outcome as JSON, linked to
the edits that it scored; that of its job is a `:Job`, which names the result that it made.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...cypher import rows
from ...loaders.records import RewriteRequest
from ..graphs.write import rewrite_row
from ..models.experiment import Result, ResultT

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...cypher.sending import Tx
    from ..base.leases import Lease


def write_rewrites(tx: Tx, graph: str, rewrites: Sequence[RewriteRequest]) -> None:
    """Store the requests that a user wrote out beside those of the data set."""
    if rewrites:
        stored = [rewrite_row(rewrite) for rewrite in rewrites]
        tx.run(rows.WrittenRow, "graph/merge_rewrites", dataset=graph, rows=stored)


def save(
    db: Database,
    kind: str,
    out: Result,
    *,
    edits: Sequence[str],
    graphs: Sequence[str] = (),
    updates: Sequence[str] = (),
    lease: Lease | None = None,
    before: Callable[[Tx], None] = lambda tx: None,
) -> None:
    """Store a result in one transaction; a stored one of its id is replaced.

    Args:
        edits: ids of the edits that it scored, in order.
        graphs: ids of its graphs that no edit has.
        updates: ids of the saved updates of its fine-tunes.
        lease: of the worker that claimed it; None: a command's own.
        before: writes the records that the result refers to, in the same transaction.

    Raises:
        LeaseLostError, JobInterrupt: it belongs to another worker, or shall be cancelled.
    """

    def write(tx: Tx) -> None:
        if lease is not None:
            lease.assert_owned(tx.run)
        before(tx)
        tx.run(
            rows.WrittenRow,
            "experiments/merge",
            id=out.id,
            kind=kind,
            graph=out.graph,
            request=json.dumps(out.request),
            outcome=out.model_dump_json(exclude={"reused"}),
            edits=list(edits),
            graphs=list(graphs),
            updates=list(updates),
        )

    db.atomically(write)


def results(db: Database, kind: str, model: type[ResultT], **filters: Any) -> list[ResultT]:
    """Stored results, newest first.

    Args:
        kind: name of the kind.
        model: of its results.
        filters: id, graph, edit (that it scored), part (a graph that it has), update (of a
            fine-tune), holds (a text of it), skip, limit.
    """
    found = []
    for row in db.read(rows.ExperimentRow, "experiments/page", kind=kind, **filters):
        out: Any = model.model_validate_json(row.outcome)
        found.append(
            out if out.created_at else out.model_copy(update={"created_at": row.created_at})
        )
    return found
