"""The diff of two edits: one schema for CLI, REST and client.

Values are of the two edits `a` and `b`; a delta is b − a. With the edits swapped the diff is
mirrored: `_a` and `_b` exchanged, deltas negated, `opened` and `closed` exchanged.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel, Field, computed_field, model_validator

from .edit import AnsweredFact, EditedFact, Measure, ScoringOptions
from .notebook import InOneLine


class DiffedEdit(EditedFact):
    """One of the two edits."""

    edit: str = Field(description="Id of the edit.")
    model: str = Field(description="Name of the model.")
    method: str = Field(description="Name of the editing method.")
    options: ScoringOptions = Field(description="How its chains are counted.")


class Difference(BaseModel):
    """One difference in setup between the two edits; `note` states its effect."""

    what: str = Field(description="Name of the property that differs.")
    a: str = Field(description="In edit a.")
    b: str = Field(description="In edit b.")
    note: str = Field(description="Consequence for the numbers.")


class MetricDelta(BaseModel):
    """One metric of both edits. A value that an edit lacks is None."""

    metric: str = Field(description="Name of the metric.")
    measure: str = Field(
        description="The measure: likelihood, p (share of sampled answers), or likelihood_norm."
    )
    step: int | None = Field(
        default=None, description="Number of facts of the chains; null for the overall value."
    )
    a: float | None = Field(
        default=None,
        description="Value of edit a; null also where the metric is undefined, then n_a is 0.",
    )
    b: float | None = Field(
        default=None,
        description="Value of edit b; null also where the metric is undefined, then n_b is 0.",
    )
    delta: float | None = Field(
        default=None,
        description="B − a; null where only one of them has the metric, where one of the values"
        ' means "nothing to measure" (n = 0) and the other does not, or where both are undefined.',
    )
    n_a: int | None = Field(
        default=None, description="Number of chains, facts or prompts that a was taken over."
    )
    n_b: int | None = Field(
        default=None, description="Number of chains, facts or prompts that b was taken over."
    )
    low_a: float | None = Field(
        default=None, description="Lower end of a's 95 % interval, where the measure is a sample."
    )
    high_a: float | None = Field(
        default=None, description="Upper end of a's 95 % interval, where the measure is a sample."
    )
    low_b: float | None = Field(
        default=None, description="Lower end of b's 95 % interval, where the measure is a sample."
    )
    high_b: float | None = Field(
        default=None, description="Upper end of b's 95 % interval, where the measure is a sample."
    )
    delta_low: float | None = Field(
        default=None,
        description="Lower end of the delta's 95 % interval, where the answers of both are paired.",
    )
    delta_high: float | None = Field(
        default=None,
        description="Upper end of the delta's 95 % interval, where the answers of both are paired.",
    )

    @property
    def differs(self) -> bool:
        """Return True if the edits differ in it; undefined in both is no difference."""
        undefined = self.n_a == self.n_b == 0 and self.a is None and self.b is None
        return self.delta != 0 and not undefined


class FactDelta(BaseModel):
    """One fact of the edit graphs: probability before and after each edit, and what each did."""

    PROBABILITIES: ClassVar[frozenset[str]] = frozenset({"flipped"})

    subject: str = Field(description="Subject of the fact.")
    relation: str = Field(description="Relation of the fact.")
    object: str = Field(description="Object of the fact.")
    prompt: str = Field(description="The fact's cloze, with `{}` for the subject.")
    role: str = Field(description="fact, target_true, target_new or implication.")
    in_a: bool = Field(default=True, exclude=True, description="The graph of edit a has it.")
    in_b: bool = Field(default=True, exclude=True, description="The graph of edit b has it.")
    flipped: bool = Field(
        default=True, exclude=True, description="The edits leave it in different states."
    )
    pre_a: float | None = Field(description="Probability before edit a.")
    post_a: float | None = Field(description="Probability after edit a.")
    change_a: str | None = Field(
        description="Change by edit a: kept, weakened, replaced, lost or added, by the first"
        " measure."
    )
    says_pre_a: str | None = Field(
        default=None, description="The model's own answer before edit a; null where not asked."
    )
    says_post_a: str | None = Field(default=None, description="Its own answer after edit a.")
    pre_b: float | None = Field(description="Probability before edit b.")
    post_b: float | None = Field(description="Probability after edit b.")
    change_b: str | None = Field(description="Change by edit b, likewise.")
    says_pre_b: str | None = Field(default=None, description="Its own answer before edit b.")
    says_post_b: str | None = Field(default=None, description="Its own answer after edit b.")
    delta: float | None = Field(default=None, description="post_b − post_a.")

    @model_validator(mode="after")
    def _subtract(self) -> FactDelta:
        if self.post_a is not None and self.post_b is not None:
            self.delta = self.post_b - self.post_a
        return self


class LoneFact(AnsweredFact):
    """A fact that only one of the edit graphs has."""

    prompt: str = Field(description="The fact's cloze, with `{}` for the subject.")
    role: str = Field(description="fact, target_true, target_new or implication.")
    change: str | None = Field(
        description="What became of the fact: kept, weakened, replaced, lost or added; null if not"
        " measured."
    )


class FactsDiff(BaseModel):
    """The facts of both edit graphs."""

    shared: int = Field(description="Number of facts that both graphs hold.")
    flipped: list[FactDelta] = Field(
        description="Facts of both graphs that the edits leave in another state, largest"
        " difference first."
    )
    only_a: list[LoneFact] = Field(description="Facts that the graph of edit a alone holds.")
    only_b: list[LoneFact] = Field(description="Facts that the graph of edit b alone holds.")


class ChainDelta(BaseModel):
    """One chain that survives one of the edits and not the other."""

    steps: int = Field(description="Number of facts of the chain.")
    entities: list[str] = Field(
        description="Names from subject to old object: they identify a chain."
    )
    r_pre_a: float = Field(description="Reliability R before edit a.")
    r_post_a: float = Field(description="Reliability R' after edit a.")
    r_pre_b: float = Field(description="Reliability R before edit b.")
    r_post_b: float = Field(description="Reliability R' after edit b.")


class ChainsDiff(BaseModel):
    """The chains of both edits, each counted by its own edit's options."""

    shared: int = Field(
        description="Chains that both have; opened: cut in a, surviving in b; closed: the reverse."
    )
    opened: list[ChainDelta] = Field(description="Chains that are cut in a and survive in b.")
    closed: list[ChainDelta] = Field(description="Chains that survive in a and are cut in b.")
    surviving_a: int = Field(description="Number of all chains of edit a that survive.")
    surviving_b: int = Field(description="Number of all chains of edit b that survive.")
    only_a: int = Field(
        description="Number of chains that edit a alone has, for example because it counts longer"
        " ones."
    )
    only_b: int = Field(description="Number of chains that edit b alone has.")
    surviving_only_a: int = Field(description="Number of the chains of `only_a` that survive.")
    surviving_only_b: int = Field(description="Number of the chains of `only_b` that survive.")


class Diff(InOneLine, BaseModel):
    """Two scored edits of one data set, side by side."""

    dataset: str = Field(description="Id of the data set's graph.")
    measure: Measure = Field(description="Measure of the facts' and chains' probabilities.")
    a: DiffedEdit = Field(description="The first edit.")
    b: DiffedEdit = Field(description="The second edit.")
    differences: list[Difference] = Field(
        description="Differences between the two edits' settings; `notes` are their sentences."
    )
    metrics: list[MetricDelta] = Field(description="Every metric of both.")
    facts: FactsDiff = Field(description="The facts of both edit graphs.")
    chains: ChainsDiff | None = Field(
        description="Null where the edits start or end at other entities."
    )

    @computed_field
    @property
    def notes(self) -> list[str]:
        """Remarks for a reader of the numbers; empty where all is alike."""
        return [f"{d.what}: {d.a} in A, {d.b} in B. {d.note}" for d in self.differences]

    @computed_field
    @property
    def empty(self) -> bool:
        """Return True if the edits have equal numbers."""
        facts, chains = self.facts, self.chains
        if chains is None or any(m.differs for m in self.metrics):
            return False
        differing = (facts.flipped, facts.only_a, facts.only_b, chains.opened, chains.closed)
        return not (any(differing) or chains.only_a or chains.only_b)
