"""Parameter validation: values are checked against a query's header before they are sent.

Neo4j accepts most mistakes silently: a misspelt key reads as null, a text in a list of numbers
compares to null, and a metric becomes 0. Hence the check on the client.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .catalog import Param, Query
from .errors import ParameterError

Check = Callable[[Any], Any]
"""Takes a value, returns the value to send, or raises _Refused."""


class _Refused(Exception):
    """A value is invalid; the message says why, `path` is the place inside the parameter."""

    def __init__(self, why: str, path: str = "") -> None:
        super().__init__(why)
        self.path = path


def bind(query: Query, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters to send: the given ones, validated, and the header's defaults for the others.

    Raises:
        ParameterError: a parameter is missing, unknown, or does not match its declared type.
    """
    for name in given:
        if name not in query.params:
            raise ParameterError(f"{query.name} takes no parameter ${name}{_near(name, query)}")
    sent: dict[str, Any] = {}
    for name, param in query.params.items():
        if param.required and name not in given:
            raise ParameterError(f"{query.name} needs the parameter ${name}: {param.doc}.")
        try:
            sent[name] = _check(param)(given.get(name, param.default))
        except _Refused as refused:
            raise ParameterError(f"{query.name}: ${name}{refused.path} {refused}") from None
    return sent


def _near(name: str, query: Query) -> str:
    near = difflib.get_close_matches(name, query.params, n=1, cutoff=0.5)
    return f"; did you mean ${near[0]}?" if near else f"; it takes {_listed(query.params)}."


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"${name}" for name in names) or "none"


def _check(param: Param) -> Check:
    """The check of one declared type; built once per call, then applied to every row."""
    check = _MAKERS[param.type](param)
    if not param.nullable:
        return check
    return lambda value: None if value is None else check(value)


def _string(param: Param) -> Check:
    def check(value: Any) -> str:
        if not isinstance(value, str):
            raise _Refused(f"must be a STRING, not {_shown(value)}.")
        if param.choices and value not in param.choices:
            raise _Refused(f"is {value!r}, not one of {', '.join(param.choices)}.")
        return value

    return check


def _graph_id(_: Param) -> Check:
    def check(value: Any) -> str:
        if not isinstance(value, str) or not value.strip() or "|" in value:
            raise _Refused(f"must be the id of a graph: not empty, no `|`; not {_shown(value)}.")
        return value

    return check


def _integer(param: Param) -> Check:
    low, high = param.bounds or (-(2**63), 2**63 - 1)

    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise _Refused(f"must be an INTEGER, not {_shown(value)}.")
        if not low <= value <= high:
            raise _Refused(f"is {value}, not from {low} to {high}.")
        return value

    return check


def _float(_: Param) -> Check:
    def check(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _Refused(f"must be a FLOAT, not {_shown(value)}.")
        return float(value)  # Cypher truncates the quotient of two INTEGERs.

    return check


def _probability(_: Param) -> Check:
    def check(value: Any) -> float:
        if type(value) is float and 0.0 <= value <= 1.0:
            return value
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _Refused(f"must be a probability, a FLOAT, not {_shown(value)}.")
        if not 0.0 <= value <= 1.0:  # also refuses NaN
            raise _Refused(f"is {value}, not a probability: it must be in [0, 1].")
        return float(value)

    return check


def _boolean(_: Param) -> Check:
    def check(value: Any) -> bool:
        if not isinstance(value, bool):
            raise _Refused(f"must be a BOOLEAN, not {_shown(value)}.")
        return value

    return check


def _list(param: Param) -> Check:
    inner = param.type.removeprefix("LIST<").removesuffix(">")
    item = _check(Param(inner, param.doc, choices=param.choices, fields=param.fields))

    def check(value: Any) -> list[Any]:
        if not isinstance(value, list | tuple):
            raise _Refused(f"must be a {param.type}, not {_shown(value)}.")
        try:
            return [item(each) for each in value]
        except _Refused:
            return _first_refused(item, value)

    return check


def _first_refused(item: Check, values: Iterable[Any]) -> list[Any]:
    """Find the refused entry again to name it; only reached on an error."""
    for index, value in enumerate(values):
        try:
            item(value)
        except _Refused as refused:
            raise _Refused(str(refused), f"[{index}]{refused.path}") from None
    raise AssertionError("a value was refused the first time only")


def _map(param: Param) -> Check:
    checks = {name: _check(each) for name, each in param.fields.items()}
    needed = [name for name, each in param.fields.items() if not each.nullable]

    def check(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise _Refused(f"must be a MAP, not {_shown(value)}.")
        if not checks:
            return dict(value)
        for name in needed:
            if name not in value:
                raise _Refused(f"lacks the key {name!r}.")
        sent = {}
        for name, each in value.items():
            if name not in checks:
                raise _Refused(f"has the unknown key {name!r}; it takes {', '.join(checks)}.")
            try:
                sent[name] = checks[name](each)
            except _Refused as refused:
                raise _Refused(str(refused), f".{name}{refused.path}") from None
        return sent

    return check


def _any(_: Param) -> Check:
    return lambda value: value


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


_MAKERS: dict[str, Callable[[Param], Check]] = {
    "STRING": _string,
    "GRAPH_ID": _graph_id,
    "INTEGER": _integer,
    "FLOAT": _float,
    "PROBABILITY": _probability,
    "BOOLEAN": _boolean,
    "MAP": _map,
    "ANY": _any,
    **dict.fromkeys(
        ("LIST<STRING>", "LIST<INTEGER>", "LIST<FLOAT>", "LIST<PROBABILITY>", "LIST<MAP>"), _list
    ),
}
