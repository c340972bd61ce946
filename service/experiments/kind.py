"""The declaration of a kind of experiment; `service.kinds` lists all kinds.

A kind is a request, a result and a function between them, with the tables and figures of the
result. Its commands, its REST operations, its pages, the methods of the client and its jobs follow
from this declaration, and are written once for all kinds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from pydantic import BaseModel, Field, create_model

from ...cypher import rows
from ..base.errors import ConflictError, NotFoundError, NothingStoredError
from ..models.edit import Measure
from ..models.experiment import Experiment, Experiments, ResultT
from ..reports.formats import Column, Table
from ..scoring import deltas, record
from . import queue
from .store import results, write_rewrites
from .submit import EnqueueResult, enqueue

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...cypher.sending import Tx
    from ...loaders.records import RewriteRequest
    from ..base.leases import Lease, Writer
    from ..base.settings import Settings
    from ..scoring.runtime import Runtime


_STATE = (
    "id", "status", "progress", "stage", "error", "remedy", "attempts", "total", "parts",
    "created_at", "finished_at",
)  # fmt: skip

RequestT = TypeVar("RequestT", bound=BaseModel)


class Enter(Protocol):
    """Called with each stage, the progress there from 0 to 1, and that at the end of the stage."""

    def __call__(self, stage: str, reached: float, upto: float | None = None) -> None:
        """Note the stage; raise where the job shall stop."""


def _ignore(stage: str, reached: float, upto: float | None = None) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Work:
    """An experiment under way, as its function sees its job; a command has none.

    Attributes:
        enter: notes each stage; raises where the job shall stop.
        lease: of the worker that claimed the job, checked in each transaction that writes.
        parts: ids of the parts that earlier attempts of the job stored.
    """

    enter: Enter = _ignore
    lease: Lease | None = None
    parts: frozenset[str] = frozenset()

    def fence(self, write: Writer) -> None:
        """Check the lease in a transaction; without a job nothing happens.

        Raises:
            LeaseLostError, JobInterrupt: the transaction must be rolled back.
        """
        if self.lease is not None:
            self.lease.assert_owned(write)

    def note_part(self, db: Database, part: str, stage: str, reached: float) -> None:
        """Record that a part is stored, so that another attempt does not repeat it.

        Raises:
            LeaseLostError, JobInterrupt: the job shall stop.
        """
        if self.lease is not None:
            self.lease.part(db.write, part, stage, reached)


COMMAND = Work()
"""The work of a command, which has no job."""


@dataclass(frozen=True, slots=True)
class Prepared(Generic[RequestT]):
    """A checked request, ready to be queued.

    Attributes:
        request: with names resolved.
        id: of its job: the same for the same request on the same content.
        body: digest of the request, for its idempotency key.
        affinity: key of the loaded model; jobs with equal keys share one model in memory.
        total: number of parts.
        rewrites: requests that the user wrote out; they are stored with the job.
        properties: of the job's record, beside its graph.
    """

    request: RequestT
    id: str
    body: str
    affinity: str
    total: int = 1
    rewrites: Sequence[RewriteRequest] = ()
    properties: Mapping[str, Any] = field(default_factory=dict)


class Store(Generic[ResultT]):
    """The stored experiments of a kind; a kind whose records differ has a subclass of its own."""

    def __init__(self, kind: Kind[Any, ResultT]) -> None:
        self.kind = kind

    def submit(
        self,
        db: Database,
        settings: Settings,
        request: Any,
        *,
        key: str | None = None,
    ) -> EnqueueResult:
        """Queue an experiment; one whose result is stored is done again only with `force`.

        Args:
            key: the client's idempotency key; the same key and body give the same job for ever.

        Raises:
            QueueFullError: too many jobs wait already.
            ConflictError: the key belongs to another body.
            NotFoundError, UsageError, EditingError: a worker would refuse it.
        """
        prepared: Prepared[Any] = self.kind.prepare(db, settings, request)
        stored = self.find(db, prepared.id)
        again = request.force or stored is None or not self.kind.is_whole(db, stored)
        return db.atomically(lambda tx: self.enqueue(tx, settings, prepared, key=key, again=again))

    def enqueue(
        self,
        tx: Tx,
        settings: Settings,
        prepared: Prepared[Any],
        *,
        key: str | None = None,
        again: bool = True,
    ) -> EnqueueResult:
        """Queue a checked request; raises as `submit`."""
        graph = prepared.request.graph
        job = {
            "id": prepared.id,
            "request": prepared.request.model_dump_json(),
            "affinity": prepared.affinity,
            "total": prepared.total,
            "properties": {"graph": graph, **prepared.properties},
        }
        write_rewrites(tx, graph, prepared.rewrites)
        (accepted,) = enqueue(
            tx.run, settings, self.kind.name, [job], key=key, body=prepared.body, again=again
        )
        return accepted

    def find(self, db: Database, id: str) -> ResultT | None:
        """The result of an experiment by its id or that of its job; None where there is none."""
        found = self.page(db, id=id, limit=1)
        return found[0] if found else None

    def page(self, db: Database, **filters: Any) -> list[ResultT]:
        """Stored results of a kind; filters as `results`."""
        return results(db, self.kind.name, self.kind.result, **filters)

    def result(self, db: Database, id: str) -> ResultT:
        """The result of an experiment by its id or that of its job.

        Raises:
            NotFoundError: there is none.
            NothingStoredError: it has not succeeded.
        """
        found = self.get(db, id)
        if found.result is None:
            raise NothingStoredError(
                f"The {self.kind.noun} {id!r} is {found.status} and has no result:"
                f" {found.error or found.stage}.",
                remedy=found.remedy or "Wait for it to end, or submit it again.",
            )
        return found.result

    def get(self, db: Database, id: str) -> Experiment[ResultT]:
        """An experiment by the id of its job, or its own, which a command's has only.

        Raises:
            NotFoundError: there is neither a job nor a result of that id; close ones are suggested.
        """
        job = queue.find(db, self.kind.name, id)
        if job is not None and job.status != "succeeded":  # a page looks every second
            return self._of_job(job, None)
        out = self.find(db, job.id if job else id)
        if job is not None:
            return self._of_job(job, out)
        if out is None:
            raise NotFoundError(self.kind.noun, id, self._known(db), listing=self.kind.listing)
        return self._done(out)

    def listing(
        self,
        db: Database,
        *,
        graph: str | None = None,
        edit: str | None = None,
        skip: int = 0,
        limit: int = 100,
        **filters: Any,
    ) -> list[Experiment[ResultT]]:
        """Experiments: on the first page those that are not done; then results, newest first.

        Args:
            filters: the further ones of the kind (`Kind.filters`).
        """
        open_ = [
            self._of_job(job, None)
            for job in (
                ()
                if skip or edit
                else db.read(rows.PageJobRow, "jobs/page", kind=self.kind.name, limit=limit)
            )
            if job.status != "succeeded"
        ]
        found = self.page(db, graph=graph, edit=edit, skip=skip, limit=limit, **filters)
        mine = [each for each in open_ if graph in (None, each.graph)]
        return mine + [self._done(out) for out in found]

    def _known(self, db: Database) -> list[str]:
        """Ids of stored results, the newest ones."""
        found = db.read(rows.ExperimentRow, "experiments/page", kind=self.kind.name, limit=1000)
        return [row.id for row in found]

    def _of_job(
        self, job: rows.JobRow | rows.PageJobRow, out: ResultT | None
    ) -> Experiment[ResultT]:
        request = json.loads(job.request or "{}")
        state: dict[str, Any] = {name: getattr(job, name) for name in _STATE}
        about = {"kind": self.kind.name, "graph": request.get("graph") or "", "request": request}
        return self.kind.shown.model_validate(
            state
            | about
            | {
                "title": out and self.kind.title(out),
                "result": out,
                "links": self._links(job.id),
            }
        )

    def _done(self, out: Any) -> Experiment[ResultT]:
        return self.kind.shown(
            id=out.id,
            kind=self.kind.name,
            graph=out.graph,
            request=out.request,
            status="succeeded",
            progress=1.0,
            created_at=out.created_at,
            finished_at=out.created_at,
            title=self.kind.title(out),
            result=out,
            links=self._links(out.id),
        )

    def _links(self, id: str) -> dict[str, str]:
        return {"self": f"/v1/{self.kind.plural}/{id}", "page": f"/{self.kind.plural}/{id}"}

    def brief(self, db: Database, id: str) -> Experiment[ResultT]:
        """An experiment of which the result is not needed; raises `NotFoundError` as `get`."""
        return self.get(db, id)

    def cancel(self, db: Database, id: str) -> Experiment[ResultT]:
        """Cancel an experiment at once if it is queued, within about a second if it runs.

        Raises:
            NotFoundError: there is none.
        """
        found = self.brief(db, id)
        queue.cancel_all(db, [found.id], self.kind.name, self.kind.again)
        return self.get(db, found.id)

    def delete(self, db: Database, settings: Settings, id: str) -> list[str]:
        """Delete an experiment with its job, and what it alone has; the ids of deleted edits.

        Raises:
            NotFoundError: there is none.
            ConflictError: it is queued or running.
        """
        found = self.brief(db, id)
        if found.status in ("queued", "running"):
            raise ConflictError(
                f"The {self.kind.noun} {found.id!r} is {found.status}.", remedy="Cancel it first."
            )
        return self.remove(db, settings, found.id)

    def remove(self, db: Database, settings: Settings, id: str) -> list[str]:
        """Delete an experiment that is not under way; the ids of deleted edits."""
        edits: list[str] = []
        out: Any = self.find(db, id)
        if out is not None:
            (gone,) = db.write(rows.DeleteExperimentRow, "experiments/delete", id=out.id)
            for graph in gone.graphs:
                db.autocommit(int, "graph/delete_graph", graph=graph)
            for update in gone.updates:
                deltas.remove(settings, update)
            edits = [record.delete(db, edit) for edit in gone.edits if self.kind.owns_edits]
        db.write(int, "jobs/delete", id=id)
        return edits


class NoFilters(BaseModel):
    """A kind whose lists are filtered by graph and edit only."""


@dataclass(frozen=True)
class Kind(Generic[RequestT, ResultT]):
    """A kind of experiment.

    Attributes:
        name: as it is stored, such as `coedit`.
        plural: its path and its command, such as `results coedits`.
        noun: as sentences name it, such as `co-edit`.
        about: a sentence for help texts and the API reference.
        request, result: models of the request and of the result.
        model: of one experiment; by default `Experiment` with the result of the kind.
        filters: further filters of lists.
        prepare: checks a request as a worker would, without loading a model.
        run: computes and stores the result; raises as the worker expects. None: its parts are
            jobs of another kind.
        recheck: checks a queued request again before it runs, where that takes less than `prepare`.
        drop: deletes the data of a job that ended without a result; by default its parts stay,
            and are found when it is submitted again.
        title: a line that names a result.
        listed: columns of a list of results: the id, the name by which a page links it, others.
        described: further columns of a list, of experiments with and without a result.
        sentences: of a result: its verdict, and whatever a reader must know first.
        tables: of a result, by a measure or the one that comes first; the first is printed where
            one is wanted.
        further: tables that are read from the database, beside those of the result.
        next: commands that show more of a result.
        protocol: notes, digests and all else by which a result is checked: a page folds them, and
            `--protocol` prints them; of a kind without any the notes are printed.
        figures: writes a result as a PNG, SVG or PDF; by name.
        owns_edits: True if its edits and graphs are deleted with it.
        is_whole: returns False if a part of a result was deleted, so that it is made again.
        again: remedy for one that was cancelled or failed.
        started_by: the command that starts one, where `--start` of its list cannot.
        stored: class of its stored experiments; another than `Store` where its records differ.
    """

    name: str
    plural: str
    noun: str
    about: str
    request: type[RequestT]
    result: type[ResultT]
    prepare: Callable[[Database, Settings, RequestT], Prepared[RequestT]]
    run: Callable[[Runtime, RequestT, Work], ResultT] | None
    title: Callable[[ResultT], str]
    listed: Sequence[Column[ResultT]]
    sentences: Callable[[ResultT, Measure | None], Sequence[str]]
    tables: Callable[[ResultT, Measure | None], Sequence[Table[Any]]]
    further: Callable[[Database, ResultT, Measure | None], Sequence[Table[Any]]] = (
        lambda db, out, measure: ()
    )
    next: Callable[[ResultT], Sequence[str]] = lambda out: ()
    protocol: Callable[[ResultT], Sequence[str]] = lambda out: ()
    figures: Mapping[str, Callable[[ResultT, str, Measure | None], bytes]] = field(
        default_factory=dict
    )
    owns_edits: bool = False
    is_whole: Callable[[Database, ResultT], bool] = lambda db, out: True
    again: str = "Submit it again."
    started_by: str = ""
    stored: type[Store[Any]] = Store
    filters: type[BaseModel] = NoFilters
    described: Sequence[Column[Any]] = ()
    drop: Callable[[Database, str], None] = lambda db, job: None
    recheck: Callable[[Database, Settings, RequestT], RequestT] | None = None
    model: type[Experiment[Any]] | None = None

    def all_tables(
        self, db: Database, out: ResultT, measure: Measure | None = None
    ) -> list[Table[Any]]:
        """The tables of a result, and those that are read from the database."""
        return [*self.tables(out, measure), *self.further(db, out, measure)]

    @cached_property
    def store(self) -> Store[ResultT]:
        """The stored experiments of this kind."""
        return self.stored(self)

    @property
    def one(self) -> str:
        """The noun with its article, such as `a co-edit`."""
        return f"{'an' if self.noun[0] in 'aeiou' else 'a'} {self.noun}"

    @property
    def listing(self) -> str:
        """The command that lists its experiments."""
        return f"thinkeval results {self.plural}"

    @cached_property
    def shown(self) -> type[Experiment[ResultT]]:
        """The model of one experiment of this kind."""
        if self.model is not None:
            return self.model
        return self._named(Experiment[self.result], "Experiment", f"One {self.noun}, as a job")  # type: ignore[name-defined]

    @cached_property
    def page(self) -> type[Experiments[ResultT]]:
        """The model of a list of experiments of this kind."""
        items = Experiments.model_fields["items"]
        return self._named(
            Experiments[self.result],  # type: ignore[name-defined]
            "Experiments",
            f"{self.noun}s, newest first",
            items=(list[self.shown], Field(description=items.description)),  # type: ignore[name-defined]
        )

    def _named(self, model: Any, suffix: str, about: str, **fields: Any) -> Any:
        """A model with a readable name and a description in the OpenAPI schema."""
        name = f"{self.request.__name__.removesuffix('In')}{suffix}"
        about = f"{about[0].upper()}{about[1:]}."
        return create_model(name, __base__=model, __doc__=about, **fields)
