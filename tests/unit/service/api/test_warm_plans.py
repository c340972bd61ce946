"""The plans that the service makes when it starts: of queries as the web UI sends them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from thinkeval.cypher import rows
from thinkeval.cypher.metric_options import headlines
from thinkeval.service.base.settings import Settings
from thinkeval.service.web.state import Connection


class Recorded:
    """A database that records its queries and returns no rows."""

    def __init__(self) -> None:
        self.read_rows: list[tuple[str, dict[str, Any]]] = []
        self.read_metrics: list[tuple[str, ...]] = []

    def read(self, row_type: type[rows.Row], name: str, /, **params: Any) -> list[rows.Row]:
        self.read_rows.append((name, params))
        return []

    def metrics(self, names: Iterable[str], **options: Any) -> dict[str, list[rows.MetricRow]]:
        self.read_metrics.append(tuple(names))
        return {}


@pytest.fixture
def warmed() -> Recorded:
    recorded = Recorded()
    Connection(Settings())._warm(recorded)
    return recorded


def test_chains_are_planned_with_the_types_that_an_edit_has(warmed: Recorded) -> None:
    assert [name for name, _ in warmed.read_rows] == ["chains/scored", "chains/leakage"]
    for _, params in warmed.read_rows:
        assert params["rewrite"] is None  # as service.scoring.metrics sends it
        # A plan is kept for the magnitude of a text's length, too.
        assert 10 < len(params["graph"]) <= 100
        assert 10 < len(params["relation"]) <= 100


def test_the_metrics_of_every_table_are_planned(warmed: Recorded) -> None:
    assert warmed.read_metrics == [("chains_by_steps", *headlines())]
