"""What the tables of all pages share: their type, columns of numbers, and numbers as stored.

A column has a title and, where its cells are numbers, their digits; a cell is a text, a number,
[number, low, high] of a 95 % interval, or None where it is undefined.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

Made = tuple[list[dict[str, Any]], list[list[Any]]]
Stored = Mapping[str, Any]
"""Columns and rows of a table."""


def numbers(titles: Iterable[str], digits: int = 3) -> list[dict[str, Any]]:
    """Columns of numbers."""
    return [{"title": title, "digits": digits} for title in titles]


def rounded(value: Any, digits: int = 6) -> Any:
    """A number as it is stored; undefined (None, NaN) is None.

    With more digits than a page shows, as what is rounded twice may be off by one.
    """
    if isinstance(value, list | tuple):
        return [rounded(each, digits) for each in value]
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return value if isinstance(value, str) else round(value, digits)
