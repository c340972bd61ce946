"""Knowledge sets, runs of the protocol and their jobs as REST, web UI, CLI and client show them.

What is read from the database without change is shown as its row type (cypher/rows/depedit.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field

from ...cypher.rows.base import Row
from ...cypher.rows.depedit import (
    Change,
    Phase,
    Role,
    Setting,
    Source,
    StoredAnswer,
    StoredRun,
    StoredSet,
)
from ...loaders.depedit import LineNote
from ..schemas import Name, Scalar, Status

ROLES: tuple[Role, ...] = get_args(Role)


class _Extended(Row):
    """A stored record with further fields."""

    @classmethod
    def extend(cls, row: StoredSet | StoredRun, **further: Any) -> Self:
        """Extend a row; columns without a field here are left out."""
        names = {each.name for each in fields(cls)} - further.keys()
        return cls(**{name: getattr(row, name) for name in names}, **further)


class Sets(BaseModel):
    """The stored knowledge sets, by id."""

    items: list[StoredSet]
    next: str | None = Field(default=None, description="`cursor` of the next page; null at the end")
    total: int = Field(description="Their number on all pages.")


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a set.

    Attributes:
        copy: index of the updated copy; None in phase establish.
        asked: the complete question.
        expected: the right answer now; None for an implication that no longer follows.
        change: `kept`, or since phase establish: `updated` (another answer), `new`, `lost`.
        established: id of the same question in phase establish; None there, and for a new one.
    """

    id: str
    phase: Phase
    copy: int | None
    role: Role
    subject: str
    relation: str
    asked: str
    prompt: str = field(
        metadata={"description": "Cloze by which the fact is established and edited."}
    )
    expected: str | None = field(
        metadata={"description": "Null if the implication no longer follows."}
    )
    change: Change
    established: str | None = field(
        metadata={"description": "Id of the same question in phase establish."}
    )


@dataclass(frozen=True, kw_only=True)
class SetWithQuestions(_Extended, StoredSet):
    """A stored knowledge set with all its questions."""

    questions: list[Question]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A rule that yielded no set, and the reason."""

    rule: str
    text: str
    reason: str
    apart: int = field(
        metadata={"description": "Groundings that fit into one set; 0 if the reason is another."}
    )


@dataclass(frozen=True, kw_only=True)
class BuiltSet(_Extended, StoredSet):
    """A set that was built or imported: `saved`, `replaced` or `unchanged`."""

    status: Literal["saved", "replaced", "unchanged"]


class BuiltSets(BaseModel):
    """The sets that were built, and the rules that yielded none."""

    items: list[BuiltSet]
    skipped: list[Skipped]


class ImportedSets(BaseModel):
    """The sets of a file, the lines that were refused, and notes on the others."""

    items: list[BuiltSet]
    refused: list[LineNote]
    notes: list[LineNote]


class SetIn(BaseModel):
    """Options to draw sets; the defaults are the paper's."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"graph": "atlas"}]})

    graph: Name = Field(description="Graph: a data set; `atlas` ships with its rules.")
    setting: Setting = "CQ_DT"
    rules: list[Annotated[str, Field(min_length=1, max_length=100)]] | None = Field(
        default=None, max_length=100, description="Ids of rules; null: all kept rules."
    )
    candidates: bool = Field(default=False, description="Also by rules without a review.")
    per_rule: int = Field(default=1, ge=1, le=20)
    seed: int = Field(default=0, ge=0, le=2**31 - 1)
    facts: int = Field(default=24, ge=1, le=100)
    unrelated: int = Field(default=5, ge=0, le=100)
    implications: int = Field(default=12, ge=1, le=50)
    copies: int = Field(default=3, ge=1, le=10)
    updates: int = Field(default=20, ge=1, le=100)
    init: Literal["stored", "shuffled"] = "stored"
    replace: bool = False


@dataclass(frozen=True, slots=True)
class Fraction:
    """One metric of one run: a fraction from 0 to 1, null without questions, and its counts."""

    value: float | None
    n: int = field(metadata={"description": "Number of answers."})
    copies: int = field(
        metadata={
            "description": "Number of updated copies it is the mean of; 1 in phase establish."
        }
    )


class Runs(BaseModel):
    """The stored runs, oldest first."""

    items: list[StoredRun]
    next: str | None = Field(default=None, description="`cursor` of the next page; null at the end")
    total: int = Field(description="Their number on all pages.")


@dataclass(frozen=True, kw_only=True)
class RunWithAnswers(_Extended, StoredRun):
    """A stored run with its metrics and answers."""

    metrics: dict[str, Fraction]
    answers: list[StoredAnswer]


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over knowledge sets; null if none of them has the metric."""

    value: float | None
    n: int = field(metadata={"description": "Number of sets."})
    answers: int | None = field(
        default=None,
        metadata={"description": "Number of answers in all sets; null for a difference."},
    )
    low: float | None = field(
        default=None,
        metadata={
            "description": "Lower end of the 95 % Wilson interval. Answers count as independent,"
            " sets weigh alike as in the mean; null without answers and for a difference."
        },
    )
    high: float | None = field(default=None, metadata={"description": "Its upper end."})


@dataclass(frozen=True, slots=True)
class MethodRow:
    """One row of the paper's tables: a method with one model, in one setting, on one kind of set.

    Attributes:
        runs: number of runs, the newest of each set.
    """

    setting: Setting
    init: Source
    n_specific: int
    model: str
    method: str
    strategy: str
    editor: str | None
    runs: int
    means: Mapping[str, Mean] = field(
        metadata={"description": "Mean fractions from 0 to 1, by metric."}
    )
    gains: Mapping[str, Mean] = field(
        metadata={"description": "Mean differences to the wrapped editor, over the sets of both."}
    )

    @property
    def facts(self) -> str:
        """Number and source of the sets' specific facts: `24 shuffled`."""
        return f"{self.n_specific} {self.init}"


class Report(BaseModel):
    """The paper's tables over the stored runs."""

    items: list[MethodRow]


SetId = Annotated[str, Field(min_length=1, max_length=300)]


class RunsIn(BaseModel):
    """Strategies to run on knowledge sets, with the defaults of `thinkeval depedit run`.

    Attributes:
        overrides: hyperparameters of the editors; paths of files are refused.
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
        description="Source of the sets (if `sets` is null), and of organism, sentences and facts;"
        " null: each set's own data set.",
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
        description="Editor of forwchain, backchain and derive without one in their names.",
    )
    model: Annotated[str, Field(min_length=1, max_length=400)] = Field(
        default="organism", description="One of `GET /v1/models`."
    )
    hparams: Name | None = Field(
        default=None, description="Name of a shipped hyperparameter file; default: the model's."
    )
    overrides: dict[Name, Scalar | list[Scalar]] = Field(
        default_factory=dict, max_length=50, description="Single hyperparameters to replace."
    )
    covariance: Literal["imported"] | None = Field(
        default=None, description="Covariance statistics: of the graph's sentences, or imported."
    )
    chat: Literal["auto", "always", "never"] = "auto"
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    revision: Name | None = None
    seed: int = Field(default=0, ge=0, le=2**31 - 1)
    force: bool = Field(default=False, description="Repeat stored runs.")


class JobOut(BaseModel):
    """A job: runs of the protocol that were submitted together."""

    id: str
    status: Status
    progress: float = Field(description="From 0 to 1.")
    stage: str | None = Field(
        default=None, examples=["set 1 of 3: memit+forwchain: update 2"], description="In words."
    )
    total: int = Field(description="Number of its runs: strategies times sets.")
    done: int = Field(description="Number of finished runs, including those stored before.")
    runs: list[str] = Field(description="Ids of those, in order: `/v1/depedit/runs/{run}`.")
    sets: list[str]
    strategies: list[str]
    model: str = Field(description="Short name, as in the list of runs.")
    graph: str | None = Field(
        default=None, description="Whose model is used; null: of each set's own data set."
    )
    error: str | None = None
    remedy: str | None = None
    attempts: int = Field(description="Number of times a worker claimed it.")
    created_at: str
    finished_at: str | None = None
    links: dict[str, str] = {}


class JobPage(BaseModel):
    """Jobs, newest first."""

    items: list[JobOut]
    next: str | None = Field(default=None, description="`cursor` of the next page; null at the end")
    total: int = Field(description="Their number on all pages.")


class JobStatus(BaseModel):
    """A job's id and status."""

    id: str
    status: Status
