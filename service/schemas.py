"""What goes in and out of a score, as pydantic models: the same for CLI, REST and stored record."""

from __future__ import annotations

from typing import Any, Literal

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
