"""JSON decoder that refuses repeated keys and numbers with thousands of digits.

Python's decoder silently drops all but the last value of a repeated key, and raises a plain
ValueError for such a number. Both are a `JsonValueError` here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from ..texts import quoted


class JsonValueError(Exception):
    """The text is JSON, but a value in it cannot be used.

    Attributes:
        where: the key or number.
        problem: description of the defect.
    """

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where}: {problem}")
        self.where, self.problem = where, problem


def first_repeated(keys: Iterable[str]) -> str | None:
    """The first key that occurs a second time, found in one pass; None if all differ."""
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            return key
        seen.add(key)
    return None


def whole_number(digits: str) -> int:
    """The integer with these digits.

    Raises:
        JsonValueError: there are more digits than Python converts (4,300 by default).
    """
    try:
        return int(digits)
    except ValueError as error:
        raise JsonValueError(
            f"number {digits[:12]}…",
            f"has {len(digits):,} digits, too many for a number; shorten it",
        ) from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        repeated = first_repeated(key for key, _ in pairs)
        raise JsonValueError(f"key {quoted(repeated)}", "occurs twice in one object")
    return result


DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=whole_number)
"""Decodes a value; raises JsonValueError if it cannot be used."""

SKIPPER = json.JSONDecoder(parse_int=len)
"""Finds the end of any JSON value; the value it returns must not be used."""
