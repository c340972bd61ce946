"""Lines with lines below them, such as proofs; a terminal draws them as a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .formats import Table

QUIET, BAD, GOOD, NAME, STRONG, RULE = "dim", "bold red", "green", "blue", "bold", "italic dim"
"""Styles of phrases."""

Phrase = tuple[str, str]
"""A part of a line and its style, which may be ""."""


@dataclass(frozen=True, slots=True)
class Outline:
    """A line, and the lines below it."""

    phrases: Sequence[Phrase]
    below: Sequence[Outline] = ()


Shown = Table[Any] | Outline | str
"""Parts of an answer for a person; a text is a sentence."""
