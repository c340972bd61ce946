"""The leaves of some JSON, each with its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """(place, value) of each value that is neither an object nor a list, nor null."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from leaves(each, f"{place}/{name}")
    elif isinstance(value, list):
        for i, each in enumerate(value):
            yield from leaves(each, f"{place}/{i}")
    elif value is not None:
        yield place, value
