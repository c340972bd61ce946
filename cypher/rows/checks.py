"""Row types of cypher/checks: both models' answers to the questions of a data set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from .base import Row


class CheckedAnswer(BaseModel):
    """A question of a data set, and the answers to it."""

    prompt: str = Field(description="The question.")
    accepted: str | None = Field(description="The canonical accepted answer.")
    before: str = Field(description="The answer before the edit.")
    after: str = Field(description="The answer after it.")


class CheckCounts(BaseModel):
    """One criterion of a data set: fractions of its items, before an edit (`_pre`) and after it."""

    criterion: str = Field(
        description="The paper's name: `multi_hop`, `Compositionality_I`, `portability/Reasoning`."
    )
    items: int = Field(description="Items: a question, or a group of questions that count as one.")
    left_out: int = Field(
        description="Further items that are not counted, as the unedited model did not meet their"
        " conditions."
    )
    right_pre: float | None = Field(
        description="Fraction of items with an accepted answer before the edit; null without any."
    )
    n_pre: int = Field(description="Items that it is over: those that are decided.")
    right: float | None = Field(description="Fraction of items with an accepted answer after it.")
    n: int = Field(description="Items that it is over: those that are decided.")
    old_pre: float | None = Field(
        description="Fraction of items with an answer that was right before the edit, then; null"
        " where the file has no such answers."
    )
    n_old_pre: int = Field(description="Items that it is over.")
    old: float | None = Field(
        description="Fraction of items that still have, after the edit, an answer of before it."
    )
    n_old: int = Field(description="Items that it is over.")
    stated_pre: float | None = Field(
        description="Mean result before the edit that the file itself states; null if it does not."
    )
    stated: float | None = Field(description="Mean result after the edit that the file states.")
    n_stated: int = Field(description="Questions with a stated result after the edit.")
    answers: list[CheckedAnswer] = Field(default=[], description="Up to three of the answers.")


@dataclass(frozen=True)
class CheckMeansRow(Row):
    """A criterion over the edits of a row of a table: means over its units.

    Attributes:
        units: edits, or sets of edits with the same questions, that have items.
        items: items of all units that count.
        n: units with a decided item after the edit.
        values: of each of them, its first edit and its fraction (`edit`, `right`).
    """

    of: str
    criterion: str
    units: int
    items: int
    left_out: int
    right_pre: float | None
    n_pre: int
    right: float | None
    n: int
    old_pre: float | None
    old: float | None
    n_old: int
    stated_pre: float | None
    stated: float | None
    n_stated: int
    values: list[dict[str, Any]]


@dataclass(frozen=True)
class EditWiseRow(Row):
    """MQuAKE's edit-wise success over the edits of a row of a table; `values` as above."""

    of: str
    units: int
    right_pre: float | None
    n_pre: int
    right: float | None
    n: int
    values: list[dict[str, Any]]


@dataclass(frozen=True)
class TruthRatiosRow(Row):
    """Truth ratios of the questions of a row of a table that have both.

    Attributes:
        asked: questions that ask for a truth ratio.
        distance: Kolmogorov-Smirnov distance of the two lists; None where they are empty.
    """

    of: str
    asked: int
    n: int
    pre: list[float]
    post: list[float]
    distance: float | None
