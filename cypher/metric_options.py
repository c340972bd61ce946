"""Metrics of the catalogue: by name, in the order of tables, and the options each declares."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from .catalog import Query, names, query
from .errors import ParameterError, UnknownQueryError
from .metric_display import MetricDisplay


def metric_named(name: str) -> Query:
    """The metric named `ifr` or `metrics/ifr`; UnknownQueryError lists similar names."""
    full = name if name.startswith("metrics/") else f"metrics/{name}"
    if full not in names("metrics/"):
        short = [each.removeprefix("metrics/") for each in names("metrics/")]
        near = difflib.get_close_matches(name, short, n=3, cutoff=0.4)
        hint = f"; did you mean {' or '.join(near)}?" if near else "."
        raise UnknownQueryError(
            f"There is no metric {name!r}{hint}", remedy="`thinkeval db metrics` lists the metrics."
        )
    return query(full)


@cache
def displays() -> Mapping[str, MetricDisplay]:
    """Return the display of each metric, by name such as `ifr`, in the order of tables."""
    found = {}
    for name in names("metrics/"):
        display = query(name).display
        if display is not None:
            found[name.removeprefix("metrics/")] = display
    ordered = sorted(found.items(), key=lambda each: (each[1].order, each[0]))
    return MappingProxyType(dict(ordered))


def headlines() -> tuple[str, ...]:
    """The metrics that the tables of one score list, such as `ifr`, in order."""
    return tuple(name for name, display in displays().items() if display.headline)


def of_kind(kind: str) -> frozenset[str]:
    """The metrics that are taken of requests of a kind: `replace`, `append`, `forget`."""
    return frozenset(name for name, display in displays().items() if kind in display.kinds)


def integers() -> frozenset[str]:
    """The metrics whose values are whole numbers."""
    return frozenset(name for name, display in displays().items() if display.integer)


def interval_titles() -> dict[str, str]:
    """The metrics whose 95 % interval tables over edits show, with the titles of their columns."""
    return {name: display.title for name, display in displays().items() if display.interval}


def options_of(found: Query, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that this metric declares; ParameterError for one that no metric declares."""
    pool = {param for name in names("metrics/") for param in query(name).params}
    for option in options:
        if option not in pool:
            near = difflib.get_close_matches(option, pool, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(pool))}."
            raise ParameterError(f"No metric has an option {option!r}; {hint}")
    return {name: value for name, value in options.items() if name in found.params}
