"""Request and response models of sweeps: the same for REST, web UI and client."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from ..schemas import Measure, Name, SharedOptions, Status


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
