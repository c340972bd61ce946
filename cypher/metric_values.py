"""Reads the values of metrics: those over chains by one query, each of the others by its own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol, TypeVar

from .catalog import Query, over_chains, query
from .errors import (
    MissingProbabilityError,
    ParameterError,
    QueryTimeoutError,
    QueryTooLargeError,
    UnknownGraphError,
)
from .metric_options import metric_named, options_of
from .params import bind
from .rows import ChainMetricRow, GraphRow, MetricRow, MissingRow

RowT = TypeVar("RowT")


class Send(Protocol):
    """Sends a query with checked parameters, and returns its rows."""

    def __call__(self, found: Query, row_type: type[RowT], sent: dict[str, Any], /) -> list[RowT]:
        """The rows of the query."""
        ...


Read = Callable[..., list[Any]]
"""The rows of a query by their type and its name, as `Database.read` gives them."""


def values_of(
    send: Send, read: Read, metrics: Iterable[str], options: Mapping[str, Any]
) -> dict[str, list[MetricRow]]:
    """The rows of each metric, by its name such as `ifr`; see `Database.metrics`."""
    asked = {found.name: found for found in map(metric_named, metrics)}
    sent = {name: bind(found, options_of(found, options)) for name, found in asked.items()}
    cases: Sequence[Mapping[str, Any]] = next(iter(sent.values()))["cases"] if sent else []
    if len({case["id"] for case in cases}) < len(cases):
        raise ParameterError(f"{next(iter(sent))}: two of the $cases have the same id.")
    together = [name for name in asked if name in over_chains()]
    rows: dict[str, list[MetricRow]] = {}
    if len(together) > 1:
        # Each by its own query needs less memory and less time at once.
        with suppress(QueryTooLargeError, QueryTimeoutError):
            rows = _of_chains(send, read, together, options)
    for name, found in asked.items():
        if name not in rows:
            with _counted(read, sent[name]):
                rows[name] = send(found, MetricRow, sent[name])
    _require_graphs(read, itertools.chain.from_iterable(rows.values()), cases)
    return {name.removeprefix("metrics/"): _in_order(rows[name], cases) for name in asked}


def _of_chains(
    send: Send, read: Read, metrics: Sequence[str], options: Mapping[str, Any]
) -> dict[str, list[MetricRow]]:
    """The rows of metrics over chains; the chains of a case are enumerated once."""
    union = query("chains/metrics")
    sent = bind(union, options_of(union, options) | {"metrics": list(metrics)})
    with _counted(read, sent):
        found = send(union, ChainMetricRow, sent)
        rows: dict[str, list[MetricRow]] = {name: [] for name in metrics}
        for row in found:
            rows[row.metric].append(MetricRow(row.id, row.step, row.value, row.n, row.excluded))
    return rows


def _in_order(rows: Iterable[MetricRow], cases: Sequence[Mapping[str, Any]]) -> list[MetricRow]:
    place = {case["id"]: i for i, case in enumerate(cases)}
    return sorted(rows, key=lambda row: (place[row.id], row.step is not None, row.step or 0))


def _require_graphs(
    read: Read, rows: Iterable[MetricRow], cases: Sequence[Mapping[str, Any]]
) -> None:
    """UnknownGraphError where a case without a chain or a fact names a graph that is not stored."""
    graph_of = {case["id"]: case["graph"] for case in cases}
    for graph in {graph_of[row.id] for row in rows if row.n == 0}:
        if not read(GraphRow, "graph/get_graph", graph=graph, incomplete=True):
            raise UnknownGraphError(f"There is no graph {graph!r}, which a case names.")


@contextmanager
def _counted(read: Read, sent: Mapping[str, Any]) -> Iterator[None]:
    """Add to a MissingProbabilityError how many facts of each graph lack the property."""
    try:
        yield
    except MissingProbabilityError as error:
        asked = {key: sent[key] for key in ("pre", "post") if key in sent}
        if not asked:
            raise
        properties = {"pre": "p_pre", "post": "p_post"} | asked
        graphs = sorted({case["graph"] for case in sent["cases"]})
        missing = [
            f"graph {row.graph!r}: {count} of {row.n_facts} facts lack {properties[key]}"
            for row in read(MissingRow, "probes/missing", graphs=graphs, **properties)
            for key, count in (("pre", row.missing_pre), ("post", row.missing_post))
            if count and key in asked
        ]
        raise MissingProbabilityError("; ".join([error.detail, *missing[:5]])) from None
