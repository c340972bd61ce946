"""Rows of `depedit/derive`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .base import Row


@dataclass(frozen=True)
class DeriveRow(Row):
    """A conclusion with the subjects of its premises; `fact` is the position of the new one."""

    QUERY: ClassVar[str] = "depedit/derive"
    fact: int
    subject: str
    object: str
    first: str
    second: str
