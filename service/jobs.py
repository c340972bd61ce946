"""Edits as jobs: posted, looked at, cancelled. The record is the `:Edit` node and nothing else.

    post    → queued        the record is committed before anybody is told that it was accepted
    worker  → running       `service.worker` claims it, scores it, and ends it
            → succeeded | failed | cancelled

Posting the same again finds the same edit; one that failed or was cancelled is queued anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from cypher import rows
from service import editrecords, job_requests
from service.edit_schemas import EditIn, EditOut, Status
from service.editrecords import event
from service.errors import ConflictError, NotFoundError, QueueFullError, UsageError
from service.graphwriter import rewrite_row
from service.modelspec import parse
from service.schemas import Score

if TYPE_CHECKING:
    from cypher.run import Database, Tx
    from loaders.records import RewriteRequest
    from service.settings import Settings

CANCELLED = "cancelled"
POST_AGAIN = "Post it again to have it scored; nothing of it was stored."


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
    """Accept several edits, all of them or none.

    Raises:
        as `post`.
    """
    pairs = [(each, prepare(db, settings, each)) for each in posted]
    with db.transaction() as tx:
        return [_post(tx, db, settings, each, rewrite, None) for each, rewrite in pairs]


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
    row = tx.run(
        rows.PostEditRow,
        id=job_requests.posted_id(db, posted, rewrite),
        key=key,
        body=job_requests.body_digest(posted, rewrite),
        model=parse(posted.model, seed=posted.organism_seed).name,
        method=posted.method,
        dataset=posted.graph,
        rewrite=rewrite.id,
        request=posted.model_copy(update={"rewrite": rewrite.id}).model_dump_json(),
        affinity=job_requests.affinity(posted),
        limit=settings.queue_limit,
        force=posted.force,
        event=event("queued", "waiting"),
    )[0]
    if row.outcome == "full":
        raise QueueFullError(
            f"{row.waiting} edits wait or run already; the limit is {settings.queue_limit}."
        )
    if row.outcome == "conflict":
        raise ConflictError(
            f"The idempotency key {key!r} was used for another edit.",
            remedy="Use a new key for each different request.",
            status=422,
        )
    if row.id is None:  # the rewrite was stored in this transaction: only a deleted graph does this
        raise NotFoundError("rewrite", rewrite.id, [], listing=f"thinkeval rewrites {posted.graph}")
    return Posted(row.id, row.outcome)


def job_of(db: Database, edit: str) -> rows.EditJobRow:
    """How an edit stands, found by any id it ever had.

    Raises:
        NotFoundError: there is none; close ones are suggested.
    """
    found = db.read(rows.EditJobRow, id=edit)
    if not found:
        raise editrecords.unknown(db, edit)
    return found[0]


def edit_out(db: Database, edit: str) -> EditOut:
    """An edit as REST shows it, with its score once it has one.

    Raises:
        NotFoundError: there is none.
    """
    job = job_of(db, edit)
    found = db.read(rows.GetEditRow, id=job.id)
    if not found:
        raise editrecords.unknown(db, edit)
    row = found[0]
    score = Score.model_validate_json(row.score) if row.score else None
    told = {"attempts": job.attempts, "posted_as": list(job.posted_as)}
    if row.status == "succeeded":
        told["score"] = score
    return EditOut.model_validate(_shown(row) | told)


def listed(row: rows.PageEditRow) -> EditOut:
    """An edit in a list."""
    return EditOut.model_validate(_shown(row) | {"attempts": row.attempts})


def _shown(row: rows.GetEditRow | rows.PageEditRow) -> dict[str, object]:
    told = asdict(row)
    links = {"self": f"/v1/edits/{row.id}", "page": f"/edits/{row.id}"} | {
        name: f"/v1/edits/{row.id}/{name}"
        for name in ("score", "chains", "leakage", "graph", "events")
    }
    keep = EditOut.model_fields.keys() - {"score", "posted_as", "attempts", "links", "graph"}
    return {k: told[k] for k in keep} | {"graph": row.dataset, "links": links}


def cancel(db: Database, edit: str) -> tuple[str, Status]:
    """Ask for an edit to be stopped; (its id, its status now).

    One that waits is cancelled when this returns, one that runs within a second or so. What has
    ended stays as it is.

    Raises:
        NotFoundError: there is none.
    """
    found = db.write(
        rows.RequestCancelRow,
        id=edit,
        error=CANCELLED,
        remedy=POST_AGAIN,
        event=event("cancelled", "cancelled"),
    )
    if not found:
        raise editrecords.unknown(db, edit)
    return found[0].id, found[0].status  # type: ignore[return-value]


def remove(db: Database, edit: str) -> str:
    """Remove an edit that has ended, with its graph and score; its id.

    Raises:
        NotFoundError: there is none.
        ConflictError: it waits or runs; cancel it first.
    """
    job = job_of(db, edit)
    if job.status in ("queued", "running"):
        raise ConflictError(
            f"Edit {job.id!r} is {job.status}.", remedy="Cancel it first, then remove it."
        )
    editrecords.delete(db, job.id)
    return job.id


def page(
    db: Database, *, limit: int = 50, cursor: str | None = None, **filters: str | None
) -> tuple[list[EditOut], str | None, int]:
    """One page of edits, newest first: (edits, cursor of the next page or None, how many in all).

    Raises:
        UsageError: the cursor is not one of ours.
    """
    before, before_id = _cursor(cursor)
    found = db.read(
        rows.PageEditRow, before=before, before_id=before_id, limit=limit + 1, **filters
    )
    total = db.read(rows.CountEditsRow, **filters)[0].edits
    shown = found[:limit]
    more = f"{shown[-1].created_at}~{shown[-1].id}" if len(found) > limit else None
    return [listed(row) for row in shown], more, total


def _cursor(cursor: str | None) -> tuple[str | None, str]:
    if cursor is None:
        return None, ""
    moment, tilde, edit = cursor.partition("~")
    try:
        aware = datetime.fromisoformat(moment).tzinfo is not None
    except ValueError:
        aware = False
    if not (tilde and aware):
        raise UsageError(
            f"{cursor!r} is not a cursor.", remedy="Give `next` of the page before, as it is."
        )
    return moment, edit


def counts(db: Database, posted_as: Sequence[str] | None = None) -> dict[Status, int]:
    """Edits by status; every status is named."""
    found: dict[Status, int] = dict.fromkeys(
        ("queued", "running", "succeeded", "failed", "cancelled"), 0
    )
    asked = None if posted_as is None else list(posted_as)
    for row in db.read(rows.QueueStateRow, posted_as=asked):
        found[row.status] = row.edits  # type: ignore[index]
    return found
