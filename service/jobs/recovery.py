"""Recovery of orphaned jobs: requeue them, or fail them after three crashes.

A worker that is killed cannot report it. Services and workers look from time to time for jobs whose
lease has expired, and take them back; the supervisor of a worker, which sees it die, has all its
leases taken back at once. Releasing is a compare-and-set in one query, so two who do it at the same
time do it once. Only the death of the worker alone counts as a crash: not that of the server, nor
of the service that supervises the worker.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from thinkeval.cypher import rows
from thinkeval.cypher.errors import GraphError
from thinkeval.service import leases
from thinkeval.service.leases import Lease

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database
    from thinkeval.service.jobs.job import Job

WORKER_SILENT_S = 60.0
"""A worker that has sent no heartbeat for so long is not listed any more."""

Kinds = Sequence["type[Job]"]
"""The kinds of job that a program knows."""


def recover(db: Database, kinds: Kinds) -> dict[str, str]:
    """Release every job whose lease has expired: {its id: its status now}."""
    found = db.read(rows.OrphanRow, started_ms=0)
    if found:
        started_ms = db.read(rows.ServerStartRow)[0].started_ms or 0
        found = db.read(rows.OrphanRow, started_ms=started_ms)
    released = {}
    for row in found:
        status = release(
            db, kinds, Lease(row.lease, row.attempt), crashed=row.crashed, expired=True
        )
        if status is not None:
            released[row.id] = status
    db.write(rows.ForgetWorkersRow, silent_ms=round(1000 * WORKER_SILENT_S))
    return released


def recover_worker(db: Database, kinds: Kinds, worker: str, *, crashed: bool) -> dict[str, str]:
    """Release all jobs of a worker that has exited, or is idle: {id: status now}.

    Args:
        crashed: whether it died, and alone.
    """
    released = {}
    for row in db.read(rows.OrphanRow, worker=worker, started_ms=0):
        status = release(db, kinds, Lease(row.lease, row.attempt), crashed=crashed)
        if status is not None:
            released[row.id] = status
    return released


def release(
    db: Database,
    kinds: Kinds,
    lease: Lease,
    *,
    crashed: bool = False,
    expired: bool = False,
) -> str | None:
    """Take a job from its worker; its status now, or None where the lease is not valid.

    Args:
        crashed: whether the worker died, and alone.
        expired: only if the lease has expired.
    """
    row = leases.release(db, lease, crashed=crashed, expired=expired)
    if row is None:
        return None
    if row.status != "queued":
        drop(db, kinds, row.kind, row.id)
    return row.status


def drop(db: Database, kinds: Kinds, kind: str, job: str) -> None:
    """Delete what a job stored that ended without a result."""
    for each in kinds:
        if kind == each.KIND:
            with suppress(GraphError):
                each.drop(db, job)
