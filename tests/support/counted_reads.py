"""Count of a block's reads of queries, by name: for tests that limit look-ups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

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
