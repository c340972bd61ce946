"""An experiment as commands, REST, pages and client show it: a job, and the result that it made."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from pydantic import BaseModel, Field

from ..schemas import JobState


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
    result: ResultT | None = Field(default=None, description="Null until it has succeeded.")
    links: dict[str, str] = Field(default={}, description="Addresses of its parts, by name.")


class Experiments(BaseModel, Generic[ResultT]):
    """Experiments of one kind, newest first."""

    items: list[Experiment[ResultT]] = Field(description="The items of this page, in order.")
    next: int | None = Field(default=None, description="`skip` of the next page, or null.")
