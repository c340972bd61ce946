"""Runs of DepEdit's protocol as one job: checked, submitted, and run part by part.

Each run is a part, stored when it is finished; an orphaned job is claimed again and skips stored
runs. A request is refused at submission where a worker would refuse it after loading a model, and
where it names a file: files belong to the service, not to the client. Nothing here imports torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from ...cypher import rows
from ...editing import registry
from ...loaders.records import digest
from .. import NUMBERS_VERSION
from ..errors import NotFoundError, NothingStoredError, UsageError
from ..graphs import datasets
from ..jobs import queue, submit
from ..jobs.job import JobProgress
from ..jobs.submit import Posted, accept
from ..leases import Lease
from ..scoring.runtime import parse
from . import job_queue, run, store, strategies
from .editor import ALIASES, require_weights
from .job_queue import DEPEDIT
from .protocol import Method
from .run import Done, Step
from .schemas import RunsIn

if TYPE_CHECKING:
    from ...cypher import rows
    from ...cypher.run import Database
    from ..scoring.runtime import Runtime
    from ..settings import Settings

MOST = 2000
"""Runs that one job may ask for."""


def check(settings: Settings, posted: RunsIn) -> list[Method]:
    """What is run on each set, in order and each once.

    Raises:
        NotFoundError: no such strategy; close ones are suggested.
        EditingError: no such editor, or it has no hyperparameters for the model.
        UsageError: the model is not on the allow-list, an editor fits no strategy, or a file is
            named. Keys of `overrides` are checked by the worker: methods import torch.
    """
    submit.require_allowed(settings, posted.model)
    submit.require_no_files(posted.overrides)
    found = run.methods(posted.strategies or [], posted.editor)
    for name in dict.fromkeys(filter(None, map(editor_of, found))):
        _check_editor(name, posted)
    # `forwchain` is `finetune+forwchain`: runs of one id are one run.
    return list({(method.strategy, method.wrapped): method for method in found}.values())


def editor_of(method: Method) -> str | None:
    """The editor that a method puts facts in with; None where it edits nothing."""
    name = method.editor or strategies.get(method.strategy).EDITOR
    return None if name == "base" else name


def _check_editor(name: str, posted: RunsIn) -> None:
    method = "mend" if name == "mend_imp" else ALIASES.get(name, name)
    require_weights(name, registry.info(method))
    submit.require_hparams(name, method, posted.hparams, posted.model)


def sets_of(db: Database, posted: RunsIn) -> list[rows.KnowledgeSetRow]:
    """The sets that are meant, in order and each once.

    Raises:
        NotFoundError: no such set, or no such graph; close names are suggested.
        NothingStoredError: the graph has no sets.
        UsageError: nothing says which, or a set came from a file and no graph is named.
    """
    if posted.sets is not None:
        by_id = {row.id: row for row in store.list_sets(db)}
        for name in posted.sets:
            if name not in by_id:
                raise NotFoundError("knowledge set", name, by_id, listing="GET /v1/depedit/sets")
        return [by_id[name] for name in dict.fromkeys(posted.sets)]
    if posted.graph is None:
        raise UsageError(
            "Nothing says which knowledge sets to run.",
            remedy="Give their ids as `sets`, or `graph` for all of a data set's.",
        )
    found = store.list_sets(db, dataset=posted.graph)
    if not found:
        datasets.require_graph(db, posted.graph)
        raise NothingStoredError(
            f"No knowledge set of {posted.graph!r} is stored.",
            remedy="`POST /v1/depedit/sets` builds some.",
        )
    return found


def graphs_of(sets: Sequence[rows.KnowledgeSetRow], graph: str | None) -> list[str]:
    """The graphs whose models are used, each once.

    Raises:
        UsageError: a set came from a file, and no graph is named.
    """
    for row in sets:
        if not (graph or row.dataset):
            raise UsageError(
                f"The knowledge set {row.id!r} came from a file, which names no graph.",
                remedy="Name the graph whose sentences and model are used as `graph`.",
            )
    return list(dict.fromkeys(graph or row.dataset for row in sets))


def require_bounded(sets: Sequence[rows.KnowledgeSetRow], wanted: Sequence[Method]) -> int:
    """How many runs that makes.

    Raises:
        UsageError: too many for one job.
    """
    total = len(sets) * len(wanted)
    if total > MOST:
        raise UsageError(
            f"{len(sets)} sets and {len(wanted)} strategies make {total:,} runs; one job may ask"
            f" for {MOST:,}.",
            remedy="Post them in parts: fewer sets or strategies at a time.",
        )
    return total


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
        wanted = check(runtime.settings, posted)
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


def post(db: Database, settings: Settings, posted: RunsIn, *, key: str | None = None) -> Posted:
    """Accept runs. The same request of the same sets and graphs is the same job.

    Args:
        key: the client's idempotency key; the same key and body give the same job for ever.

    Returns:
        The job's id, and what became of the post: `created`, `queued` again, or `known`. A job
        that succeeded is queued again where some of its runs were deleted since.

    Raises:
        QueueFullError: too many edits and jobs wait already.
        ConflictError: the key belongs to another body.
        NotFoundError, UsageError, NothingStoredError, EditingError: a worker would refuse it.
    """
    wanted = check(settings, posted)
    sets = sets_of(db, posted)
    total = require_bounded(sets, wanted)
    graphs = graphs_of(sets, posted.graph)
    contents = [datasets.graph_digest(db, graph) for graph in graphs]
    written = posted.model_copy(
        update={
            "sets": [row.id for row in sets],
            "strategies": [method.label for method in wanted],
            "editor": None,  # each strategy names its own now
        }
    )
    asked = written.model_dump(exclude={"force"})
    about = [asked, [row.content_digest for row in sets], contents, NUMBERS_VERSION]
    name = f"runs-{digest(about, 10)}"
    job = {
        "id": name,
        "request": written.model_dump_json(),
        "affinity": submit.affinity_of(
            posted.model, graphs[0] if len(graphs) == 1 else "", posted.dtype, posted.revision
        ),
        "total": total,
        "properties": {
            "sets": written.sets,
            "strategies": written.strategies,
            "model": parse(posted.model).name,
            "graph": posted.graph,
        },
    }
    again = posted.force or not _all_stored(db, name)
    (accepted,) = accept(
        db.write, settings, DEPEDIT, [job], key=key, body=digest(asked, 16), again=again
    )
    return accepted


def _all_stored(db: Database, job: str) -> bool:
    """Whether all runs of a job are stored; true where there is no such job."""
    found = queue.find(db, DEPEDIT, job)
    if found is None or not found.parts:
        return True
    return len(db.read(rows.ProtocolRunRow, "depedit/list_runs", ids=list(found.parts))) == len(
        found.parts
    )
