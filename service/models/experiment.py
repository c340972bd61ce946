"""Experiments and sweeps as commands, REST, pages and client show them."""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from .edit import EditedFact, JobState, Name, Score, SharedOptions, Status
from .notebook import InOneLine


class Result(InOneLine, BaseModel):
    """The result of an experiment, as it is stored and shown."""

    id: str = Field(description="Id of the experiment.")
    graph: str = Field(description="Id of the graph.")
    notes: list[str] = Field(default=[], description="Sentences for the reader.")
    request: dict[str, Any] = Field(description="The request, with every option.")
    created_at: str = Field(default="", description="Time of creation, ISO 8601 in UTC.")
    reused: bool = Field(
        default=False,
        description="Whether it was stored before the request, so that nothing was computed.",
    )


ResultT = TypeVar("ResultT", bound=BaseModel)


class Experiment(JobState, Generic[ResultT]):
    """An experiment: its status, and its result once it has succeeded."""

    id: str = Field(
        description="Id of the job; `result.id` is that of the experiment. Either finds it."
    )
    kind: str = Field(description="Kind of the experiment.")
    graph: str = Field(description="Id of the graph.")
    request: dict[str, Any] = Field(default={}, description="The request, with every option.")
    total: int = Field(default=1, description="Number of parts; 1 where it has none.")
    parts: list[str] = Field(default=[], description="Ids of the parts that are stored.")
    created_at: str = Field(description="Time of creation, ISO 8601 in UTC.")
    finished_at: str | None = Field(
        default=None, description="Time of its end, ISO 8601 in UTC; null before it."
    )
    title: str | None = Field(
        default=None, description="A line that names it; null where only its result has a name."
    )
    result: ResultT | None = Field(
        default=None, description="Null until it has succeeded, and in lists."
    )
    links: dict[str, str] = Field(default={}, description="Addresses of its parts, by name.")


class Experiments(BaseModel, Generic[ResultT]):
    """Experiments of one kind, newest first."""

    items: list[Experiment[ResultT]] = Field(description="The items of this page, in order.")
    next: str | None = Field(default=None, description="`cursor` of the next page, or null.")


# An edit and a sweep, as REST, pages and client show them; the request of a sweep.
#
# The request and the score of an edit, which commands and other kinds share, are in
# `service.models.edit`.


class EditOut(Experiment[Score], EditedFact):
    """One edit, as a job; lists leave out its result."""

    id: str = Field(
        description="Id as in `Location` while it is queued; once its model is loaded a digest of"
        " everything its numbers depend on. Each of its ids finds it."
    )
    posted_as: list[str] = Field(
        default=[], description="The ids it was submitted under; lists leave them out."
    )
    prompt: str = Field(description="The fact's cloze, with `{}` for the subject.")
    model: str = Field(description="Name of the model.")
    method: str = Field(description="Name of the editing method.")
    ifr: float | None = Field(
        default=None, description="IFR by the first measure; null without one, or undefined."
    )
    verdict: str | None = Field(
        default=None,
        description="The verdict in one word, such as `shallow`; null without a score.",
    )


class EditFilters(BaseModel):
    """Further filters of a list of edits."""

    rewrite: Name | None = Field(default=None, description="Only edits of this request.")
    model: Name | None = Field(default=None, description="Only edits of this model.")
    method: Name | None = Field(default=None, description="Only edits by this method.")
    status: Status | None = Field(default=None, description="Only edits with this status.")


class SweepIn(SharedOptions):
    """Several methods (and models, seeds) on several rewrites; all edits are queued, or none."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"graph": "hogwarts", "methods": ["none", "rome", "memit"]}]
        }
    )

    rewrites: list[Name] = Field(
        default_factory=list, max_length=2000, description="Empty: all of the graph."
    )
    models: list[Name] = Field(
        default=["organism"], min_length=1, max_length=20, description="Names of the models."
    )
    methods: list[Name] = Field(
        min_length=1, max_length=50, description="Names of the editing methods."
    )
    seeds: list[Annotated[int, Field(ge=0, le=2**31 - 1)]] = Field(
        default=[0],
        min_length=1,
        max_length=50,
        description="Seeds; every cell is repeated with each.",
    )


class SweepOut(Result):
    """A sweep as far as it is done: number of edits by status, and reasons of failures."""

    counts: dict[Status, int] = Field(description="Number of edits by status.")
    edits: list[str] = Field(description="Ids of its edits.")
    failed: list[dict[str, str]] = Field(
        default=[], description="Edits that ended without a score, with reason and remedy."
    )


What = Literal["rules", "conclusions"]
"""The sort of content that a derivation adds to a graph."""


class DerivationOut(Result):
    """Numbers of what was derived; the rules or conclusions themselves are in the graph."""

    what: What = Field(description="rules or conclusions.")
    rules: int = Field(description="Number of rules that were stored, or that concluded.")
    total: int | None = Field(
        default=None, description="Mined rules with the support, whatever the limits left out."
    )
    created: int | None = Field(default=None, description="Mined rules that are new.")
    conclusions: int | None = Field(default=None, description="Number of conclusions.")
    groundings: int | None = Field(default=None, description="Number of groundings.")
    rounds: int | None = Field(default=None, description="Number of rounds until the fixpoint.")
    seconds: float = Field(description="Seconds that it took.")
