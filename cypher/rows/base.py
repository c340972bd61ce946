"""Base classes of row types, and the reader that turns the driver's records into rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from typing import Any, ClassVar, Generic, TypeVar, get_args, get_type_hints

from pydantic import BeforeValidator

from ..catalog import query
from ..errors import (
    IncompleteWriteError,
    MissingProbabilityError,
    QueryContractError,
)

PLAIN: Mapping[type[Any], str] = {
    str: "STRING", int: "INTEGER", float: "FLOAT", bool: "BOOLEAN", dict: "MAP",
}  # fmt: skip
"""Row types of queries with one column, by the type that the header gives it."""


FROM_JSON = BeforeValidator(lambda value: json.loads(value) if isinstance(value, str) else value)
"""Marks the field of a pydantic model whose column is a text of JSON."""


@dataclass(frozen=True)
class Row:
    """One row of one query; the fields are the query's columns.

    Attributes:
        PROBABILITIES: columns that are null exactly if a fact lacks the requested property.
    """

    PROBABILITIES: ClassVar[frozenset[str]] = frozenset()

    def check(self, name: str) -> None:
        """Raise a GraphError if the row of that query reports a failure; it is rolled back."""


@dataclass(frozen=True)
class WrittenRow(Row):
    """Result of a write: `asked` rows were sent, `written` are stored."""

    asked: int
    written: int

    def check(self, name: str) -> None:
        """IncompleteWriteError unless everything was written."""
        if self.written != self.asked:
            raise IncompleteWriteError(
                f"{name}: {self.asked} sent, but {self.written} could be written;"
                " the others refer to entities, facts or requests that are not stored."
            )


T = TypeVar("T")


class Reader(Generic[T]):
    """Turns records of one query into rows, and checks them against its header.

    A row type is a dataclass or a pydantic model whose fields are the query's columns (a field
    without a column has a default), the type of the only column (`PLAIN`), or NoneType where a
    query returns nothing.
    """

    def __init__(self, row_type: type[T], name: str) -> None:
        columns = query(name).columns
        self.row_type, self.name = row_type, name
        self.columns = list(columns)
        self._lists = [i for i, c in enumerate(columns.values()) if c.type.startswith("LIST")]
        self._needed = [i for i, c in enumerate(columns.values()) if not c.nullable]
        self._build = _builder(row_type, name)
        self._check: Callable[[T, str], None] | None = getattr(row_type, "check", None)

    def header(self, keys: Iterable[str]) -> None:
        """QueryContractError if the server returns other columns than the header declares."""
        if list(keys) != self.columns:
            raise QueryContractError(f"{self.name} returns {list(keys)}, not {self.columns}.")

    def row(self, values: list[Any]) -> T:
        """One row; raises if a value is null where the header does not allow it."""
        for i in self._needed:
            if values[i] is None:
                self._refuse_null(self.columns[i], values[0])
        for i in self._lists:
            if values[i] is not None:
                values[i] = tuple(values[i])
        row = self._build(values)
        if self._check is not None:
            self._check(row, self.name)
        return row

    def _refuse_null(self, column: str, first: Any) -> None:
        where = f"{self.name}: {column} is null in the row of {self.columns[0]} {first!r}"
        if column in getattr(self.row_type, "PROBABILITIES", ()):
            raise MissingProbabilityError(f"{where}: a fact lacks the requested probability.")
        raise QueryContractError(f"{where}, which its header does not allow.")


@cache
def reader(row_type: type[T], name: str) -> Reader[T]:
    """The reader of a query's rows; QueryContractError if the type has other fields."""
    return Reader(row_type, name)


def _builder(row_type: type[Any], name: str) -> Callable[[list[Any]], Any]:
    """A function of a record's values that returns the row."""
    columns = query(name).columns
    if not columns and row_type is type(None):
        return lambda values: None
    if row_type in PLAIN:
        if [(c.type, c.nullable) for c in columns.values()] != [(PLAIN[row_type], False)]:
            raise QueryContractError(
                f"{name} does not return one column of {PLAIN[row_type]}: {list(columns)}."
            )
        return lambda values: values[0]
    required = _fields(row_type)
    if not columns.keys() <= required.keys() or any(
        needed and field not in columns for field, needed in required.items()
    ):
        raise QueryContractError(f"{name} returns other columns than {row_type.__name__} has.")
    names = list(columns)
    if not is_dataclass(row_type):
        return lambda values: _validated(row_type, name, dict(zip(names, values, strict=True)))
    maps = [
        (i, get_args(get_type_hints(row_type)[column])[0])
        for i, (column, about) in enumerate(columns.items())
        if about.type == "LIST<MAP>"
    ]

    def build(values: list[Any]) -> Any:
        for i, record in maps:
            values[i] = tuple(record(**each) for each in values[i])
        return row_type(**dict(zip(names, values, strict=True)))

    return build


def _validated(row_type: type[Any], name: str, values: dict[str, Any]) -> Any:
    try:
        return row_type.model_validate(values)
    except ValueError as error:
        raise QueryContractError(f"{name}: {error}") from None


def _fields(row_type: type[Any]) -> dict[str, bool]:
    """The fields of a row type, and for each whether it needs a column."""
    if is_dataclass(row_type):
        return {
            each.name: each.default is MISSING and each.default_factory is MISSING
            for each in fields(row_type)
        }
    found = getattr(row_type, "model_fields", None)
    if found is None:
        raise QueryContractError(f"{row_type.__name__} has no fields: it is not a row type.")
    return {field: about.is_required() for field, about in found.items()}
