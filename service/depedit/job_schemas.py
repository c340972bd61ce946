"""What REST, page and client say about runs of the protocol as jobs: as posted, as they stand."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from thinkeval.service.edit_schemas import Name, Scalar, Status

SetId = Annotated[str, Field(min_length=1, max_length=300)]


class RunsIn(BaseModel):
    """Strategies to run on knowledge sets. What is not said is as `thinkeval depedit run` has it.

    Attributes:
        overrides: of the editors; values that name files are refused.
    """

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"graph": "atlas", "strategies": ["base", "memit", "memit+forwchain"]}]
        },
    )

    sets: list[SetId] | None = Field(
        default=None,
        min_length=1,
        max_length=500,
        description="Ids of knowledge sets; null: all of `graph`.",
    )
    graph: Name | None = Field(
        default=None,
        description="Whose sets are run (where `sets` is null), and whose organism, sentences and"
        " facts are used; null: each set's own data set.",
    )
    strategies: list[Name] | None = Field(
        default=None,
        min_length=1,
        max_length=30,
        description="Strategies, or EDITOR+STRATEGY; null: random, base, finetune, memit, and"
        " forwchain and backchain on both.",
    )
    editor: Name | None = Field(
        default=None,
        description="What forwchain, backchain and derive wrap where a strategy names none.",
    )
    model: Annotated[str, Field(min_length=1, max_length=400)] = Field(
        default="organism", description="`GET /v1/models` lists what may be used."
    )
    hparams: Name | None = Field(
        default=None, description="Name of a shipped hyperparameter file; default: the model's."
    )
    overrides: dict[Name, Scalar | list[Scalar]] = Field(
        default_factory=dict, max_length=50, description="Single hyperparameters to replace."
    )
    covariance: Literal["imported"] | None = Field(
        default=None, description="Key statistics: the graph's sentences, or imported ones."
    )
    chat: Literal["auto", "always", "never"] = "auto"
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    revision: Name | None = None
    seed: int = Field(default=0, ge=0, le=2**31 - 1)
    force: bool = Field(default=False, description="Run again what is stored.")


class JobOut(BaseModel):
    """Runs of the protocol that were posted together, as they stand."""

    id: str
    status: Status
    progress: float = Field(description="From 0 to 1.")
    stage: str | None = Field(
        default=None, examples=["set 1 of 3: memit+forwchain: update 2"], description="In words."
    )
    total: int = Field(description="Runs it asks for: strategies on sets.")
    done: int = Field(description="Runs that are done, or were stored before.")
    runs: list[str] = Field(description="Ids of those, in order: `/v1/depedit/runs/{run}`.")
    sets: list[str]
    strategies: list[str]
    model: str = Field(description="Short name, as in the list of runs.")
    graph: str | None = Field(
        default=None, description="Whose model is used; null: of each set's own data set."
    )
    error: str | None = None
    remedy: str | None = None
    attempts: int = Field(description="How often a worker took it up.")
    created_at: str
    finished_at: str | None = None
    links: dict[str, str] = {}


class JobPage(BaseModel):
    """Jobs, newest first."""

    items: list[JobOut]
    next: str | None = Field(default=None, description="`cursor` of the next page; null at the end")
    total: int = Field(description="How many there are on all pages.")


class JobStands(BaseModel):
    """A job's id and status."""

    id: str
    status: Status
