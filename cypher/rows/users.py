"""Rows of the administration commands in `schema/`: they return none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from thinkeval.cypher.rows.base import Row


@dataclass(frozen=True)
class CreateUserRow(Row):
    """Create a user of the server."""

    QUERY: ClassVar[str] = "schema/create_user"


@dataclass(frozen=True)
class GrantReaderRow(Row):
    """Make a user one who only reads."""

    QUERY: ClassVar[str] = "schema/grant_reader"
