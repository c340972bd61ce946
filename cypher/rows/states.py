"""Rows of `states/`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from .base import Row


@dataclass(frozen=True)
class DriftRow(Row):
    """How far two states differ on the facts of one relation at one distance.

    Attributes:
        distance: facts between a subject and the nearest end, 3 for three and more; None without
            subjects.
        n: facts with both probabilities; `missing`: those that lack one.
        moved, shift: sums of |p_post - p_pre| and of p_post - p_pre.
    """

    relation: str
    distance: int | None
    n: int
    missing: int
    kept: int
    weakened: int
    removed: int
    added: int
    unknown: int
    moved: float
    shift: float


@dataclass(frozen=True)
class RoutesRow(Row):
    """The chains of one rewrite that lead to the old object in each of two states."""

    id: str
    chains: int
    missing: int
    before: int
    after: int
    opened: int
    closed: int


@dataclass(frozen=True)
class RevivedLink:
    """A fact of a chain, with its probability in the base, the first state and a later one."""

    subject: Annotated[str, Field(description="Subject of the fact.")]
    relation: Annotated[str, Field(description="Relation of the fact.")]
    object: Annotated[str, Field(description="Object of the fact.")]
    prompt: Annotated[str, Field(description="The fact's cloze, with `{}` for the subject.")]
    base: Annotated[float, Field(description="Probability in the base.")]
    edited: Annotated[float, Field(description="Probability in the first state.")]
    later: Annotated[float, Field(description="Probability in this state.")]


@dataclass(frozen=True)
class RevivedRow(Row):
    """The chains that an edit closed, and the strongest that is open again in a later state."""

    closed: int
    opened: int
    missing: int
    entities: tuple[str, ...]
    r_base: float | None
    r_edited: float | None
    r_later: float | None
    links: tuple[RevivedLink, ...]
