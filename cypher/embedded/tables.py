"""Tables of nodes and relationships as CSV, as Neo4j's importer reads them.

A null is an empty field, a text is always in quotes. The importer leaves an empty list out, and has
no way to write an empty text within a list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import ParameterError

BETWEEN = "\x1f"
"""The character between the entries of a list."""


def write(
    path: Path, ends: Sequence[str], types: Mapping[str, str], rows: Iterable[Sequence[Any]]
) -> None:
    """Write a table.

    Args:
        ends: the first columns: `:ID`, or `:START_ID` and `:END_ID`, whose values are integers.
            Nodes are numbered 0, 1, ... in the order of their rows.
        types: of the properties, the further columns: `string`, `string[]`, `boolean`; or
            `:LABEL` or `:TYPE` with the type `string`.
        rows: the values of each row, in the order of the columns.

    Raises:
        ParameterError: a text in a list is empty or has the character BETWEEN.
    """
    names = [name if name.startswith(":") else f"{name}:{of}" for name, of in types.items()]
    written = [str] * len(ends) + [_WRITTEN[of] for of in types.values()]
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join([*ends, *names]) + "\n")
        for row in rows:
            file.write(",".join([as_(value) for as_, value in zip(written, row, strict=True)]))
            file.write("\n")


def _text(value: str | None) -> str:
    return "" if value is None else '"' + value.replace('"', '""') + '"'


def _list(values: Sequence[str] | None) -> str:
    if not values:
        return ""
    text = BETWEEN.join(values)
    if "" in values or text.count(BETWEEN) != len(values) - 1:
        raise ParameterError(
            f"The list {list(values)!r:.80} has an empty text or the character U+001F, which"
            " Neo4j's importer cannot read.",
            remedy="Import without --offline.",
        )
    return _text(text)


def _boolean(value: bool | None) -> str:
    return "" if value is None else str(value).lower()


_WRITTEN: dict[str, Callable[[Any], str]] = {
    "string": _text,
    "string[]": _list,
    "boolean": _boolean,
}
