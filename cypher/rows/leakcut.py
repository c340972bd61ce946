"""Rows of `leakcut/`."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Row


@dataclass(frozen=True)
class LeakPathRow(Row):
    """One path of a rewrite.

    Attributes:
        facts: ids of its facts within the data set.
        r_pre, r_post: products of their probabilities; None where one has none.
        counted: whether IFR reads its chain by these facts.
    """

    entities: tuple[str, ...]
    facts: tuple[str, ...]
    r_pre: float | None
    r_post: float | None
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


@dataclass(frozen=True)
class CoEditRoundRow(Row):
    """What a round of co-edits cost, over facts that were not edited; None where there is none."""

    preservation: float | None
    n_preservation: int
    subject_retention: float | None
    n_subject_retention: int
    coedited_retention: float | None
    n_coedited_retention: int
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
