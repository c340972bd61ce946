"""Knowledge sets, runs of the protocol and their jobs as REST, web UI, CLI and client show them.

What is read from the database without change is shown as its row type (cypher/rows/depedit.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field

from ...cypher.rows.base import Row
from ...cypher.rows.depedit import Posed, Role, Setting, Source, StoredAnswer, StoredRun, StoredSet
from .edit import Name, Scalar
from .experiment import Result
from .options import Option

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

    items: list[StoredSet] = Field(description="The items of this page, in order.")
    next: str | None = Field(default=None, description="`cursor` of the next page; null at the end")
    total: int = Field(description="Their number on all pages.")


@dataclass(frozen=True)
class Question(Posed):
    """One question of a set."""

    id: Annotated[str, Field(description="Id of the question.")]
    subject: Annotated[str, Field(description="Subject of the fact.")]
    relation: Annotated[str, Field(description="Relation of the fact.")]
    prompt: Annotated[str, Field(description="Cloze by which the fact is established and edited.")]
    established: Annotated[
        str | None, Field(description="Id of the same question in phase establish.")
    ]


@dataclass(frozen=True, kw_only=True)
class SetWithQuestions(_Extended, StoredSet):
    """A stored knowledge set with all its questions."""

    questions: Annotated[list[Question], Field(description="All its questions, phase by phase.")]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A rule that yielded no set, and the reason."""

    rule: Annotated[str, Field(description="Id of the rule.")]
    text: Annotated[str, Field(description="The rule as a sentence.")]
    reason: Annotated[str, Field(description="Why it yielded no set.")]
    apart: Annotated[
        int, Field(description="Groundings that fit into one set; 0 if the reason is another.")
    ]


@dataclass(frozen=True, kw_only=True)
class BuiltSet(_Extended, StoredSet):
    """A set that was built: `saved`, `replaced` or `unchanged`."""

    status: Annotated[
        Literal["saved", "replaced", "unchanged"],
        Field(description="What became of it: saved, replaced or unchanged."),
    ]


class BuiltSets(BaseModel):
    """The sets that were built, and the rules that yielded none."""

    items: list[BuiltSet] = Field(description="The items of this page, in order.")
    skipped: list[Skipped] = Field(description="Rules that yielded no set, with the reason.")


class SetIn(BaseModel):
    """Options to draw sets; the defaults are the paper's."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"graph": "atlas"}]})

    graph: Name = Field(description="Graph: a data set; `atlas` ships with its rules.")
    setting: Setting = Field(
        default="CQ_DT", description="Wording of the questions: CQ_DT, CQ_UT or ICQ_DT."
    )
    rules: list[Annotated[str, Field(min_length=1, max_length=100)]] | None = Field(
        default=None, max_length=100, description="Ids of rules; null: all kept rules."
    )
    candidates: bool = Field(default=False, description="Also by rules without a review.")
    per_rule: int = Field(default=1, ge=1, le=20, description="Sets to draw for each rule.")
    seed: int = Field(default=0, ge=0, le=2**31 - 1, description="Seed of the draw.")
    facts: int = Field(default=24, ge=1, le=100, description="Number of specific facts of a set.")
    unrelated: int = Field(
        default=5, ge=0, le=100, description="Number of unrelated facts of a set."
    )
    implications: int = Field(
        default=12, ge=1, le=50, description="Number of implications of a set."
    )
    copies: int = Field(default=3, ge=1, le=10, description="Number of updated copies of a set.")
    updates: int = Field(
        default=20, ge=1, le=100, description="Number of facts that a copy updates."
    )
    init: Literal["stored", "shuffled"] = Field(
        default="stored", description="Facts as stored in the graph, or shuffled by subject."
    )
    replace: bool = Field(default=False, description="Replace stored sets of the same id.")


@dataclass(frozen=True, slots=True)
class Fraction:
    """One metric of one run: a fraction from 0 to 1, null without questions, and its counts."""

    value: Annotated[
        float | None, Field(description="Fraction from 0 to 1; null without questions.")
    ]
    n: Annotated[int, Field(description="Number of answers.")]
    copies: Annotated[
        int, Field(description="Number of updated copies it is the mean of; 1 in phase establish.")
    ]


class Runs(BaseModel):
    """The stored runs, oldest first."""

    items: list[StoredRun] = Field(description="The items of this page, in order.")
    next: str | None = Field(default=None, description="`cursor` of the next page; null at the end")
    total: int = Field(description="Their number on all pages.")


@dataclass(frozen=True, kw_only=True)
class RunWithAnswers(_Extended, StoredRun):
    """A stored run with its metrics and answers."""

    metrics: Annotated[
        dict[str, Fraction],
        Field(
            description="The run's metrics by name: Est.S, Est.I, Upd.S, Upd.I, Cons.NS, Cons.U,"
            " Cons.NI."
        ),
    ]
    answers: Annotated[
        list[StoredAnswer],
        Field(description="Every answer of the model, in the order of the questions."),
    ]


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over knowledge sets; null if none of them has the metric."""

    value: Annotated[float | None, Field(description="The mean; null if no set has the metric.")]
    n: Annotated[int, Field(description="Number of sets.")]
    answers: Annotated[
        int | None, Field(description="Number of answers in all sets; null for a difference.")
    ] = None
    low: Annotated[
        float | None,
        Field(
            description="Lower end of the 95 % Wilson interval. Answers count as independent,"
            " sets weigh alike as in the mean; null without answers and for a difference."
        ),
    ] = None
    high: Annotated[float | None, Field(description="Its upper end.")] = None


@dataclass(frozen=True, slots=True)
class MethodRow:
    """One row of the paper's tables: a method and model in one setting on one kind of set."""

    setting: Annotated[
        Setting, Field(description="Wording of the sets' questions: CQ_DT, CQ_UT or ICQ_DT.")
    ]
    init: Annotated[
        Source, Field(description="Source of the sets' facts: stored, shuffled or file.")
    ]
    n_specific: Annotated[int, Field(description="Number of specific facts of each set.")]
    model: Annotated[str, Field(description="Name of the model.")]
    method: Annotated[str, Field(description="Label of the row: method and strategy.")]
    strategy: Annotated[str, Field(description="Strategy of the protocol.")]
    editor: Annotated[
        str | None,
        Field(
            description="Editing method that the strategy wraps; null for a strategy without one."
        ),
    ]
    runs: Annotated[int, Field(description="Number of runs, the newest of each set.")]
    means: Annotated[
        Mapping[str, Mean], Field(description="Mean fractions from 0 to 1, by metric.")
    ]
    gains: Annotated[
        Mapping[str, Mean],
        Field(description="Mean differences to the wrapped editor, over the sets of both."),
    ]

    @property
    def facts(self) -> str:
        """Number and source of the sets' specific facts: `24 shuffled`."""
        return f"{self.n_specific} {self.init}"


class Report(BaseModel):
    """The paper's tables over the stored runs."""

    items: list[MethodRow] = Field(description="The items of this page, in order.")


SetId = Annotated[str, Field(min_length=1, max_length=300)]


class RunsIn(BaseModel):
    """Strategies to run on knowledge sets, with the defaults of `thinkeval lab depedit run`."""

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
    graph: Annotated[Name | None, Option(("--graph", "-g"))] = Field(
        default=None,
        description="Source of the sets (if `sets` is null), and of organism, sentences and facts;"
        " null: each set's own data set.",
    )
    strategies: Annotated[
        list[Name] | None,
        Option(
            ("--strategy", "-s"),
            help="Strategy, or EDITOR+STRATEGY; several may be given. Default: random, base,"
            " finetune, memit, and forwchain and backchain on both. There are also finetune_rule,"
            " mend, mend_imp and derive.",
        ),
    ] = Field(
        default=None,
        min_length=1,
        max_length=30,
        description="Strategies, or EDITOR+STRATEGY; null: random, base, finetune, memit, and"
        " forwchain and backchain on both.",
    )
    editor: Annotated[
        Name | None,
        Option(
            help="Editor that forwchain, backchain and derive wrap: finetune, memit, mend, any"
            " method that edits weights, or base for none."
        ),
    ] = Field(
        default=None,
        description="Editor of forwchain, backchain and derive without one in their names.",
    )
    model: Annotated[str, Field(min_length=1, max_length=400)] = Field(
        default="organism", description="One of `GET /v1/models`."
    )
    hparams: Annotated[
        Name | None,
        Option(help="Hyperparameter file, folder with one a method, or name of a shipped one."),
    ] = Field(
        default=None, description="Name of a shipped hyperparameter file; default: the model's."
    )
    overrides: Annotated[
        dict[Name, Scalar | list[Scalar]],
        Option(("--set",), help="One hyperparameter, as key=value."),
    ] = Field(
        default_factory=dict,
        max_length=50,
        description="Single hyperparameters to replace; paths of files are refused.",
    )
    covariance: Annotated[
        Literal["imported", "own-samples", "graph"] | None,
        Option(help="Source of the covariance statistics, as of `score`."),
    ] = Field(default=None, description="Covariance statistics, as of an edit.")
    chat: Literal["auto", "always", "never"] = Field(
        default="auto", description="Use the tokenizer's chat template: auto, always or never."
    )
    dtype: Literal["float32", "tf32", "bfloat16", "float16"] = Field(
        default="float32", description="Number format of the weights."
    )
    revision: Name | None = Field(default=None, description="Branch, tag or commit of a hub model.")
    seed: int = Field(default=0, ge=0, le=2**31 - 1, description="Seed of everything drawn.")
    force: bool = Field(default=False, description="Repeat stored runs.")


class ProtocolOut(Result):
    """The runs of strategies on knowledge sets, and the paper's tables over them."""

    model: str = Field(description="Short name of the model, as in the list of runs.")
    sets: list[str] = Field(description="Ids of the knowledge sets.")
    strategies: list[str] = Field(description="Names of the strategies.")
    runs: list[str] = Field(description="Ids of the runs, in order: `/v1/depedit/runs/{run}`.")
    methods: list[MethodRow] = Field(description="The rows of the paper's tables, one a method.")
