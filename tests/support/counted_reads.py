"""Count of a block's reads: queries by name, or rows that the server returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from thinkeval.cypher.rows.base import Reader
from thinkeval.cypher.run import Database


@contextmanager
def counted_reads(graph: str) -> Iterator[Counter[str]]:
    """Reads about one graph while the block runs, by the name of the query."""
    counts: Counter[str] = Counter()
    read = Database.read

    def counted(self: Database, row: Any, name: str, /, **params: Any) -> Any:
        if graph in (params.get("graph"), params.get("dataset")):
            counts[name] += 1
        return read(self, row, name, **params)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Database, "read", counted)
        yield counts


@contextmanager
def counted_rows() -> Iterator[Counter[str]]:
    """Rows that are received while the block runs, by the name of the query."""
    counts: Counter[str] = Counter()
    row = Reader.row

    def counted(self: Reader[Any], values: list[Any]) -> Any:
        counts[self.name] += 1
        return row(self, values)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Reader, "row", counted)
        yield counts
