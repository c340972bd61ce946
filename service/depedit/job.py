"""Runs of the protocol as a worker's work: a job is taken from the queue, and each run stored.

A job that lost its worker is taken up again; runs that are stored are not done twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from thinkeval.cypher import rows
from thinkeval.service.depedit import job_checks, run, store
from thinkeval.service.depedit.run import Done, Step
from thinkeval.service.depedit.schemas import RunsIn
from thinkeval.service.errors import describe
from thinkeval.service.jobs import recovery
from thinkeval.service.jobs.heartbeat import Task
from thinkeval.service.scoring.record import event, now

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database
    from thinkeval.service.scoring.runtime import Runtime


class RunsTask(Task):
    """A job under way: its progress is over all its runs."""

    def __init__(self) -> None:
        super().__init__()
        self._step = Step(1, 1, "", 0, 1)
        self._part = 0.0

    def begin(self, step: Step) -> None:
        """A run begins, or the model of a set is looked for."""
        self._step, self._part = step, 0.0
        self._tell(step.method or "loading the model")

    def progress(self, done: int, total: int, stage: str, reached: float) -> None:
        """Note how far the run is; what it needs first (training, statistics) is told in words."""
        label = self._step.method
        if label and (stage == label or stage.startswith(f"{label}: ")):
            self._part = min(done / total, 1.0) if total > 0 else 0.0
            self._tell(stage)
        else:
            self._tell(f"{stage} ({done} of {total})" if total > 1 else stage)

    @property
    def stage(self) -> str:
        """What was told last, in words."""
        return self.told[0] if self.told else "starting"

    def _tell(self, words: str) -> None:
        step = self._step
        reached = (step.done + self._part) / max(step.total, 1)
        self.told = (f"set {step.set} of {step.sets}: {words}", min(reached, 1.0))


class RunsWork:
    """A posted job of runs."""

    def __init__(self, row: rows.ClaimJobRow, owner: str) -> None:
        self._row, self._owner = row, owner
        self.name = f"job {row.id}"
        self.affinity = row.affinity
        self.task = RunsTask()

    def do(self, runtime: Runtime) -> None:
        """Do its runs one after the other, and record that it has ended."""
        posted = RunsIn.model_validate_json(self._row.request)
        wanted = job_checks.check(runtime.settings, posted)
        options = run.RunOptions(
            made=frozenset(self._row.runs),
            **posted.model_dump(exclude={"sets", "strategies", "editor"}),
        )
        knowledge = [store.load_set(runtime.db, one) for one in posted.sets or ()]
        run.run(
            runtime,
            knowledge,
            wanted,
            options,
            done=lambda one: self._ran(runtime.db, one),
            begin=self.task.begin,
        )
        self._end(runtime.db, "succeeded", event("succeeded", "done", 1.0))

    def failed(self, db: Database, error: Exception) -> None:
        """Record a failure; the runs before it stay."""
        problem = describe(error)
        self._end(
            db, "failed", event("failed", "failed"), error=problem.detail, remedy=problem.remedy
        )

    def release(self, db: Database, owner: str) -> None:
        """Put it back into the queue, or end it where it was cancelled."""
        recovery.release_job(db, self._row.id, owner, counted=False)

    def _ran(self, db: Database, one: Done) -> None:
        words, reached = self.task.told or ("", 0.0)
        told = f"{words} (stored before)" if one.reused else words
        db.write(
            rows.JobRanRow,
            id=self._row.id,
            owner=self._owner,
            run=one.run,
            event=event("running", told, reached),
        )

    def _end(self, db: Database, status: str, told: str, **why: str) -> None:
        db.write(
            rows.EndJobRow,
            id=self._row.id,
            owner=self._owner,
            status=status,
            stage=self.task.stage,
            at=now(),
            event=told,
            **why,
        )


def claim(db: Database, owner: str, affinity: str | None) -> RunsWork | None:
    """The next job of the queue; None where none waits, or an edit comes first."""
    found = db.write(
        rows.ClaimJobRow, owner=owner, affinity=affinity, event=event("running", "starting")
    )
    return RunsWork(found[0], owner) if found else None
