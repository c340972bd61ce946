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
    models: list[Name] = Field(default=["organism"], min_length=1, max_length=20)
    methods: list[Name] = Field(min_length=1, max_length=50)
    seeds: list[Annotated[int, Field(ge=0, le=2**31 - 1)]] = Field(
        default=[0], min_length=1, max_length=50
    )


class SweepOut(BaseModel):
    """A sweep: counts by status, the table over common rewrites, warnings of what it leaves out."""

    id: str
    request: dict[str, Any]
    created_at: str
    counts: dict[Status, int]
    edits: list[str]
    measure: Measure = "likelihood"
    caption: str | None = None
    warnings: list[str] = []
    table: list[dict[str, Any]] = []
    failed: list[dict[str, str]] = []
