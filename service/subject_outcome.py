"""Known facts about an edited subject: kept, following the new object, or lost."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field


class SubjectFactOut(BaseModel):
    """A fact about the subject that the model knew, by likelihood."""

    relation: str = Field(description="Relation of the fact.")
    object: str = Field(description="Object of the fact.")
    pre: float = Field(description="Probability of the object before the edit.")
    post: float = Field(description="Probability of the object after the edit.")
    outcome: Literal["kept", "followed", "lost"] = Field(
        description="Kept (post is at least half of pre), followed (the answer follows from the"
        " new object), or lost."
    )
    answer: str | None = Field(
        default=None,
        description="Likeliest object of the relation after the edit; null where the fact is kept.",
    )
    answer_likelihood: float | None = Field(default=None, description="Probability of `answer`.")


class SubjectOutcome(BaseModel):
    """The known facts about the subject, without those of the edited relation, by outcome."""

    kept: int | None = Field(
        description="Number of facts that are kept; null without a known fact."
    )
    followed: int | None = Field(
        description="Number of facts whose answer follows the new object; null without a known"
        " fact, and where the fact is forgotten, as there is no new object."
    )
    lost: int | None = Field(
        description="Number of facts that are lost; null without a known fact."
    )
    n: int = Field(description="Facts that the model knew before the edit.")
    excluded: int = Field(description="Facts left out, as it did not know them.")
    reason: str | None = Field(default=None, description="Why the counts are undefined; else null.")
    facts: list[SubjectFactOut] = Field(
        default=[], description="The known facts, by relation and object."
    )
