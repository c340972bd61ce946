"""Jobs of the queue as a worker runs them: their interface, and experiments of all kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from ..base.leases import Lease, State
from .kind import Kind, Work

if TYPE_CHECKING:
    from ...cypher import rows
    from ...cypher.run import Database
    from ..base.settings import Settings
    from ..scoring.runtime import Runtime


_NEXT = {0.0: 0.1, 0.1: 0.4, 0.4: 0.6, 0.6: 0.9, 0.9: 1.0}
"""Progress of an edit when the stage that begins there ends."""


class Job(Protocol):
    """A claimed job.

    Attributes:
        KIND: kind of job, as it is recorded with each.
    """

    KIND: ClassVar[str]

    def __init__(self, row: rows.ClaimJobRow, lease: Lease) -> None: ...

    @property
    def progress(self) -> JobProgress:
        """Shared by the thread that runs the job and the one that tells of it."""
        ...

    def run(self, runtime: Runtime) -> Any:
        """Do the job, and record its end under the lease; a result is for who gave the job.

        Raises:
            JobInterrupt: it shall stop.
            LeaseLostError: it belongs to another worker by now.
            Exception: it failed; the worker records that.
        """
        ...

    @staticmethod
    def drop(db: Database, job: str) -> None:
        """Delete the data of a job that ended without a result."""
        ...


class JobProgress:
    """The progress of a job, as the thread that runs it and the one that tells of it share it.

    Attributes:
        cancelled: it shall be cancelled.
        lost: its lease belongs to another.
        shown: its current stage, in words, and a number from 0 to 1.
    """

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        self.cancelled = self.lost = False
        self.shown: tuple[str, float] | None = None
        self._reached = self._upto = 0.0

    @property
    def state(self) -> State:
        """The state that is recorded while the lease is renewed."""
        return State(*(self.shown or (None, None)))

    def enter(self, stage: str, reached: float, upto: float | None = None) -> None:
        """Note that the job has entered its next stage.

        Args:
            upto: progress at the end of the stage; None: that of an edit's stages.
        """
        self.shown, self._reached = (stage, reached), reached
        self._upto = _NEXT.get(reached, reached) if upto is None else upto

    def update(self, done: int, total: int, stage: str) -> None:
        """Note how far a stage is; only the next stage reaches its end, so no two are equal."""
        part = min(done / total, 0.99) if total > 0 else 0.0
        counted = f"{stage} ({done} of {total})" if total > 1 else stage
        before = self.shown[1] if self.shown else 0.0  # parts of a stage count from 0 each
        self.shown = (counted, max(before, self._reached + part * (self._upto - self._reached)))


# A worker that is killed leaves parts that its successor finds. Nothing here imports torch.


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

        request = self.kind.request.model_validate_json(self._request)
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
