"""The kind of experiment `growth`: a run that grows with its answers, and its tables."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from ...cypher import rows
from ..base.formatting import pluralize
from ..experiments import queue
from ..experiments.kind import Kind, Prepared, Store, Work
from ..models.edit import Measure
from ..models.experiment import Experiment
from ..reports.formats import Column, Table
from ..scoring.runtime import parse
from . import prompts, tables
from . import request as requests
from .loop import chains_of
from .review import judge_rows
from .runs import request_of, require_run
from .schemas import GrowthIn, GrowthOut

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...cypher.sending import Tx
    from ..base.settings import Settings
    from ..experiments.submit import EnqueueResult
    from ..scoring.runtime import Runtime


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
            seed=posted.seed or posted.base,
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


STATES = {
    "growing": "It is growing",
    "waiting_review": "It waits for people",
    "paused": "It is paused",
    "finished": "It is finished",
}


def _prepare(db: Database, settings: Settings, request: GrowthIn) -> Prepared[GrowthIn]:
    requests.check(settings, request)
    return requests.prepare(db, request)


def _run(runtime: Runtime, request: GrowthIn, work: Work) -> GrowthOut:
    from .run import Attempt

    def report(row: rows.IterationRow) -> None:
        words = f"iteration {row.number}: {row.triplets} triplets, {row.paths} chains"
        work.enter(words, 1 - 0.8**row.number)

    run = requests.prepare(runtime.db, request).id
    work.enter("growing", 0.0)
    Attempt(runtime, run, request, lease=work.lease, report=report).run()
    return GROWTH.store.result(runtime.db, run)


def _sentences(out: GrowthOut, measure: Measure | None = None) -> list[str]:
    why = f": {out.stop_reason}" if out.stop_reason else ""
    found = [
        f"{STATES[out.state]}{why}.",
        f"{pluralize(out.candidates, 'candidate')}, {pluralize(out.calls, 'answer')},"
        f" {out.seconds:.1f} s; graph {out.graph}.",
    ]
    if out.state == "waiting_review":
        found.append(
            f"Review it at /growth/{out.id} of `thinkeval serve`, or write `thinkeval graph grow"
            f" candidates {out.id} --format csv -o FILE`, fill in verbs and give it to `thinkeval"
            f" graph grow decide {out.id} FILE --as NAME`."
        )
    if without_chain(out):
        found.append("No chain was found.")
    return [*found, *([out.asked] if out.asked else [])]


def without_chain(out: GrowthOut) -> bool:
    """Return True if a run began with a fact and is finished, and no chain leads to its object."""
    chains = out.iterations[-1].paths if out.iterations else 0
    return "|" in out.seed and out.state == "finished" and not chains


def _tables(out: GrowthOut, measure: Measure | None = None) -> list[Table[Any]]:
    judge = "The judge against people"
    return [
        Table("iterations", "Iterations", tables.ITERATIONS, out.iterations, tables.SUMS),
        Table("candidates", "Candidates", tables.COUNTS, out.counts),
        Table("judge", judge, tables.JUDGED, out.judged, tables.JUDGED_NOTE),
    ]


def _further(db: Database, out: GrowthOut, measure: Measure | None = None) -> list[Table[Any]]:
    if "|" not in out.seed:
        return []
    chains = chains_of(db, out.graph, request_of(out))
    return [Table("chains", f"Chains of {out.graph}", tables.CHAINS, chains)] if chains else []


def _next(out: GrowthOut) -> list[str]:
    if not out.iterations or not out.iterations[-1].triplets:
        return []
    model = "FOLDER" if out.scored_as is None else shlex.quote(out.scored_as)
    score = f"thinkeval score --graph {out.graph} --all --model {model}"
    return [score, *([f"thinkeval graph crawl report {out.id}"] if out.elicit == "crawl" else [])]


LISTED: list[Column[GrowthOut]] = [
    Column("id", lambda out: out.id, whole=True),
    Column("seed", lambda out: out.seed),
    Column("model", lambda out: out.model, optional=1),
    Column("found by", lambda out: out.elicit, optional=2),
    Column("state", lambda out: out.state),
    Column("candidates", lambda out: out.candidates, optional=4),
    Column("to review", lambda out: out.to_review, optional=3),
    Column("answers", lambda out: out.calls),
    Column("seconds", lambda out: round(out.seconds, 1), optional=5),
    Column("stopped", lambda out: out.stop_reason or "", optional=4),
]

GROWTH = Kind(
    name="growth",
    plural="growth",
    noun="growth run",
    about="Grows a graph from a model's answers, and has them reviewed.",
    request=GrowthIn,
    result=GrowthOut,
    prepare=_prepare,
    run=_run,
    title=lambda out: f"{out.seed}: {out.elicit} by {out.endpoint}",
    listed=LISTED,
    sentences=_sentences,
    tables=_tables,
    further=_further,
    next=_next,
    again="Submit it again: what it has asked is not asked again.",
    started_by="thinkeval graph grow start",
    stored=GrowthStore,
)
