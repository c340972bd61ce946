"""What /v1/depedit says about runs of the protocol, and the tables over them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from thinkeval.service.depedit.schemas import InitOfSet, Setting


class ShareOut(BaseModel):
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

    metrics: dict[str, ShareOut]
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
