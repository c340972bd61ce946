"""Cursors of paged lists, which are offsets: decode, next page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from .errors import UsageError

Item = TypeVar("Item")

LIMIT = "Number of items of a page."
CURSOR = "`next` of the preceding page; null for the first."
OFFSET = r"^[0-9]{1,6}$"
"""Pattern of a cursor: below the most rows that a query leaves out."""


def read_offset(cursor: str | None) -> int:
    """The offset at which a page begins; 0 for the first page.

    Raises:
        UsageError: the cursor is malformed.
    """
    if cursor is None:
        return 0
    if not re.fullmatch(OFFSET, cursor):
        raise UsageError(
            f"{cursor!r} is not a cursor.", remedy="Give `next` of the previous page unchanged."
        )
    return int(cursor)


def next_offset(end: int, total: int) -> str | None:
    """The cursor of the items from `end` on; None after the last item."""
    return str(end) if end < total else None


def offset_page(
    found: Sequence[Item], start: int, limit: int | None
) -> tuple[list[Item], str | None]:
    """The items from `start` on, and the cursor of the next page, None on the last page.

    Args:
        limit: number of items; None: all.
    """
    end = len(found) if limit is None else start + limit
    return list(found[start:end]), next_offset(end, len(found))


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """One page of a list on a web page; `total` is the number of items on all pages."""

    items: Sequence[Item]
    number: int
    pages: int
    total: int


def page_of(found: Sequence[Item], number: int, size: int) -> Page[Item]:
    """Return a page of `size` items, from 1; the last one for a larger number."""
    pages = max(1, -(-len(found) // size))
    number = min(number, pages)
    return Page(found[(number - 1) * size : number * size], number, pages, len(found))
