"""Experiments as jobs of the queue: a worker runs them under a lease.

A worker that is killed leaves parts that its successor finds. Nothing here imports torch.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

from ..jobs.job import JobProgress
from ..leases import Lease
from .kind import Kind, Work

if TYPE_CHECKING:
    from ...cypher import rows
    from ...cypher.run import Database
    from ..scoring.runtime import Runtime


class ExperimentJob:
    """A submitted experiment; `job_of` makes a class of it for a kind."""

    KIND: ClassVar[str]
    kind: ClassVar[Kind[Any, Any]]

    def __init__(self, row: rows.ClaimJobRow, lease: Lease) -> None:
        self._request, self._parts = row.request, frozenset(row.parts)
        self.progress = JobProgress(lease)

    def run(self, runtime: Runtime) -> None:
        """Run the experiment, and record which result it made or found.

        The request is checked again: the operator's lists may have changed since it was queued.
        """
        lease = self.progress.lease

        def enter(stage: str, reached: float, upto: float | None = None) -> None:
            lease.stage(runtime.db.write, stage, reached)
            self.progress.enter(stage, reached, reached if upto is None else upto)

        stored = self.kind.upgraded(json.loads(self._request))
        request = self.kind.request.model_validate(stored)
        prepared = self.kind.prepare(runtime.db, runtime.settings, request)
        found = self.kind.run(runtime, prepared.request, Work(enter, lease, self._parts))
        lease.succeed_with(runtime.db, found.id)

    @staticmethod
    def drop(db: Database, job: str) -> None:
        """Keep the parts of an experiment that ended: they are found when it is submitted again."""


def job_of(kind: Kind[Any, Any]) -> type[ExperimentJob]:
    """The class of the jobs of a kind."""
    return type(f"{kind.request.__name__}Job", (ExperimentJob,), {"KIND": kind.name, "kind": kind})
