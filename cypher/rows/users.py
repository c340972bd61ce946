"""Rows of the administration commands in `schema/`: they return no rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .base import Row


@dataclass(frozen=True)
class CreateUserRow(Row):
    """Create a user of the server."""

    QUERY: ClassVar[str] = "schema/create_user"


@dataclass(frozen=True)
class GrantReaderRow(Row):
    """Restrict a user to reading."""

    QUERY: ClassVar[str] = "schema/grant_reader"
