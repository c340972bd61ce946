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
    from ..settings import Settings


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
        recheck = self.kind.recheck or self._prepared
        checked = recheck(runtime.db, runtime.settings, request)
        assert self.kind.run is not None, "a worker runs kinds with a function"
        found = self.kind.run(runtime, checked, Work(enter, lease, self._parts))
        if not lease.ended:  # a kind whose records differ ends its job with its result
            lease.succeed_with(runtime.db, found.id)

    def _prepared(self, db: Database, settings: Settings, request: Any) -> Any:
        return self.kind.prepare(db, settings, request).request

    @classmethod
    def drop(cls, db: Database, job: str) -> None:
        """Delete the data of an experiment that ended without a result, as its kind says."""
        cls.kind.drop(db, job)


def job_of(kind: Kind[Any, Any]) -> type[ExperimentJob]:
    """The class of the jobs of a kind."""
    return type(f"{kind.request.__name__}Job", (ExperimentJob,), {"KIND": kind.name, "kind": kind})
