"""Cursors of paged lists: encode, decode, next page.

Two kinds of cursor exist. Lists that grow while they are read (edits, jobs, runs) continue after
the creation time and id of the last item; lists that are computed as a whole (chains, rewrites)
continue at an offset.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from .errors import UsageError


class Dated(Protocol):
    """A stored item with an id and the time at which it was created."""

    @property
    def id(self) -> str:
        """Identifier, unique in the list."""
        ...

    @property
    def created_at(self) -> str:
        """ISO 8601 time, as `toString(datetime())` prints it."""
        ...


DatedItem = TypeVar("DatedItem", bound=Dated)
Item = TypeVar("Item")

LIMIT = "Number of items of a page."
CURSOR = "`next` of the preceding page; null for the first."

TIMESTAMP = re.compile(
    r"[1-9][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    r"T([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,9})?)?"
    r"(Z|[+-](0[0-9]|1[0-7]):[0-9]{2})"
)
"""Pattern of Neo4j's `toString(datetime())`."""

SEPARATOR = "~"


def time_cursor(last: Dated) -> str:
    """The cursor of the items after this one."""
    return f"{last.created_at}{SEPARATOR}{last.id}"


def read_time_cursor(cursor: str | None) -> tuple[str | None, str]:
    """The creation time and id after which a page begins; (None, "") for the first page.

    Raises:
        UsageError: the cursor is malformed.
    """
    if cursor is None:
        return None, ""
    created_at, separator, id = cursor.partition(SEPARATOR)
    if not (separator and _is_timestamp(created_at)):
        raise _malformed(cursor)
    return created_at, id


def time_page(found: Sequence[DatedItem], limit: int) -> tuple[list[DatedItem], str | None]:
    """Split a query result into one page and the cursor of the next one, None on the last page.

    Args:
        found: rows of a query that was given `limit + 1` as its limit.
    """
    page = list(found[:limit])
    return page, time_cursor(page[-1]) if len(found) > limit else None


def read_offset(cursor: str | None) -> int:
    """The offset at which a page begins; 0 for the first page.

    Raises:
        UsageError: the cursor is malformed.
    """
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
        raise _malformed(cursor)
    return int(cursor)


def offset_page(
    found: Sequence[Item], start: int, limit: int | None
) -> tuple[list[Item], str | None]:
    """The items from `start` on, and the cursor of the next page, None on the last page.

    Args:
        limit: number of items; None: all.
    """
    end = len(found) if limit is None else start + limit
    return list(found[start:end]), str(end) if end < len(found) else None


def _malformed(cursor: str) -> UsageError:
    return UsageError(
        f"{cursor!r} is not a cursor.", remedy="Give `next` of the previous page unchanged."
    )


def _is_timestamp(text: str) -> bool:
    """Return True if Neo4j parses the text as a time; Python alone accepts more spellings."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return TIMESTAMP.fullmatch(text) is not None
