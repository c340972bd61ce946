"""Submit edits: checked, and queued or found to be there already; one or thousands.

When a post returns, its edit is committed: whatever is killed afterwards, it will be scored. Jobs
of other kinds are queued by the same `accept`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinkeval.cypher import rows
from thinkeval.cypher.errors import IncompleteWriteError
from thinkeval.service.errors import ConflictError, NotFoundError, QueueFullError
from thinkeval.service.graphs import datasets
from thinkeval.service.graphs.write import rewrite_row
from thinkeval.service.jobs import job_requests, queue
from thinkeval.service.leases import Writer, event
from thinkeval.service.schemas import EditIn
from thinkeval.service.scoring.request import body_digest, posted_id
from thinkeval.service.scoring.runtime import parse

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database
    from thinkeval.loaders.records import RewriteRequest
    from thinkeval.service.settings import Settings


@dataclass(frozen=True, slots=True)
class Posted:
    """The outcome of a post: `created`, `queued` again, or `known` (there already)."""

    edit: str
    outcome: str


def post(db: Database, settings: Settings, posted: EditIn, *, key: str | None = None) -> Posted:
    """Accept an edit. When this returns, the edit is stored and will be scored.

    Args:
        key: the client's idempotency key; the same key and body give the same edit for ever.

    Raises:
        QueueFullError: too many wait already.
        ConflictError: the key belongs to another body.
        NotFoundError, UsageError, EditingError: the request cannot be scored.
    """
    job_requests.check(settings, posted)
    dataset = datasets.ensure(db, posted.graph)
    rewrite = job_requests.rewrite_of(db, posted)
    cell = _cell(posted, rewrite, dataset.digest)
    body = body_digest(posted, rewrite)
    told = _store(db, settings, posted, [cell], [rewrite], key=key, body=body)
    return told[str(cell.job["id"])]


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
    cells: dict[str, Cell] = {}
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
        cells.setdefault(str(cell.job["id"]), cell)
        ids.append(str(cell.job["id"]))
    distinct = {rewrite.id: rewrite for rewrite in found.values()}
    told = _store(db, settings, posted[0], list(cells.values()), list(distinct.values()))
    return [told[each] for each in ids]


def _store(
    db: Database,
    settings: Settings,
    like: EditIn,
    cells: Sequence[Cell],
    rewrites: Sequence[RewriteRequest],
    *,
    key: str | None = None,
    body: str | None = None,
) -> dict[str, Posted]:
    """Queue all cells, or none; the outcome of each, by the id it is submitted under.

    Args:
        like: any of the posts: their data set, and whether they are forced.
        body: digest of a single post, for its idempotency key.
    """
    with db.transaction() as tx:
        # A rewrite of the user's own is stored beside the data set's (see datasets.OWN).
        stored = [rewrite_row(rewrite) for rewrite in rewrites]
        tx.run(rows.MergeRewritesRow, dataset=like.graph, rows=stored)
        accepted = accept(
            tx.run,
            settings,
            queue.EDIT,
            [cell.job for cell in cells],
            key=key,
            body=body,
            again=like.force,
        )
        described = [
            cell.edit | {"id": one.edit}
            for cell, one in zip(cells, accepted, strict=True)
            if one.outcome != "known"
        ]
        if described:
            try:
                tx.run(rows.DescribeEditsRow, dataset=like.graph, rows=described)
            except IncompleteWriteError as error:  # the graph was deleted meanwhile
                raise NotFoundError(
                    "dataset graph", like.graph, [], listing="thinkeval graphs"
                ) from error
    return {str(cell.job["id"]): one for cell, one in zip(cells, accepted, strict=True)}


def accept(
    write: Writer,
    settings: Settings,
    kind: str,
    jobs: Sequence[Mapping[str, object]],
    *,
    key: str | None = None,
    body: str | None = None,
    again: bool = False,
) -> list[Posted]:
    """Queue jobs of one kind, all of them or none; the outcome of each, in their order.

    Args:
        jobs: id, request, affinity; total where it has parts, properties for what lists show.
        key: the client's idempotency key, for a single job.
        body: digest of what was submitted, to compare with the key's.
        again: queue again what succeeded.

    Raises:
        QueueFullError: too many are queued or running already.
        ConflictError: the key belongs to another body.
    """
    found = write(
        rows.SubmitJobsRow,
        kind=kind,
        rows=[
            {"total": 1, "properties": {}} | dict(job) | {"place": place}
            for place, job in enumerate(jobs)
        ],
        key=key,
        body=body,
        limit=settings.queue_limit,
        again=again,
        event=event("queued", "waiting"),
    )
    return [_accepted(row, settings, key) for row in found]


def _accepted(row: rows.SubmitJobsRow, settings: Settings, key: str | None) -> Posted:
    if row.outcome == "conflict":
        raise ConflictError(
            f"The idempotency key {key!r} was used for another request.",
            remedy="Use a new key for each different request.",
            status=422,
        )
    if row.outcome == "full" or row.id is None:
        raise QueueFullError(
            f"{row.waiting} jobs are queued or running; the limit is {settings.queue_limit}."
        )
    return Posted(row.id, row.outcome)


@dataclass(frozen=True, slots=True)
class Cell:
    """A submitted edit: its job, and what the edit's own record says."""

    job: dict[str, object]
    edit: dict[str, object]


def _cell(posted: EditIn, rewrite: RewriteRequest, content: str) -> Cell:
    name = posted_id(posted, rewrite, content)
    request = posted.model_copy(update={"rewrite": rewrite.id}).model_dump_json()
    return Cell(
        job={"id": name, "request": request, "affinity": job_requests.affinity(posted)},
        edit={
            "model": parse(posted.model, seed=posted.organism_seed).name,
            "method": posted.method,
            "rewrite": rewrite.id,
        },
    )
