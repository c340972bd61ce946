"""The values of several metrics: which queries are sent, and what if that of all is stopped."""

from __future__ import annotations

from typing import Any

import pytest

from thinkeval.cypher.catalog import Query, over_chains
from thinkeval.cypher.errors import GraphError, QueryTimeoutError, QueryTooLargeError
from thinkeval.cypher.metric_values import values_of
from thinkeval.cypher.rows import ChainMetricRow, MetricRow, Row

CASES = [
    {
        "id": "case", "graph": "g", "subject": "s", "object": "o", "relation": None,
        "rewrite": None,
    }
]  # fmt: skip


class Server:
    """Answers each metric by a row; refuses the query of all metrics over chains, if asked to."""

    def __init__(self, refusal: GraphError | None = None) -> None:
        self.refusal = refusal
        self.sent: list[str] = []

    def __call__(self, found: Query, row_type: type[Row], sent: dict[str, Any]) -> list[Any]:
        self.sent.append(found.name)
        if found.name != "chains/metrics":
            return [MetricRow("case", None, 1.0, 3, 0)]
        if self.refusal:
            raise self.refusal
        return [ChainMetricRow("case", None, 2.0, 3, 0, name) for name in sorted(sent["metrics"])]


def unread(row_type: type[Row], name: str, **params: Any) -> list[Any]:
    raise AssertionError(f"{name} is read only where a value is missing: {params}")


def test_several_metrics_over_chains_are_one_query_and_one_is_its_own() -> None:
    server = Server()
    found = values_of(server, unread, ["ifr", "efficacy", "deep_edited"], {"cases": CASES})
    assert server.sent == ["chains/metrics", "metrics/efficacy"]
    assert {name: row.value for name, (row,) in found.items()} == {
        "ifr": 2.0, "efficacy": 1.0, "deep_edited": 2.0,
    }  # fmt: skip
    alone = Server()
    assert list(values_of(alone, unread, ["metrics/ifr", "efficacy"], {"cases": CASES})) == [
        "ifr", "efficacy",
    ]  # fmt: skip
    assert alone.sent == ["metrics/ifr", "metrics/efficacy"]


@pytest.mark.parametrize("refusal", [QueryTooLargeError("x"), QueryTimeoutError("x")], ids=type)
def test_where_the_query_of_all_is_stopped_each_is_read_by_its_own(refusal: GraphError) -> None:
    server = Server(refusal)
    found = values_of(server, unread, over_chains(), {"cases": CASES})
    assert server.sent == ["chains/metrics", *over_chains()]
    assert [row.value for (row,) in found.values()] == [1.0] * len(over_chains())
