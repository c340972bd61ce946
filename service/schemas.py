"""What goes in and out of a score, as pydantic models: the same for CLI, REST and stored record.

What REST, page and client say about edits and sweeps: requests as posted, records as shown.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Measure = Literal["p", "likelihood", "likelihood_norm"]
"""How a probability was measured: sampled share, teacher-forced, or length-normalised."""

MEASURE_NAMES: dict[str, str] = {
    "p": "sampled",
    "likelihood": "likelihood",
    "likelihood_norm": "likelihood, length-normalised",
}

BareFact = Literal["listed", "include", "exclude"]
"""Whether the edited fact itself is a 1-step chain: if the data set lists it, always, or never."""


class RewriteIn(BaseModel):
    """A rewrite request as a user writes it."""

    model_config = ConfigDict(extra="forbid")

    subject: str = Field(min_length=1, max_length=400)
    prompt: str = Field(min_length=2, max_length=1000, description="cloze with {} for the subject")
    relation: str | None = None
    target_true: str = Field(min_length=1, max_length=400)
    target_new: str = Field(min_length=1, max_length=400)


class ScoringOptions(BaseModel):
    """How chains are counted; part of the score's provenance.

    Attributes:
        max_steps: longest chain, 1..5 (ThinkEval uses 5).
        bare: whether the edited fact counts as a 1-step chain.
        threshold: a chain survives when R' > threshold · R; None is 0 for sampled probabilities
            (the papers' R' > 0) and 0.01 for likelihoods, which are never exactly 0.
        unit: Preservation over the rewrite's facts, or averaged over its records.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_steps: int = Field(default=5, ge=1, le=5, description="Longest chain.")
    bare: BareFact = "listed"
    threshold: float | None = Field(default=None, ge=0, lt=1)
    unit: Literal["rewrite", "record"] = "rewrite"

    def threshold_for(self, measure: str) -> float:
        """The fraction of R above which a chain survives: R' > threshold · R.

        The papers' R' > 0 for sampled probabilities. A likelihood is never exactly 0, so there a
        chain counts as cut below 1 % of its strength, unless `threshold` is set.
        """
        if self.threshold is not None:
            return self.threshold
        return 0.0 if measure == "p" else 0.01


class MetricValue(BaseModel):
    """One number of a score, never without what it was taken over.

    Attributes:
        step: chain length for metrics by steps; None for the overall value.
        n: chains, facts or prompts the value was taken over.
        excluded: chains or facts left out because their pre-edit value is 0.
        low, high: 95 % interval where the measure is a sample; None where it is exact.
    """

    metric: str
    measure: str
    step: int | None = None
    value: float
    n: int
    excluded: int = 0
    low: float | None = None
    high: float | None = None


class Score(BaseModel):
    """The score of one edit: what `thinkeval score`, the stored record and the report show."""

    edit: str
    dataset: str
    rewrite: str
    subject: str
    relation: str
    prompt: str
    target_true: str
    target_new: str
    model: str
    method: str
    options: ScoringOptions = ScoringOptions()
    values: list[MetricValue]
    n_facts: int
    seconds: dict[str, float] = {}
    provenance: dict[str, Any] = {}
    sequence: dict[str, Any] | None = None
    reused: bool = False

    def get(self, metric: str, measure: str, step: int | None = None) -> MetricValue | None:
        """The value of a metric, or None where that metric or measure was not taken."""
        for value in self.values:
            if (value.metric, value.measure, value.step) == (metric, measure, step):
                return value
        return None

    def by_step(self, metric: str, measure: str) -> dict[int, MetricValue]:
        """The values of a metric by chain length."""
        return {
            v.step: v
            for v in self.values
            if v.metric == metric and v.measure == measure and v.step is not None
        }

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures this score holds, exact ones first."""
        order: tuple[Measure, ...] = ("likelihood", "p", "likelihood_norm")
        held = {v.measure for v in self.values}
        return tuple(m for m in order if m in held)


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
