"""Recovery of orphaned jobs: requeue them, or fail them after three crashes.

A worker that is killed cannot report it. Dispatchers look from time to time for jobs whose lease
has expired, and take them back; the dispatcher of a worker, which learns that it died, takes all
its leases back at once. Releasing is a compare-and-set in one query, so two who do it at the same
time do it once. The death of a worker that its dispatcher saw counts as a crash of the job, that of
the server or of the dispatcher alone does not. A lease that expired counts as a quarter of a crash
(`leases.EXPIRED`): the job may be what killed the worker with its dispatcher.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

from ...cypher import rows
from ...cypher.errors import GraphError
from ..base import leases
from ..base.leases import Lease

if TYPE_CHECKING:
    from ...cypher.run import Database
    from .job import Job


WORKER_SILENT_S = 60.0
"""A worker whose dispatcher has been silent for so long is not listed any more."""

Kinds: TypeAlias = "Sequence[type[Job]]"
"""The kinds of job that a program knows."""


class Recovery:
    """Recovers orphaned jobs, again and again, and not too early.

    A lease that has expired by the server's clock is released once this process has seen it
    unchanged for longer than two renewals of a living worker are apart: after the clock has
    stepped, or the machine has slept, workers renew their leases first. A lease that ends later
    than any could (the clock stepped back) has to be seen unchanged for the length of a lease.

    Args:
        lease_s: length of the leases.
    """

    def __init__(self, kinds: Kinds, lease_s: float) -> None:
        self._kinds, self._lease_s = kinds, lease_s
        self._seen: dict[tuple[str, int], float] = {}

    def run(self, db: Database) -> dict[str, str]:
        """Release the jobs that are orphaned for sure: {id: status now}."""
        found, now = orphans(db), time.monotonic()
        keys = [(row.lease, row.lease_until) for row in found]
        self._seen = {key: self._seen.get(key, now) for key in keys}
        sure = [row for row, key in zip(found, keys, strict=True) if self._is_sure(row, key, now)]
        db.write(int, "jobs/forget_workers", silent_ms=round(1000 * WORKER_SILENT_S))
        return _released(db, self._kinds, sure, unless_renewed=True)

    def _is_sure(self, row: rows.OrphanRow, key: tuple[str, int], now: float) -> bool:
        wait_s = self._lease_s / 4 if row.expired else self._lease_s
        return now - self._seen[key] >= wait_s


def orphans(db: Database, worker: str | None = None) -> list[rows.OrphanRow]:
    """Return the jobs under way whose lease has expired; or all those of one worker."""
    return db.read(rows.OrphanRow, "jobs/orphans", worker=worker)


def release_expired(db: Database, kinds: Kinds) -> dict[str, str]:
    """Release the jobs whose lease has expired: {id: status now}; where no worker can be alive."""
    return _released(db, kinds, [row for row in orphans(db) if row.expired])


def _released(
    db: Database,
    kinds: Kinds,
    found: Sequence[rows.OrphanRow],
    *,
    crashed: bool = False,
    unless_renewed: bool = False,
) -> dict[str, str]:
    released = {}
    for row in found:
        until = row.lease_until if unless_renewed else None
        lease = Lease(row.lease, row.attempt)
        status = release(db, kinds, lease, crashed=crashed, lease_until=until)
        if status is not None:
            released[row.id] = status
    return released


def recover_worker(db: Database, kinds: Kinds, worker: str, *, crashed: bool) -> dict[str, str]:
    """Release all jobs of a worker that has exited, or is idle: {id: status now}.

    Args:
        crashed: True if it died, and alone.
    """
    return _released(db, kinds, orphans(db, worker), crashed=crashed)


def release(
    db: Database,
    kinds: Kinds,
    lease: Lease,
    *,
    crashed: bool = False,
    lease_until: int | None = None,
) -> str | None:
    """Take a job from its worker; its status now, or None where the lease is not valid.

    Args:
        crashed: True if the worker died, and alone.
        lease_until: only if the lease still ends then.
    """
    row = leases.release(db, lease, crashed=crashed, lease_until=lease_until)
    if row is None:
        return None
    if row.status != "queued":
        drop(db, kinds, row.kind, row.id)
    return row.status


def drop(db: Database, kinds: Kinds, kind: str, job: str) -> None:
    """Delete the data of a job that ended without a result."""
    for each in kinds:
        if kind == each.KIND:
            with suppress(GraphError):
                each.drop(db, job)
