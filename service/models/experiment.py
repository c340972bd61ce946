"""Experiments and sweeps as commands, REST, pages and client show them."""

from __future__ import annotations

from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from .edit import JobState, Measure, Name, SharedOptions, Status


class Result(BaseModel):
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


ResultT = TypeVar("ResultT", bound=Result)


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
    result: ResultT | None = Field(default=None, description="Null until it has succeeded.")
    links: dict[str, str] = Field(default={}, description="Addresses of its parts, by name.")


class Experiments(BaseModel, Generic[ResultT]):
    """Experiments of one kind: those that are not done, then those that are; newest first."""

    items: list[Experiment[ResultT]] = Field(description="The items of this page, in order.")


# Request and response models of sweeps: the same for REST, web UI and client.


class SweepIn(SharedOptions):
    """Several methods (and models, seeds) on several rewrites of one graph."""

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


class SweepOut(BaseModel):
    """A sweep: counts by status, the table over common rewrites, warnings of left out cells."""

    id: str = Field(description="Id of the sweep.")
    request: dict[str, Any] = Field(description="The request, with every option.")
    created_at: str = Field(description="Time of creation, ISO 8601 in UTC.")
    counts: dict[Status, int] = Field(description="Number of edits by status.")
    edits: list[str] = Field(description="Ids of its edits.")
    measure: Measure = Field(
        default="likelihood",
        description="The measure: likelihood, p (share of sampled answers), or likelihood_norm.",
    )
    caption: str | None = Field(default=None, description="The table, in one sentence.")
    warnings: list[str] = Field(
        default=[], description="Warnings about the numbers, each a sentence."
    )
    table: list[dict[str, Any]] = Field(
        default=[], description="The table over common rewrites, by the names of its columns."
    )
    failed: list[dict[str, str]] = Field(
        default=[], description="Edits that failed, with reason and remedy."
    )
