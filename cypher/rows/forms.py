"""Row types of cypher/forms: a model's answers in forms of asking, before and after an edit."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, Field

from .base import Row


@dataclass(frozen=True)
class FormAccuracyRow(Row):
    """Means over the units of one form that count; `asked` is the number of all units.

    Attributes:
        n: units whose facts are known; `accuracy` is over those that are decided.
        likely: units whose right object has the given probability or more.
        undecided: units whose answer is neither right nor wrong.
        length: mean tokens of a written answer.
    """

    protocol: str
    form: str
    asked: int
    n: int
    accuracy: float | None
    chance: float | None
    p: float | None
    margin: float | None
    further: float | None
    likely: int
    undecided: int
    length: float | None


class RawAnswer(BaseModel):
    """An answer that a model wrote in a form, before and after an edit."""

    subject: str = Field(description="Subject of the fact that was asked.")
    before: str | None = Field(description="The answer before the edit.")
    after: str = Field(description="The answer after it.")


class FormCounts(BaseModel):
    """Means over the units of one form, before an edit (`_pre`) and after it."""

    form: str = Field(description="Form and variant, such as `question/3-shot`.")
    protocol: str = Field(
        description="Form, examples, scoring and version; figures of different protocol ids are"
        " not comparable."
    )
    n: int = Field(
        description="Times the edited fact is asked: 1, or the number of chains for `composed`."
    )
    excluded: int = Field(
        description="Those left out, as the model did not know a fact by its cloze (.2)."
    )
    p_new_pre: float | None = Field(description="Probability of the new object before the edit.")
    p_new: float | None = Field(
        description="Probability of the new object; null where the form is not measurable, or only"
        " by rank."
    )
    p_old_pre: float | None = Field(description="Probability of the old object before the edit.")
    p_old: float | None = Field(description="Probability of the old object; null as `p_new`.")
    margin_pre: float | None = Field(description="ln P(new) − ln P(old) before the edit.")
    margin: float | None = Field(
        description="ln P(new) − ln P(old); null where the form is not measurable."
    )
    wins_pre: float | None = Field(
        description="Fraction in which the new object was the likeliest option before the edit."
    )
    wins: float | None = Field(
        description="Fraction in which the new object is the likeliest option; null where the form"
        " is not measurable."
    )
    further_pre: float | None = Field(description="The form's further number before the edit.")
    further: float | None = Field(description="The form's further number; see `further_is`.")
    facts: int = Field(
        description="Other facts that are asked: of the subject, and on the edit's chains."
    )
    right_pre: float | None = Field(
        description="Fraction of them whose object was the likeliest option before the edit."
    )
    right: float | None = Field(
        description="Fraction of them whose object is the likeliest option."
    )
    p_pre: float | None = Field(description="Mean probability of their objects before the edit.")
    p: float | None = Field(description="Mean probability of their objects.")
    undecided_pre: int = Field(
        default=0,
        description="Units of the other facts whose answer was undecided before the edit; they are"
        " not in `right_pre`.",
    )
    undecided: int = Field(
        default=0, description="Units of the other facts whose answer is undecided."
    )
    answers: list[RawAnswer] = Field(
        default=[], description="Up to three written answers, that of the edited fact first."
    )
