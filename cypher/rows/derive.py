"""Rows of `depedit/derive`."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Row


@dataclass(frozen=True)
class DeriveRow(Row):
    """A conclusion with the subjects of its premises; `fact` is the position of the new one."""

    fact: int
    subject: str
    object: str
    first: str
    second: str
