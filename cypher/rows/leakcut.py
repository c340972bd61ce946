"""Rows of `leakcut/`."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, Field

from .base import Row


@dataclass(frozen=True)
class LeakPathRow(Row):
    """One path of a rewrite.

    Attributes:
        facts: ids of its facts within the data set.
        r_pre, r_post: products of their probabilities; None where one has none.
        facts_known: whether the model knew each of them before; None where one has none.
        counted: whether IFR reads its chain by these facts.
    """

    entities: tuple[str, ...]
    facts: tuple[str, ...]
    r_pre: float | None
    r_post: float | None
    facts_known: bool | None
    counted: bool


@dataclass(frozen=True)
class SafeObjectsRow(Row):
    """Objects that a fact may get in a co-edit, and those from which a chain would open."""

    place: int
    safe: tuple[str, ...]
    refused: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CoEditedFact:
    """A co-edit's fact with its old and its new object, before and after."""

    fact: str
    old_pre: float | None
    old_post: float | None
    new_pre: float | None
    new_post: float | None


class Retention(BaseModel):
    """Retention of facts that a round of co-edits did not edit; null where there is none."""

    subject_retention: float | None = Field(
        description="Retention of the facts about the subject that were not edited."
    )
    n_subject_retention: int = Field(
        description="Number of facts that subject retention is taken over."
    )
    coedited_retention: float | None = Field(
        default=None,
        description="Retention of all other facts about the co-edited subjects; null without any.",
    )
    n_coedited_retention: int = Field(
        default=0, description="Number of facts that it is taken over."
    )


class CoEditRoundRow(Retention):
    """The cost of a round of co-edits, over facts that were not edited."""

    preservation: float | None
    n_preservation: int
    coedits: tuple[CoEditedFact, ...]


@dataclass(frozen=True)
class HarmlessEntityRow(Row):
    """An entity from which the old object cannot be reached."""

    name: str
    kind: str | None
    facts: int


@dataclass(frozen=True)
class MeasuredKeyRow(Row):
    """A measured key with the facts that share it."""

    name: str
    facts: tuple[str, ...]
