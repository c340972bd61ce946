"""JSON text to values, without what Python's reader does silently or with an error of its own.

A repeated key would silently lose all values but the last; a number of thousands of digits raises
a plain ValueError. Both are a `JsonValueError` here, with the problem in words.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from thinkeval.loaders.texts import quoted


class JsonValueError(Exception):
    """The text is JSON, but a value in it cannot be used.

    Attributes:
        where: the key or number.
        problem: what is wrong with it.
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
    """The number that the digits write.

    Raises:
        JsonValueError: it has more digits than Python converts (4,300 unless configured).
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
"""Reads a value; raises JsonValueError for one that cannot be used."""

SKIPPER = json.JSONDecoder(parse_int=len)
"""Finds the end of any JSON value; what it returns is not to be used."""
