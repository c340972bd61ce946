"""The queue as the service shows it: status and number of jobs; cancel them.

    submit  → queued        `service.experiments.submit`: committed before it is answered
    claim   → running       an executor (`service.engines`) runs it under a lease
            → succeeded | failed | cancelled

Submitting the same again finds the same job; one that failed or was cancelled is queued again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...cypher import rows
from ..base.leases import event
from ..models.edit import Status

if TYPE_CHECKING:
    from ...cypher.run import Database


EDIT = "edit"
"""The kind of job that scores an edit."""


def find(db: Database, kind: str, job: str) -> rows.JobRow | None:
    """The status of a job, found by any id it ever had; None if there is no such job."""
    for _ in range(2):  # two jobs may just become one; then the second look finds it
        found = db.read(rows.JobRow, "jobs/get", id=job, kind=kind)
        if found:
            return found[0]
    return None


def cancel_all(
    db: Database, jobs: Sequence[str], kind: str = EDIT, remedy: str = "Submit it again."
) -> list[rows.CancelJobsRow]:
    """Ask for all of these jobs to be cancelled; their ids and statuses now.

    Args:
        jobs: any ids they ever had.
        remedy: recorded with those that are cancelled at once.
    """
    recorded = event("cancelled", "cancelled")
    return db.write(
        rows.CancelJobsRow, "jobs/cancel", ids=list(jobs), kind=kind, remedy=remedy, event=recorded
    )


def counts(db: Database, jobs: Sequence[str] | None = None, kind: str = EDIT) -> dict[Status, int]:
    """Jobs of a kind by status; every status is named.

    Args:
        jobs: only those that these ids name.
    """
    found: dict[Status, int] = dict.fromkeys(
        ("queued", "running", "succeeded", "failed", "cancelled"), 0
    )
    asked = None if jobs is None else list(jobs)
    for row in db.read(rows.CountJobsRow, "jobs/counts", kind=kind, ids=asked):
        found[row.status] = row.jobs  # type: ignore[index]
    return found
