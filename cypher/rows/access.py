"""Rows of `access/`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .base import Row

AccessRole = Literal["read", "post", "admin"]
"""Roles of tokens; each permits all that the ones before it do."""


@dataclass(frozen=True)
class TokenRow(Row):
    """A named token; `digest` is the SHA-256 of the token, which itself is not stored."""

    name: str
    role: AccessRole
    digest: str
    created_at: str
