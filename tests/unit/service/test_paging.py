"""Cursors of paged lists."""

from __future__ import annotations

import pytest

from thinkeval.service.base import paging
from thinkeval.service.base.errors import UsageError


def test_an_offset_cursor_is_read_back() -> None:
    page, cursor = paging.offset_page("abcde", 0, 2)
    assert (page, cursor) == (["a", "b"], "2")
    page, cursor = paging.offset_page("abcde", paging.read_offset("4"), 2)
    assert (page, cursor) == (["e"], None)
    assert paging.offset_page("abcde", 3, None) == (["d", "e"], None)
    assert paging.read_offset(None) == 0


@pytest.mark.parametrize("cursor", ["", "-1", "1.0", "²", "1\n", "1" * 7])
def test_a_malformed_offset_is_refused(cursor: str) -> None:
    with pytest.raises(UsageError, match="is not a cursor"):
        paging.read_offset(cursor)
