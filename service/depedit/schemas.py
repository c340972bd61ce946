"""What /v1/depedit says about knowledge sets: as asked for, built, imported and shown.

What /v1/depedit says about runs of the protocol, and the tables over them.

What REST, page and client say about runs of the protocol as jobs: as posted, as they stand.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from thinkeval.service.schemas import Name, Scalar, Status

Setting = Literal["CQ_DT", "CQ_UT", "ICQ_DT"]
InitOfSet = Annotated[
    Literal["stored", "shuffled", "file"],
    Field(description="Facts as the graph has them, shuffled among their subjects, or a file's."),
]


class SetOut(BaseModel):
    """A stored knowledge set and how much it holds."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    dataset: str = Field(description="The graph it was built from; empty where a file gave it.")
    setting: Setting
    seed: int
    init: InitOfSet
    rule: str = Field(description="Id of its rule.")
    text: str = Field(description="The rule in words.")
    created_at: str
    n_specific: int
    n_unrelated: int
    n_implications: int
    n_copies: int
    n_runs: int


class Sets(BaseModel):
    """The stored knowledge sets, by id."""

    items: list[SetOut]
    next: str | None = Field(default=None, description="`cursor` of the next page; null at the end")
    total: int = Field(description="How many there are on all pages.")


class QuestionOut(BaseModel):
    """One question of a set."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    phase: Literal["establish", "update"]
    copy_: int | None = Field(alias="copy", description="Which updated copy; null before.")
    role: Literal["specific", "unrelated", "implication"]
    subject: str
    relation: str
    asked: str
    prompt: str = Field(description="Cloze by which the fact is established and edited.")
    expected: str | None = Field(description="Null where an implication follows no more.")
    change: Literal["kept", "updated", "new", "lost"]
    established: str | None = Field(description="Id of the same question while establishing.")


class SetWithQuestions(SetOut):
    """A stored knowledge set with all it asks."""

    questions: list[QuestionOut]


class SkippedOut(BaseModel):
    """A rule that gave no set, and why."""

    model_config = ConfigDict(from_attributes=True)

    rule: str
    text: str
    reason: str
    apart: int = Field(description="Groundings that a set of it could have.")


class BuiltSet(SetOut):
    """A set that was built or imported: `saved`, `replaced` or `unchanged`."""

    status: Literal["saved", "replaced", "unchanged"]


class BuiltSets(BaseModel):
    """The sets that were built, and the rules that gave none."""

    items: list[BuiltSet]
    skipped: list[SkippedOut]


class LineOut(BaseModel):
    """Something about one line of a file."""

    model_config = ConfigDict(from_attributes=True)

    line: int
    reason: str


class ImportedSets(BaseModel):
    """The sets of a file, lines that are none, and what was made up for in the others."""

    items: list[BuiltSet]
    refused: list[LineOut]
    notes: list[LineOut]


class SetIn(BaseModel):
    """How to draw sets; the numbers' defaults are the paper's."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"graph": "atlas"}]})

    graph: Name = Field(description="A data set graph; `atlas` ships with its rules.")
    setting: Setting = "CQ_DT"
    rules: list[Annotated[str, Field(min_length=1, max_length=100)]] | None = Field(
        default=None, max_length=100, description="Ids of rules; null for all that are kept."
    )
    candidates: bool = Field(default=False, description="Also by rules that nobody reviewed.")
    per_rule: int = Field(default=1, ge=1, le=20)
    seed: int = Field(default=0, ge=0, le=2**31 - 1)
    facts: int = Field(default=24, ge=1, le=100)
    unrelated: int = Field(default=5, ge=0, le=100)
    implications: int = Field(default=12, ge=1, le=50)
    copies: int = Field(default=3, ge=1, le=10)
    updates: int = Field(default=20, ge=1, le=100)
    init: Literal["stored", "shuffled"] = "stored"
    replace: bool = False


class RunShareOut(BaseModel):
    """A metric: a share from 0 to 1 (null where nothing was asked) and what it was taken over."""

    model_config = ConfigDict(from_attributes=True)

    value: float | None
    n: int = Field(description="Answers.")
    copies: int = Field(description="Updated copies whose mean it is.")


class RunOut(BaseModel):
    """A stored run of the protocol on one set."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    knowledge_set: str
    dataset: str
    setting: Setting
    init: InitOfSet
    n_specific: int
    strategy: str
    editor: str | None
    method: str = Field(description="What tables call it: the editor and the strategy.")
    model: str
    seconds: float | None
    created_at: str
    n_answers: int


class Runs(BaseModel):
    """The stored runs, oldest first."""

    items: list[RunOut]
    next: str | None = Field(default=None, description="`cursor` of the next page; null at the end")
    total: int = Field(description="How many there are on all pages.")


class AnswerOut(BaseModel):
    """What a model said to one question."""

    model_config = ConfigDict(from_attributes=True)

    question: str
    phase: Literal["establish", "update"]
    copy_: int | None = Field(alias="copy")
    role: Literal["specific", "unrelated", "implication"]
    asked: str
    change: Literal["kept", "updated", "new", "lost"]
    expected: str | None
    answer: str
    established: str | None = Field(description="What it had said while establishing.")


class RunWithAnswers(RunOut):
    """A stored run with its metrics and answers."""

    metrics: dict[str, RunShareOut]
    answers: list[AnswerOut]


class MeanOut(BaseModel):
    """A mean over knowledge sets; null where none has the metric."""

    model_config = ConfigDict(from_attributes=True)

    value: float | None
    n: int = Field(description="Sets.")


class MethodRow(BaseModel):
    """One row of the paper's tables."""

    model_config = ConfigDict(from_attributes=True)

    setting: Setting
    init: InitOfSet
    n_specific: int
    model: str
    method: str
    strategy: str
    editor: str | None
    runs: int
    means: dict[str, MeanOut] = Field(description="Shares from 0 to 1 by metric.")
    gains: dict[str, MeanOut] = Field(description="Differences to the editor it wraps.")


class Report(BaseModel):
    """The paper's tables over the stored runs."""

    items: list[MethodRow]


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
