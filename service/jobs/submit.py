"""Edits are posted: checked, stored as queued, or found to be there already; one or thousands.

When a post returns, its edit is committed: whatever is killed afterwards, it will be scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinkeval.cypher import rows
from thinkeval.service.errors import ConflictError, NotFoundError, QueueFullError
from thinkeval.service.graphs import datasets
from thinkeval.service.graphs.write import rewrite_row
from thinkeval.service.jobs import job_requests
from thinkeval.service.schemas import EditIn
from thinkeval.service.scoring.record import event
from thinkeval.service.scoring.request import body_digest, posted_id
from thinkeval.service.scoring.runtime import parse

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database
    from thinkeval.loaders.records import RewriteRequest
    from thinkeval.service.settings import Settings


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
    job_requests.check(settings, posted)
    dataset = datasets.ensure(db, posted.graph)
    rewrite = job_requests.rewrite_of(db, posted)
    cell = _cell(posted, rewrite, dataset.digest)
    body = body_digest(posted, rewrite)
    told = _store(db, settings, posted, [cell], [rewrite], key=key, body=body)
    return told[str(cell["id"])]


def post_all(db: Database, settings: Settings, posted: Sequence[EditIn]) -> list[Posted]:
    """Accept several edits of one data set, all of them or none; in their order.

    What they share (the data set, a rewrite, a model with a method) is looked up once.

    Raises:
        as `post`.
    """
    if not posted:
        return []
    graph = posted[0].graph
    content = datasets.graph_digest(db, graph)
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
        cell = _cell(each, found[said], content)
        cells.setdefault(str(cell["id"]), cell)
        ids.append(str(cell["id"]))
    distinct = {rewrite.id: rewrite for rewrite in found.values()}
    told = _store(db, settings, posted[0], list(cells.values()), list(distinct.values()))
    return [told[each] for each in ids]


def _store(
    db: Database,
    settings: Settings,
    like: EditIn,
    cells: Sequence[dict[str, object]],
    rewrites: Sequence[RewriteRequest],
    *,
    key: str | None = None,
    body: str | None = None,
) -> dict[str, Posted]:
    """Store all cells as queued, or none; what became of each, by the id it is posted under.

    Args:
        like: any of the posts: their data set, and whether they are forced.
        body: digest of a single post, for its idempotency key.
    """
    with db.transaction() as tx:
        # A rewrite of the user's own is stored beside the data set's (see ingest.OWN).
        stored = [rewrite_row(rewrite) for rewrite in rewrites]
        tx.run(rows.MergeRewritesRow, dataset=like.graph, rows=stored)
        told = tx.run(
            rows.PostEditsRow,
            dataset=like.graph,
            rows=[cell | {"place": place} for place, cell in enumerate(cells)],
            key=key,
            body=body,
            limit=settings.queue_limit,
            force=like.force,
            event=event("queued", "waiting"),
        )
        return {row.posted: _accepted(row, settings, like.graph, key) for row in told}


def _cell(posted: EditIn, rewrite: RewriteRequest, content: str) -> dict[str, object]:
    """What the record keeps of a post."""
    return {
        "id": posted_id(posted, rewrite, content),
        "model": parse(posted.model, seed=posted.organism_seed).name,
        "method": posted.method,
        "rewrite": rewrite.id,
        "request": posted.model_copy(update={"rewrite": rewrite.id}).model_dump_json(),
        "affinity": job_requests.affinity(posted),
    }


def _accepted(row: rows.PostEditsRow, settings: Settings, graph: str, key: str | None) -> Posted:
    if row.outcome == "conflict":
        raise ConflictError(
            f"The idempotency key {key!r} was used for another edit.",
            remedy="Use a new key for each different request.",
            status=422,
        )
    if row.outcome == "full":
        raise QueueFullError(
            f"{row.waiting} edits wait or run already; the limit is {settings.queue_limit}."
        )
    if row.id is None:  # the rewrite was stored in this transaction: only a deleted graph does this
        raise NotFoundError("dataset graph", graph, [], listing="thinkeval graphs")
    return Posted(row.id, row.outcome)
