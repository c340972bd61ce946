"""What REST, page and client say about edits and sweeps: requests as posted, records as shown."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from thinkeval.service.schemas import Measure, RewriteIn, Score, ScoringOptions

Status = Literal["queued", "running", "succeeded", "failed", "cancelled"]

ENDED: tuple[Status, ...] = ("succeeded", "failed", "cancelled")
"""Statuses in which nothing more happens to an edit by itself."""

Name = Annotated[str, Field(min_length=1, max_length=200)]
"""Id of a graph, name of a method or a model: short texts without control characters."""

Scalar = bool | int | float | str | None


class _Probed(ScoringOptions):
    """How facts are asked and chains counted: the options that edits and sweeps share."""

    samples: int = Field(
        default=5, ge=0, le=200, description="Generations a prompt; 0: likelihoods only."
    )
    ask: Literal["cloze", "question"] = "cloze"
    paraphrases: bool = Field(default=False, description="Average each fact over its paraphrases.")
    chat: Literal["auto", "always", "never"] = "auto"
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    force: bool = Field(default=False, description="Score again what is stored.")

    @property
    def options(self) -> ScoringOptions:
        """How chains are counted."""
        return ScoringOptions(**{name: getattr(self, name) for name in ScoringOptions.model_fields})


class EditIn(_Probed):
    """One edit to score. Everything but the rewrite has a default."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"graph": "hogwarts", "rewrite": "harry-potter--studied-at", "method": "rome"},
                {
                    "graph": "hogwarts",
                    "rewrite": {
                        "subject": "Draco Malfoy",
                        "prompt": "{} studied at",
                        "target_true": "Hogwarts School of Witchcraft and Wizardry",
                        "target_new": "Beauxbatons Academy",
                    },
                    "method": "memit",
                    "samples": 20,
                },
            ]
        }
    )

    graph: Name = "hogwarts"
    rewrite: Name | RewriteIn = Field(
        description="Id, beginning of an id, or subject of a stored rewrite; or one written out."
    )
    model: Annotated[str, Field(min_length=1, max_length=400)] = Field(
        default="organism", description="`GET /v1/models` lists what may be used."
    )
    method: Name = "rome"
    revision: Name | None = None
    hparams: Name | None = Field(
        default=None, description="Name of a shipped hyperparameter file; default: the model's."
    )
    overrides: dict[Name, Scalar | list[Scalar]] = Field(
        default_factory=dict, max_length=50, description="Single hyperparameters to replace."
    )
    covariance: Literal["imported"] | None = Field(
        default=None, description="Key statistics: the graph's sentences, or imported ones."
    )
    seed: int = Field(default=0, ge=0, le=2**31 - 1)
    organism_seed: int | None = Field(default=None, ge=0, le=2**31 - 1)
    strength: float = Field(default=1.0, gt=0, le=10, description="Factor on the update.")
    generate: bool = Field(default=False, description="Free texts too: fluency, consistency.")
    implications: bool = Field(
        default=False, description="Ask for what the rules imply too; see /implications."
    )


class EditOut(BaseModel):
    """An edit as it is recorded now.

    Attributes:
        id: as in `Location` while it waits; once its model is loaded a digest of everything its
            numbers depend on. Every id it ever had finds it.
        posted_as: the ids it was posted under.
        progress: from 0 to 1.
        attempts: how often a worker took it up; more than 1 after a worker died.
        reused: the score was stored before it was asked for.
        links: where the rest is, by name.
    """

    id: str
    posted_as: list[str] = []
    graph: str
    rewrite: str
    subject: str
    relation: str
    prompt: str
    target_true: str
    target_new: str
    model: str
    method: str
    status: Status
    progress: float
    stage: str | None = None
    error: str | None = None
    remedy: str | None = None
    attempts: int = 0
    created_at: str
    finished_at: str | None = None
    score: Score | None = None
    links: dict[str, str] = {}


class SweepIn(_Probed):
    """Several methods (and models, seeds) on several rewrites of one graph."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"graph": "hogwarts", "methods": ["none", "rome", "memit"]}]
        }
    )

    graph: Name = "hogwarts"
    rewrites: list[Name] = Field(
        default_factory=list, max_length=2000, description="Empty: all of the graph."
    )
    models: list[Name] = Field(default=["organism"], min_length=1, max_length=20)
    methods: list[Name] = Field(min_length=1, max_length=50)
    seeds: list[Annotated[int, Field(ge=0, le=2**31 - 1)]] = Field(
        default=[0], min_length=1, max_length=50
    )
    covariance: Literal["imported"] | None = None
    implications: bool = Field(
        default=False, description="Ask for what the rules imply too, of every cell."
    )


class SweepOut(BaseModel):
    """A sweep as it stands: counts by status, and the table of what is scored so far."""

    id: str
    request: dict[str, Any]
    created_at: str
    counts: dict[Status, int]
    edits: list[str]
    measure: Measure = "likelihood"
    caption: str | None = None
    table: list[dict[str, Any]] = []
    failed: list[dict[str, str]] = []
