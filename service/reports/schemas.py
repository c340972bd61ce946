"""The diff of two edits: one schema for CLI, REST and client.

Values are of the two edits `a` and `b`; a delta is b − a. With the edits swapped the diff is
mirrored: `_a` and `_b` exchanged, deltas negated, `opened` and `closed` exchanged.
"""

from __future__ import annotations

from pydantic import BaseModel, computed_field

from ..schemas import Measure, ScoringOptions


class DiffedEdit(BaseModel):
    """One of the two edits."""

    edit: str
    rewrite: str
    subject: str
    relation: str
    target_true: str
    target_new: str
    model: str
    method: str
    options: ScoringOptions


class Difference(BaseModel):
    """One difference in setup between the two edits; `note` states its effect."""

    what: str
    a: str
    b: str
    note: str


class MetricDelta(BaseModel):
    """One metric of both edits. What an edit does not have is None.

    Attributes:
        a, b: None also where the metric is undefined, then n is 0.
        delta: b − a; None where only one of them has the metric, where one of the values means
            "nothing to measure" (n = 0) and the other does not, or where both are undefined.
        n_a, n_b: chains, facts or prompts that each value was taken over.
        low_a, high_a, low_b, high_b: 95 % intervals, where the measure is a sample.
        delta_low, delta_high: 95 % interval of the delta, where the answers of both are paired
            (`service.scoring.paired`).
    """

    metric: str
    measure: str
    step: int | None = None
    a: float | None = None
    b: float | None = None
    delta: float | None = None
    n_a: int | None = None
    n_b: int | None = None
    low_a: float | None = None
    high_a: float | None = None
    low_b: float | None = None
    high_b: float | None = None
    delta_low: float | None = None
    delta_high: float | None = None

    @property
    def differs(self) -> bool:
        """Whether the edits differ in it; undefined in both is no difference."""
        undefined = self.n_a == self.n_b == 0 and self.a is None and self.b is None
        return self.delta != 0 and not undefined


class FactDelta(BaseModel):
    """One fact in both edit graphs: probability before and after each edit, and what each did.

    Attributes:
        role: fact, target_true, target_new or implication.
        change_a, change_b: kept, weakened, removed or added, by the leading measure.
        delta: post_b − post_a.
    """

    subject: str
    relation: str
    object: str
    prompt: str
    role: str
    pre_a: float
    post_a: float
    change_a: str | None
    pre_b: float
    post_b: float
    change_b: str | None
    delta: float


class LoneFact(BaseModel):
    """A fact that only one of the edit graphs has."""

    subject: str
    relation: str
    object: str
    prompt: str
    role: str
    pre: float | None
    post: float | None
    change: str | None


class FactsDiff(BaseModel):
    """The facts of both edit graphs.

    Attributes:
        shared: how many both hold.
        flipped: those of them that the edits leave in another state, largest difference first.
        only_a, only_b: what one graph alone holds.
    """

    shared: int
    flipped: list[FactDelta]
    only_a: list[LoneFact]
    only_b: list[LoneFact]


class ChainDelta(BaseModel):
    """One chain that survives one of the edits and not the other.

    Attributes:
        entities: names from subject to old object: what identifies a chain.
        r_post_a, r_post_b: reliability R' after each edit; r_pre_a, r_pre_b: R before it.
    """

    steps: int
    entities: list[str]
    r_pre_a: float
    r_post_a: float
    r_pre_b: float
    r_post_b: float


class ChainsDiff(BaseModel):
    """The chains of both edits, each counted by its own edit's options.

    Attributes:
        shared: chains that both have; opened: cut in a, surviving in b; closed: the reverse.
        surviving_a, surviving_b: of all chains of that edit.
        only_a, only_b: chains that one edit alone has, as it counts longer ones, say.
        surviving_only_a, surviving_only_b: of these, how many survive.
    """

    shared: int
    opened: list[ChainDelta]
    closed: list[ChainDelta]
    surviving_a: int
    surviving_b: int
    only_a: int
    only_b: int
    surviving_only_a: int
    surviving_only_b: int


class Diff(BaseModel):
    """Two scored edits of one data set, side by side.

    Attributes:
        measure: how the probabilities of facts and chains were measured.
        differences: what was not alike; `notes` are their sentences.
        chains: None where the edits start or end at other entities.
    """

    dataset: str
    measure: Measure
    a: DiffedEdit
    b: DiffedEdit
    differences: list[Difference]
    metrics: list[MetricDelta]
    facts: FactsDiff
    chains: ChainsDiff | None

    @computed_field
    @property
    def notes(self) -> list[str]:
        """What to keep in mind when reading the numbers; empty where all is alike."""
        return [f"{d.what}: {d.a} in A, {d.b} in B. {d.note}" for d in self.differences]

    @computed_field
    @property
    def empty(self) -> bool:
        """Whether the edits have equal numbers."""
        facts, chains = self.facts, self.chains
        if chains is None or any(m.differs for m in self.metrics):
            return False
        differing = (facts.flipped, facts.only_a, facts.only_b, chains.opened, chains.closed)
        return not (any(differing) or chains.only_a or chains.only_b)
