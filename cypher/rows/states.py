"""Rows of `states/`."""

from __future__ import annotations

from dataclasses import dataclass

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
    """A fact of a chain, with its probability in base, edited model and later state."""

    subject: str
    relation: str
    object: str
    prompt: str
    base: float
    edited: float
    later: float


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
