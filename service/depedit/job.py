"""Job handler for runs of DepEdit's protocol: each run is a part, stored when it is done.

An orphaned job is claimed again; runs that are stored are not done twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from thinkeval.service.depedit import job_checks, job_queue, run, store
from thinkeval.service.depedit.run import Done, Step
from thinkeval.service.depedit.schemas import RunsIn
from thinkeval.service.jobs.job import JobProgress
from thinkeval.service.leases import Lease

if TYPE_CHECKING:
    from thinkeval.cypher import rows
    from thinkeval.cypher.run import Database
    from thinkeval.service.scoring.runtime import Runtime


class RunsProgress(JobProgress):
    """Progress of a job over all its runs."""

    def __init__(self, lease: Lease) -> None:
        super().__init__(lease)
        self._step = Step(1, 1, "", 0, 1)
        self._part = 0.0

    def begin(self, step: Step) -> None:
        """A run begins, or the model of a set is being loaded."""
        self._step, self._part = step, 0.0
        self._show(step.method or "loading the model")

    def update(self, done: int, total: int, stage: str) -> None:
        """Note how far the run is; of what it needs first (training, statistics) only words."""
        label = self._step.method
        if label and (stage == label or stage.startswith(f"{label}: ")):
            self._part = min(done / total, 1.0) if total > 0 else 0.0
            self._show(stage)
        else:
            self._show(f"{stage} ({done} of {total})" if total > 1 else stage)

    def _show(self, words: str) -> None:
        step = self._step
        reached = (step.done + self._part) / max(step.total, 1)
        self.shown = (f"set {step.set} of {step.sets}: {words}", min(reached, 1.0))


class DepEditJob:
    """A submitted job of runs."""

    KIND: ClassVar[str] = job_queue.DEPEDIT

    def __init__(self, row: rows.ClaimJobRow, lease: Lease) -> None:
        self._request, self._stored = row.request, row.parts
        self._lease = lease
        self.progress = RunsProgress(lease)

    def run(self, runtime: Runtime) -> None:
        """Do its runs one after the other."""
        posted = RunsIn.model_validate_json(self._request)
        wanted = job_checks.check(runtime.settings, posted)
        options = run.RunOptions(
            made=frozenset(self._stored),
            **posted.model_dump(exclude={"sets", "strategies", "editor"}),
        )
        knowledge = [store.load_set(runtime.db, one) for one in posted.sets or ()]
        run.run(
            runtime,
            knowledge,
            wanted,
            options,
            done=lambda one: self._done(runtime.db, one),
            begin=self.progress.begin,
            fence=self._lease.hold,
        )
        self._lease.succeed(runtime.db.write)
        self._lease.ended = True

    @staticmethod
    def drop(db: Database, job: str) -> None:
        """Runs are results by themselves: they stay."""

    def _done(self, db: Database, one: Done) -> None:
        words, reached = self.progress.shown or ("", 0.0)
        told = f"{words} (stored before)" if one.reused else words
        self._lease.part(db.write, one.run, told, reached)
