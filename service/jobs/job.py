"""A claimed job as the worker runs it; `service.experiments.job` makes its class for each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from ..heartbeat import State
from ..leases import Lease

if TYPE_CHECKING:
    from ...cypher import rows
    from ...cypher.run import Database
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
        """Shared by the main thread and the heartbeat."""
        ...

    def run(self, runtime: Runtime) -> None:
        """Do the job, and record its end under the lease.

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
    """The progress of a job, as its main thread and the heartbeat share it.

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
        """The state that the heartbeat sends."""
        return State(self.lease, *(self.shown or (None, None)))

    def enter(self, stage: str, reached: float, upto: float | None = None) -> None:
        """Note that the job has entered its next stage.

        Args:
            upto: progress at the end of the stage; None: that of an edit's stages.
        """
        self.shown, self._reached = (stage, reached), reached
        self._upto = _NEXT.get(reached, reached) if upto is None else upto

    def update(self, done: int, total: int, stage: str) -> None:
        """Note how far a stage is."""
        part = min(done / total, 1.0) if total > 0 else 0.0
        counted = f"{stage} ({done} of {total})" if total > 1 else stage
        before = self.shown[1] if self.shown else 0.0  # parts of a stage count from 0 each
        self.shown = (counted, max(before, self._reached + part * (self._upto - self._reached)))
