"""Rows of `diffs/`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .base import Row


@dataclass(frozen=True)
class DiffFactRow(Row):
    """One fact of two edit graphs, before (`pre`) and after (`post`) each edit.

    Attributes:
        in_a, in_b: whether each graph has the fact; values of a graph without it are None.
        flipped: both have it, and the edits leave it in different states.
    """

    PROBABILITIES: ClassVar[frozenset[str]] = frozenset({"flipped"})
    subject: str
    relation: str
    object: str
    prompt: str
    role: str
    in_a: bool
    in_b: bool
    flipped: bool
    pre_a: float | None
    post_a: float | None
    change_a: str | None
    pre_b: float | None
    post_b: float | None
    change_b: str | None
