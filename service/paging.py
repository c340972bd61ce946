"""Cursors of paged lists: decode, check, next page."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

from thinkeval.service.errors import UsageError

if TYPE_CHECKING:
    pass


MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?"
    r"(Z|[+-](0[0-9]|1[0-7]):[0-9]{2})"
)
"""What Neo4j writes for `toString(datetime())`."""


def read_cursor(cursor: str | None) -> tuple[str | None, str]:
    """The moment and the id after which a page begins; (None, "") for the first.

    Raises:
        UsageError: the cursor is not one of ours.
    """
    if cursor is None:
        return None, ""
    moment, tilde, edit = cursor.partition("~")
    if not (tilde and _is_moment(moment)):
        raise UsageError(
            f"{cursor!r} is not a cursor.", remedy="Give `next` of the page before, as it is."
        )
    return moment, edit


def _is_moment(text: str) -> bool:
    """Whether Neo4j reads it as a moment: Python alone takes more spellings of one."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return MOMENT.fullmatch(text) is not None


def offset_of(cursor: str | None) -> int:
    """Where a page begins.

    Raises:
        UsageError: the cursor is not one of ours.
    """
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
        raise UsageError(
            f"{cursor!r} is not a cursor.", remedy="Give `next` of the page before, as it is."
        )
    return int(cursor)
