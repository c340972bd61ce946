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
from ..errors import ConflictError, NotFoundError, NothingStoredError
from ..graphs.write import rewrite_row
from ..jobs import queue
from ..jobs.submit import EnqueueResult, enqueue
from ..scoring import deltas, record
from .kind import Kind, Prepared
from .models import Experiment, ResultT

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...cypher.sending import Tx
    from ..leases import Lease
    from ..settings import Settings

_STATE = (
    "id", "status", "progress", "stage", "error", "remedy", "attempts", "total", "parts",
    "created_at", "finished_at",
)  # fmt: skip


def submit(
    db: Database,
    settings: Settings,
    kind: Kind[Any, ResultT],
    request: Any,
    *,
    key: str | None = None,
) -> EnqueueResult:
    """Queue an experiment; one whose result is stored is done again only with `force`.

    Args:
        key: the client's idempotency key; the same key and body give the same job for ever.

    Raises:
        QueueFullError: too many jobs wait already.
        ConflictError: the key belongs to another body.
        NotFoundError, UsageError, EditingError: a worker would refuse it.
    """
    prepared: Prepared[Any] = kind.prepare(db, settings, request)
    graph = prepared.request.graph
    job = {
        "id": prepared.id,
        "request": prepared.request.model_dump_json(),
        "affinity": prepared.affinity,
        "total": prepared.total,
        "properties": {"graph": graph, **prepared.properties},
    }
    stored = find(db, kind, prepared.id)
    again = request.force or stored is None or not kind.is_whole(db, stored)

    def write(tx: Tx) -> EnqueueResult:
        write_rewrites(tx, graph, prepared.rewrites)
        (accepted,) = enqueue(
            tx.run, settings, kind.name, [job], key=key, body=prepared.body, again=again
        )
        return accepted

    return db.atomically(write)


def write_rewrites(tx: Tx, graph: str, rewrites: Sequence[RewriteRequest]) -> None:
    """Store the requests that a user wrote out beside those of the data set."""
    if rewrites:
        stored = [rewrite_row(rewrite) for rewrite in rewrites]
        tx.run(rows.WrittenRow, "graph/merge_rewrites", dataset=graph, rows=stored)


def save(
    db: Database,
    kind: str,
    out: ResultT,
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


def find(db: Database, kind: Kind[Any, ResultT], id: str) -> ResultT | None:
    """The result of an experiment by its id or that of its job; None where there is none."""
    found = page(db, kind, id=id, limit=1)
    return found[0] if found else None


def page(db: Database, kind: Kind[Any, ResultT], **filters: Any) -> list[ResultT]:
    """Stored results of a kind; filters as `results`."""
    return results(db, kind.name, kind.result, **filters)


def results(db: Database, kind: str, model: type[ResultT], **filters: Any) -> list[ResultT]:
    """Stored results, newest first.

    Args:
        kind: name of the kind.
        model: of its results.
        filters: id, graph, edit (that it scored), part (a graph that it has), update (of a
            fine-tune), skip, limit.
    """
    found = []
    for row in db.read(rows.ExperimentRow, "experiments/page", kind=kind, **filters):
        out = model.model_validate_json(row.outcome)
        found.append(
            out if out.created_at else out.model_copy(update={"created_at": row.created_at})
        )
    return found


def result(db: Database, kind: Kind[Any, ResultT], id: str) -> ResultT:
    """The result of an experiment by its id or that of its job.

    Raises:
        NotFoundError: there is none.
        NothingStoredError: it has not succeeded.
    """
    found = get(db, kind, id)
    if found.result is None:
        raise NothingStoredError(
            f"The {kind.noun} {id!r} is {found.status} and has no result:"
            f" {found.error or found.stage}.",
            remedy=found.remedy or "Wait for it to end, or submit it again.",
        )
    return found.result


def get(db: Database, kind: Kind[Any, ResultT], id: str) -> Experiment[ResultT]:
    """An experiment by the id of its job, or its own, which a command's has only.

    Raises:
        NotFoundError: there is neither a job nor a result of that id; close ones are suggested.
    """
    job = queue.find(db, kind.name, id)
    if job is not None and job.status != "succeeded":  # a page looks every second
        return _of_job(kind, job, None)
    out = find(db, kind, job.id if job else id)
    if job is not None:
        return _of_job(kind, job, out)
    if out is None:
        known = [
            row.id
            for row in db.read(rows.ExperimentRow, "experiments/page", kind=kind.name, limit=1000)
        ]
        raise NotFoundError(kind.noun, id, known, listing=kind.listing)
    return _done(kind, out)


def listing(
    db: Database,
    kind: Kind[Any, ResultT],
    *,
    graph: str | None = None,
    edit: str | None = None,
    skip: int = 0,
    limit: int = 100,
) -> list[Experiment[ResultT]]:
    """Experiments: on the first page those that are not done; then results, newest first."""
    open_ = [
        _of_job(kind, job, None)
        for job in (
            ()
            if skip or edit
            else db.read(rows.PageJobRow, "jobs/page", kind=kind.name, limit=limit)
        )
        if job.status != "succeeded"
    ]
    found = page(db, kind, graph=graph, edit=edit, skip=skip, limit=limit)
    mine = [each for each in open_ if graph in (None, each.graph)]
    return mine + [_done(kind, out) for out in found]


def _of_job(
    kind: Kind[Any, ResultT], job: rows.JobRow | rows.PageJobRow, out: ResultT | None
) -> Experiment[ResultT]:
    request = json.loads(job.request or "{}")
    state: dict[str, Any] = {name: getattr(job, name) for name in _STATE}
    about = {"kind": kind.name, "graph": request.get("graph") or "", "request": request}
    return kind.shown.model_validate(state | about | {"result": out, "links": _links(kind, job.id)})


def _done(kind: Kind[Any, ResultT], out: ResultT) -> Experiment[ResultT]:
    return kind.shown(
        id=out.id,
        kind=kind.name,
        graph=out.graph,
        request=out.request,
        status="succeeded",
        progress=1.0,
        created_at=out.created_at,
        finished_at=out.created_at,
        result=out,
        links=_links(kind, out.id),
    )


def _links(kind: Kind[Any, Any], id: str) -> dict[str, str]:
    return {"self": f"/v1/{kind.plural}/{id}", "page": f"/{kind.plural}/{id}"}


def cancel(db: Database, kind: Kind[Any, ResultT], id: str) -> Experiment[ResultT]:
    """Cancel an experiment at once if it is queued, within about a second if it runs.

    Raises:
        NotFoundError: there is none.
    """
    found = get(db, kind, id)
    queue.cancel_all(db, [found.id], kind.name, kind.again)
    return get(db, kind, found.id)


def delete(db: Database, settings: Settings, kind: Kind[Any, Any], id: str) -> list[str]:
    """Delete an experiment with its job, and what it alone has; the ids of deleted edits.

    Raises:
        NotFoundError: there is none.
        ConflictError: it is queued or running.
    """
    found = get(db, kind, id)
    if found.status in ("queued", "running"):
        raise ConflictError(
            f"The {kind.noun} {found.id!r} is {found.status}.", remedy="Cancel it first."
        )
    edits: list[str] = []
    if (out := find(db, kind, found.id)) is not None:
        (gone,) = db.write(rows.DeleteExperimentRow, "experiments/delete", id=out.id)
        for graph in gone.graphs:
            db.autocommit(int, "graph/delete_graph", graph=graph)
        for update in gone.updates:
            deltas.remove(settings, update)
        edits = [record.delete(db, edit) for edit in gone.edits if kind.owns_edits]
    db.write(int, "jobs/delete", id=found.id)
    return edits
