"""What /v1/depedit says about knowledge sets: as asked for, built, imported and shown."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Path as PathParam
from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from thinkeval.service.edit_schemas import Name

Setting = Literal["CQ_DT", "CQ_UT", "ICQ_DT"]
Id = Annotated[str, PathParam(min_length=1, max_length=300)]
Of = Annotated[Name | None, Query(description="Only of sets that were built from this graph.")]
InitOfSet = Annotated[
    Literal["stored", "shuffled", "file"],
    Field(description="Facts as the graph has them, shuffled among their subjects, or a file's."),
]
In = Annotated[Setting | None, Query(description="Only of sets in this setting.")]


Limit = Annotated[int, Query(ge=1, le=5000, description="Items of a page.")]
Cursor = Annotated[
    str | None, Query(max_length=500, description="`next` of the page before; none: the first.")
]
MANY = 1000
"""Items of a page where nobody says how many."""


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
