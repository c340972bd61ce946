"""An edit as a worker's work: taken from the queue, scored; what becomes of it where that fails.

`Work` is what `service.jobs.worker` asks of any work; runs of the protocol are the other kind
(`service.depedit.job`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from thinkeval.cypher import rows
from thinkeval.service.graphs.datasets import own_or_stored
from thinkeval.service.jobs import job_requests, recovery
from thinkeval.service.jobs.heartbeat import Task
from thinkeval.service.schemas import EditIn
from thinkeval.service.scoring import record
from thinkeval.service.scoring.record import event
from thinkeval.service.scoring.request import ScoreRequest

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database
    from thinkeval.service.scoring.runtime import Runtime


class Work(Protocol):
    """What a worker took from the queue.

    Attributes:
        name: what the log calls it.
        affinity: same for what one loaded model serves.
    """

    name: str
    affinity: str

    @property
    def task(self) -> Task:
        """What the main thread and the beat share about it."""
        ...

    def do(self, runtime: Runtime) -> None:
        """Do it, to the record of its end.

        Raises:
            JobInterrupt: it was told to stop.
            Exception: it failed; `failed` records that.
        """
        ...

    def failed(self, db: Database, error: Exception) -> None:
        """Record that it failed."""
        ...

    def release(self, db: Database, owner: str) -> None:
        """Give it back: it was cancelled, or the worker ends."""
        ...


class EditWork:
    """A posted edit."""

    def __init__(self, row: rows.ClaimEditRow) -> None:
        self._row = row
        self.name = f"edit {row.id}"
        self.affinity = row.affinity
        self.task = Task()

    def do(self, runtime: Runtime) -> None:
        """Score it."""
        from thinkeval.service.scoring.score import score_edit  # imports numpy

        posted = EditIn.model_validate_json(self._row.request)
        rewrite = own_or_stored(runtime.db, self._row.dataset, self._row.rewrite)
        job_requests.check(runtime.settings, posted)
        score_edit(runtime, ScoreRequest.of(rewrite, posted), posted=self._row.id)

    def failed(self, db: Database, error: Exception) -> None:
        """Record a failure, which may have come before the scoring recorded the edit."""
        for job in db.read(rows.EditJobRow, id=self._row.id):
            if job.status == "running":
                record.fail(db, job.id, error)
            if job.status != "succeeded":
                recovery.drop_unfinished(db, job.id)

    def release(self, db: Database, owner: str) -> None:
        """Put it back into the queue, or end it; what it wrote goes."""
        for job in db.read(rows.EditJobRow, id=self._row.id):
            if job.status == "running":
                recovery.release(db, job.id, owner, counted=False)
            elif job.status != "succeeded":
                recovery.drop_unfinished(db, job.id)


def claim(db: Database, owner: str, affinity: str | None) -> EditWork | None:
    """The next edit of the queue; None where none waits."""
    found = db.write(
        rows.ClaimEditRow, owner=owner, affinity=affinity, event=event("running", "starting")
    )
    return EditWork(found[0]) if found else None
