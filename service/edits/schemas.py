"""An edit and a sweep, as REST, pages and client show them; the request of a sweep.

The request and the score of an edit, which commands and other kinds share, are in
`service.schemas`.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ..experiments.models import Experiment, Result
from ..schemas import EditedFact, Name, Score, SharedOptions, Status


class EditOut(Experiment[Score], EditedFact):
    """One edit, as a job; lists leave out its result."""

    id: str = Field(
        description="Id as in `Location` while it is queued; once its model is loaded a digest of"
        " everything its numbers depend on. Each of its ids finds it."
    )
    posted_as: list[str] = Field(default=[], description="The ids it was submitted under.")
    prompt: str = Field(description="The fact's cloze, with `{}` for the subject.")
    model: str = Field(description="Name of the model.")
    method: str = Field(description="Name of the editing method.")


class EditFilters(BaseModel):
    """Further filters of a list of edits."""

    rewrite: Name | None = Field(default=None, description="Only edits of this request.")
    model: Name | None = Field(default=None, description="Only edits of this model.")
    method: Name | None = Field(default=None, description="Only edits by this method.")
    status: Status | None = Field(default=None, description="Only edits with this status.")


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


class SweepOut(Result):
    """A sweep as far as it is done: number of edits by status, and reasons of failures."""

    counts: dict[Status, int] = Field(description="Number of edits by status.")
    edits: list[str] = Field(description="Ids of its edits.")
    failed: list[dict[str, str]] = Field(
        default=[], description="Edits that ended without a score, with reason and remedy."
    )
