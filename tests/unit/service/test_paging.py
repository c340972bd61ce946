"""Cursors of paged lists."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from thinkeval.service.base import paging
from thinkeval.service.base.errors import UsageError


@dataclass(frozen=True)
class Item:
    """An item of a dated list."""

    id: str
    created_at: str


ITEMS = [Item(f"e~{n}", f"2026-01-0{n}T00:00:00.123Z") for n in (1, 2, 3)]


def test_a_time_cursor_is_read_back() -> None:
    page, cursor = paging.time_page(ITEMS, 2)
    assert page == ITEMS[:2]
    assert cursor == "2026-01-02T00:00:00.123Z~e~2"
    assert paging.read_time_cursor(cursor) == (page[-1].created_at, page[-1].id)
    assert paging.time_page(ITEMS, 3) == (ITEMS, None)
    assert paging.time_page([], 3) == ([], None)
    assert paging.read_time_cursor(None) == (None, "")


@pytest.mark.parametrize("cursor", ["", "x", "~", "2026-01-01~e", "2026-13-01T00:00:00Z~e"])
def test_a_malformed_time_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(UsageError, match="is not a cursor"):
        paging.read_time_cursor(cursor)


def test_an_offset_cursor_is_read_back() -> None:
    page, cursor = paging.offset_page("abcde", 0, 2)
    assert (page, cursor) == (["a", "b"], "2")
    page, cursor = paging.offset_page("abcde", paging.read_offset("4"), 2)
    assert (page, cursor) == (["e"], None)
    assert paging.offset_page("abcde", 3, None) == (["d", "e"], None)
    assert paging.read_offset(None) == 0


@pytest.mark.parametrize("cursor", ["", "-1", "1.0", "²", "1" * 10])
def test_a_malformed_offset_is_refused(cursor: str) -> None:
    with pytest.raises(UsageError, match="is not a cursor"):
        paging.read_offset(cursor)
