"""The declaration of a kind of experiment; `service.kinds` lists all kinds.

A kind is a request, a result and a function between them, with the tables and figures of the
result. Its commands, its REST operations, its pages, the methods of the client and its jobs follow
from this declaration, and are written once for all kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from pydantic import BaseModel, Field, create_model

from ..reports.formats import Column, Table
from ..schemas import Measure
from .models import Experiment, Experiments, ResultT

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...loaders.records import RewriteRequest
    from ..leases import Lease, Writer
    from ..scoring.runtime import Runtime
    from ..settings import Settings

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


@dataclass(frozen=True)
class Kind(Generic[RequestT, ResultT]):
    """A kind of experiment.

    Attributes:
        name: as it is stored, such as `coedit`.
        plural: its path and its command, such as `coedits`.
        noun: as sentences name it, such as `co-edit`.
        about: a sentence for help texts and the API reference.
        request, result: models of the request and of the result.
        prepare: checks a request as a worker would, without loading a model.
        run: computes and stores the result; raises as the worker expects.
        title: a line that names a result.
        listed: columns of a list of results: the id, the name by which a page links it, others.
        sentences: of a result: its verdict, and whatever a reader must know first.
        tables: of a result, by a measure or the one that comes first; the first is printed where
            one is wanted.
        further: tables that are read from the database, beside those of the result.
        next: commands that show more of a result.
        figures: writes a result as a PNG, SVG or PDF; by name.
        owns_edits: True if its edits and graphs are deleted with it.
        is_whole: returns False if a part of a result was deleted, so that it is made again.
        again: remedy for one that was cancelled or failed.
        upgraded: turns a stored request of an earlier version into one of this version.
    """

    name: str
    plural: str
    noun: str
    about: str
    request: type[RequestT]
    result: type[ResultT]
    prepare: Callable[[Database, Settings, RequestT], Prepared[RequestT]]
    run: Callable[[Runtime, RequestT, Work], ResultT]
    title: Callable[[ResultT], str]
    listed: Sequence[Column[ResultT]]
    sentences: Callable[[ResultT, Measure | None], Sequence[str]]
    tables: Callable[[ResultT, Measure | None], Sequence[Table[Any]]]
    further: Callable[[Database, ResultT, Measure | None], Sequence[Table[Any]]] = (
        lambda db, out, measure: ()
    )
    next: Callable[[ResultT], Sequence[str]] = lambda out: ()
    figures: Mapping[str, Callable[[ResultT, str, Measure | None], bytes]] = field(
        default_factory=dict
    )
    owns_edits: bool = False
    is_whole: Callable[[Database, ResultT], bool] = lambda db, out: True
    again: str = "Submit it again."
    upgraded: Callable[[dict[str, Any]], dict[str, Any]] = lambda request: request

    @property
    def listing(self) -> str:
        """The command that lists its experiments."""
        return f"thinkeval {self.plural}"

    @cached_property
    def shown(self) -> type[Experiment[ResultT]]:
        """The model of one experiment of this kind."""
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
