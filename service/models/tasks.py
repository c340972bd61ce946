"""Tasks of lm-eval before and after a change of a model."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field


class TaskOut(BaseModel):
    """One metric of one task, before and after, paired over the documents."""

    task: str = Field(description="Name of the task.")
    metric: str = Field(description="Name of the metric; with its filter where the task has one.")
    n: int = Field(description="Documents that were asked, the first ones of the task.")
    before: float = Field(description="Value of the metric before, as lm-eval aggregates it.")
    after: float | None = Field(description="Value after; null where it was not asked.")
    difference: float | None = Field(description="After − before; null where there is no after.")
    low: float | None = Field(
        default=None,
        description="Lower end of the 95 % interval of the difference: paired t over the documents;"
        " where the answers to no document flip, Wilson's interval of the fraction that flips.",
    )
    high: float | None = Field(default=None, description="Upper end likewise.")
    rose: int | None = Field(default=None, description="Documents whose value rose.")
    fell: int | None = Field(default=None, description="Documents whose value fell.")
    p: float | None = Field(default=None, description="Two-sided p of no difference, by `test`.")
    p_adjusted: float | None = Field(
        default=None, description="By Holm, over all tasks and metrics of the request."
    )
    test: Literal["McNemar", "paired t"] | None = Field(
        default=None, description="McNemar's exact test where each value is 0 or 1; else paired t."
    )
    higher_is_better: bool | None = Field(
        default=None, description="The direction of the metric; null where the task names none."
    )
    reason: str | None = Field(default=None, description="Why an interval is null; else null.")
