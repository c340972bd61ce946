"""Jobs of the queue as a worker runs them: their interface, edits, and experiments."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from ...cypher import rows
from ..base.leases import Lease, State
from ..graphs.datasets import own_or_stored
from ..models.edit import EditIn
from ..scoring.request import ScoreRequest
from . import queue, submit
from .kind import Kind, Work

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..scoring.runtime import Runtime


# Interface of a job to the worker, for all kinds; a further kind is one file with such a class.
#
# They are `service.experiments.job`, `service.growth.job`, and `service.experiments.job` for
# every kind of experiment.

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


HOLD = "THINKEVAL_TEST_HOLD"
"""For tests: a file whose text names a stage; a worker stays there as long as the file says so."""


def hold_for_tests(stage: str, check: Callable[[], None]) -> None:
    """Stay in a stage while a test wants it; without the environment variable nothing happens.

    The variable names a file with one stage a line.

    Args:
        check: raises where the job shall stop.
    """
    named = os.environ.get(HOLD)
    while named and stage in _read(Path(named)):
        check()
        time.sleep(0.02)


def _read(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


# Experiments as jobs of the queue: a worker runs them under a lease.
#
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
            hold_for_tests(stage, lambda: lease.stage(runtime.db.write, stage, reached))

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


# Job handler for edits: score one; delete its data if it ends without a score.

PART = 5000
"""Entities that are deleted in one transaction."""


class EditJob:
    """A submitted edit."""

    KIND: ClassVar[str] = queue.EDIT

    def __init__(self, row: rows.ClaimJobRow, lease: Lease) -> None:
        self._request = row.request
        self.progress = JobProgress(lease)

    def run(self, runtime: Runtime) -> None:
        """Score it."""
        from ..scoring.score import score_edit  # imports numpy

        posted = EditIn.model_validate_json(self._request)
        rewrite = own_or_stored(runtime.db, posted.graph, str(posted.rewrite))
        submit.check(runtime.settings, posted)
        score_edit(runtime, ScoreRequest.of(rewrite, posted), lease=self.progress.lease)

    @staticmethod
    def drop(db: Database, job: str) -> None:
        """Delete the graph of an edit that ended without a score: it was written, not recorded."""
        while db.write(int, "edits/drop_unfinished", id=job, limit=PART)[0]:
            pass
