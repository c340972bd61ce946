"""Known facts about an edited subject: kept, following the new object, or lost."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel


class SubjectFactOut(BaseModel):
    """A fact about the subject that the model knew, by likelihood.

    Attributes:
        pre, post: probability of the object before and after the edit.
        outcome: kept (post is at least half of pre), followed (the answer follows from the new
            object), or lost.
        answer: likeliest object of the relation after the edit; None where the fact is kept.
        answer_likelihood: its probability.
    """

    relation: str
    object: str
    pre: float
    post: float
    outcome: Literal["kept", "followed", "lost"]
    answer: str | None = None
    answer_likelihood: float | None = None


class SubjectOutcome(BaseModel):
    """The known facts about the subject, without those of the edited relation, by outcome.

    Attributes:
        kept, lost: numbers of facts; None without a known fact.
        followed: the same; None also where the fact is forgotten, as there is no new object.
        n: facts that the model knew before the edit.
        excluded: facts left out, as it did not know them.
        reason: why the counts are undefined; else None.
    """

    kept: int | None
    followed: int | None
    lost: int | None
    n: int
    excluded: int
    reason: str | None = None
    facts: list[SubjectFactOut] = []
