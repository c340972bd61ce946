"""Stored growth runs, whose record is a `:GrowthRun` that grows with its answers and decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ...cypher import rows
from ..errors import ConflictError, NotFoundError
from ..experiments.kind import Prepared, Store
from ..experiments.models import Experiment
from ..jobs import queue
from ..scoring.runtime import parse
from . import prompts
from .review.judge import judge_rows
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

    def remove(self, db: Database, settings: Settings, out: GrowthOut) -> list[str]:
        """Delete a run with its answers and decisions; its graph stays."""
        db.autocommit(int, "growth/delete_run", id=out.id)
        return []

    def _links(self, id: str) -> dict[str, str]:
        links = super()._links(id)
        return links | {name: f"{links['self']}/{name}" for name in ("candidates", "decisions")}


def require_run(db: Database, run: str) -> GrowthOut:
    """A stored run.

    Raises:
        NotFoundError: there is none; close ones are suggested.
    """
    found = db.read(GrowthOut, "growth/runs", id=run)
    if not found:
        known = [row.id for row in db.read(GrowthOut, "growth/runs", limit=1000)]
        raise NotFoundError("growth run", run, known, listing="thinkeval growth")
    return found[0]


def request_of(row: GrowthOut) -> GrowthIn:
    """Return the stored request of a run; raises as `upgraded`."""
    return GrowthIn.model_validate(upgraded(row.request))


def upgraded(request: dict[str, Any]) -> dict[str, Any]:
    """Return a stored request as it is.

    Raises:
        ConflictError: an earlier version stored it, with a choice that there is no more.
    """
    try:
        GrowthIn.model_validate(request)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ConflictError(
            "The run was submitted to an earlier version, and this one cannot continue it:"
            f" {place}: {first['msg']}.",
            remedy="Its answers and graph stay; start another run.",
        ) from error
    return request
