"""Stored growth runs, whose record is a `:GrowthRun` that grows with its answers and decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...cypher import rows
from ..experiments.kind import Prepared, Store
from ..experiments.models import Experiment
from ..jobs import queue
from ..scoring.runtime import parse
from . import prompts
from .review.judge import judge_rows
from .runs import require_run
from .schemas import GrowthIn, GrowthOut

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...cypher.sending import Tx
    from ..jobs.submit import EnqueueResult
    from ..settings import Settings


class GrowthStore(Store[GrowthOut]):
    """Growth runs: each has a result from the start, whatever its job does."""

    def enqueue(
        self,
        tx: Tx,
        settings: Settings,
        prepared: Prepared[GrowthIn],
        *,
        key: str | None = None,
        again: bool = True,
    ) -> EnqueueResult:
        """Store the run, and queue its job; raises as `submit`."""
        posted, endpoint = prepared.request, prepared.request.answers
        tx.run(
            bool,
            "growth/merge_run",
            id=prepared.id,
            graph=posted.graph,
            seed=posted.seed or posted.base or ", ".join(text.name for text in posted.texts),
            elicit=posted.elicit,
            model=endpoint.model if endpoint.url else parse(endpoint.model).name,
            endpoint=f"{endpoint.model}@{endpoint.url or 'local'}",
            request=posted.model_dump_json(),
            prompts=prompts.digest(),
        )
        return super().enqueue(tx, settings, prepared, key=key, again=again)

    def find(self, db: Database, id: str) -> GrowthOut | None:
        """A run with its candidates counted, and the judge beside people."""
        run = super().find(db, id)
        if run is not None:
            run.counts = db.read(rows.CandidateCountRow, "growth/candidate_counts", run=run.id)
            run.judged = judge_rows(db, run.id) if run.decisions else []
        return run

    def page(self, db: Database, **filters: Any) -> list[GrowthOut]:
        """Runs, newest first; none has scored an edit."""
        if filters.pop("edit", None) is not None:
            return []
        return db.read(GrowthOut, "growth/runs", **filters)

    def get(self, db: Database, id: str) -> Experiment[GrowthOut]:
        """A run with the state of its job; raises as the store of other kinds."""
        job = queue.find(db, self.kind.name, id)
        if job is not None and job.status in ("queued", "running"):  # a page looks every second
            return self._of_job(job, require_run(db, job.id))
        run = self.find(db, job.id if job else id) or require_run(db, id)
        return self._done(run) if job is None else self._of_job(job, run)

    def listing(
        self,
        db: Database,
        *,
        graph: str | None = None,
        edit: str | None = None,
        skip: int = 0,
        limit: int = 100,
        **filters: Any,
    ) -> list[Experiment[GrowthOut]]:
        """Runs, newest first, each with the state of its job."""
        found = self.page(db, graph=graph, edit=edit, skip=skip, limit=limit)
        jobs = {
            job.id: job
            for job in db.read(rows.PageJobRow, "jobs/page", kind=self.kind.name, limit=1000)
        }
        return [
            self._of_job(jobs[run.id], run) if run.id in jobs else self._done(run) for run in found
        ]

    def remove(self, db: Database, settings: Settings, id: str) -> list[str]:
        """Delete a run with its answers and decisions; its graph stays."""
        db.autocommit(int, "growth/delete_run", id=id)
        db.write(int, "jobs/delete", id=id)
        return []

    def _links(self, id: str) -> dict[str, str]:
        links = super()._links(id)
        return links | {name: f"{links['self']}/{name}" for name in ("candidates", "decisions")}
