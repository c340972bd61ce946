"""Edits are posted: checked, stored as queued, or found to be there already; one or thousands.

When a post returns, its edit is committed: whatever is killed afterwards, it will be scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cypher import rows
from service import ingest, job_requests
from service.edit_schemas import EditIn
from service.editrecords import event
from service.errors import ConflictError, NotFoundError, QueueFullError
from service.graphwriter import rewrite_row
from service.modelspec import parse

if TYPE_CHECKING:
    from cypher.run import Database, Tx
    from loaders.records import RewriteRequest
    from service.settings import Settings


@dataclass(frozen=True, slots=True)
class Posted:
    """What became of a post: `created`, `queued` again, or `known` (there already)."""

    edit: str
    outcome: str


def post(db: Database, settings: Settings, posted: EditIn, *, key: str | None = None) -> Posted:
    """Accept an edit. When this returns, the edit is stored and will be scored.

    Args:
        key: the client's idempotency key; the same key and body give the same edit for ever.

    Raises:
        QueueFullError: too many wait already.
        ConflictError: the key belongs to another body.
        NotFoundError, UsageError, EditingError: what is asked for cannot be scored.
    """
    rewrite = prepare(db, settings, posted)
    with db.transaction() as tx:
        return _post(tx, db, settings, posted, rewrite, key)


def post_all(db: Database, settings: Settings, posted: Sequence[EditIn]) -> list[Posted]:
    """Accept several edits of one data set, all of them or none; in their order.

    What they share (the data set, a rewrite, a model with a method) is looked up once.

    Raises:
        as `post`.
    """
    if not posted:
        return []
    graph = posted[0].graph
    content = ingest.graph_digest(db, graph)
    found: dict[str, RewriteRequest] = {}
    checked: set[tuple[str, ...]] = set()
    cells: dict[str, dict[str, object]] = {}
    ids = []
    for each in posted:
        about = (each.method, each.model, each.hparams or "")
        if about not in checked:
            job_requests.check(settings, each)
            checked.add(about)
        said = repr(each.rewrite)
        if said not in found:
            found[said] = job_requests.rewrite_of(db, each)
        cell = _cell(each, found[said], content) | {"place": len(cells)}
        cells.setdefault(str(cell["id"]), cell)
        ids.append(str(cell["id"]))
    distinct = {rewrite.id: rewrite_row(rewrite) for rewrite in found.values()}
    with db.transaction() as tx:
        tx.run(rows.MergeRewritesRow, dataset=graph, rows=list(distinct.values()))
        told = tx.run(
            rows.PostEditsRow,
            dataset=graph,
            rows=list(cells.values()),
            limit=settings.queue_limit,
            force=posted[0].force,
            event=event("queued", "waiting"),
        )
        became = {row.posted: _accepted(row, settings, graph) for row in told}
    return [became[each] for each in ids]


def prepare(db: Database, settings: Settings, posted: EditIn) -> RewriteRequest:
    """Check a post, and find the rewrite it means."""
    job_requests.check(settings, posted)
    return job_requests.rewrite_of(db, posted)


def _post(
    tx: Tx,
    db: Database,
    settings: Settings,
    posted: EditIn,
    rewrite: RewriteRequest,
    key: str | None,
) -> Posted:
    # A rewrite of the user's own is stored beside the data set's (see ingest.OWN).
    tx.run(rows.MergeRewritesRow, dataset=posted.graph, rows=[rewrite_row(rewrite)])
    cell = _cell(posted, rewrite, ingest.graph_digest(db, posted.graph))
    row = tx.run(
        rows.PostEditRow,
        **cell,
        key=key,
        body=job_requests.body_digest(posted, rewrite),
        dataset=posted.graph,
        limit=settings.queue_limit,
        force=posted.force,
        event=event("queued", "waiting"),
    )[0]
    if row.outcome == "conflict":
        raise ConflictError(
            f"The idempotency key {key!r} was used for another edit.",
            remedy="Use a new key for each different request.",
            status=422,
        )
    return _accepted(row, settings, posted.graph)


def _cell(posted: EditIn, rewrite: RewriteRequest, content: str) -> dict[str, object]:
    """What the record keeps of a post."""
    return {
        "id": job_requests.posted_id(posted, rewrite, content),
        "model": parse(posted.model, seed=posted.organism_seed).name,
        "method": posted.method,
        "rewrite": rewrite.id,
        "request": posted.model_copy(update={"rewrite": rewrite.id}).model_dump_json(),
        "affinity": job_requests.affinity(posted),
    }


def _accepted(row: rows.PostEditRow | rows.PostEditsRow, settings: Settings, graph: str) -> Posted:
    if row.outcome == "full":
        raise QueueFullError(
            f"{row.waiting} edits wait or run already; the limit is {settings.queue_limit}."
        )
    if row.id is None:  # the rewrite was stored in this transaction: only a deleted graph does this
        raise NotFoundError("dataset graph", graph, [], listing="thinkeval graphs")
    return Posted(row.id, row.outcome)
