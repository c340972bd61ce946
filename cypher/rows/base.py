"""Base classes of row types, and the reader that turns the driver's records into rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, ClassVar, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import BeforeValidator

from ..catalog import query
from ..errors import (
    IncompleteWriteError,
    MissingProbabilityError,
    QueryContractError,
)

PLAIN: frozenset[type[Any]] = frozenset((str, int, float, bool, dict))
"""Row types of queries with one column."""


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
    """Turns records of one query into rows, and checks them.

    A row type is a dataclass or a pydantic model whose fields are the query's columns (a field
    without a column has a default; a field of records has maps, or texts of JSON where the record
    has `of_json`), the type of the only column (`PLAIN`), or NoneType where a
    query returns nothing.
    """

    def __init__(self, row_type: type[T], name: str) -> None:
        self.row_type, self.name = row_type, name
        self.columns = query(name).columns
        self._lists: list[int] = []
        self._needed: list[int] = []
        self._build = self._builder()
        self._check: Callable[[T, str], None] | None = getattr(row_type, "check", None)

    def row(self, values: list[Any]) -> T:
        """One row; raises if a value is null where the row type does not allow it."""
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
        raise QueryContractError(f"{where}, which {self.row_type.__name__} does not allow.")

    def _builder(self) -> Callable[[list[Any]], Any]:
        """A function of a record's values that returns the row."""
        row_type: Any = self.row_type
        if not self.columns and row_type is type(None):
            return lambda values: None
        if row_type in PLAIN:
            if len(self.columns) != 1:
                raise QueryContractError(f"{self.name} does not return one column.")
            self._needed = [0]
            return lambda values: values[0]
        required = _fields(row_type)
        if not {*self.columns} <= required.keys() or any(
            needed and field not in self.columns for field, needed in required.items()
        ):
            raise QueryContractError(
                f"{self.name} returns other columns than {row_type.__name__} has."
            )
        model = getattr(row_type, "model_fields", None)
        hints = {n: f.annotation for n, f in model.items()} if model else get_type_hints(row_type)
        kinds = [_alternatives(hints[column]) for column in self.columns]
        self._needed = [i for i, of in enumerate(kinds) if type(None) not in of]
        if model:
            return self._validated
        records: list[tuple[int, Callable[[Any], Any]]] = []
        for i, of in enumerate(kinds):
            if lists := [kind for kind in of if get_origin(kind) is tuple]:
                self._lists.append(i)
                if is_dataclass(record := get_args(lists[0])[0]):
                    of_json = getattr(record, "of_json", None)
                    records.append((i, of_json or (lambda each, of=record: of(**each))))

        def build(values: list[Any]) -> Any:
            for i, record in records:
                values[i] = tuple(map(record, values[i]))
            return row_type(**dict(zip(self.columns, values, strict=True)))

        return build

    def _validated(self, values: list[Any]) -> Any:
        model: Any = self.row_type
        try:
            return model.model_validate(dict(zip(self.columns, values, strict=True)))
        except ValueError as error:
            raise QueryContractError(f"{self.name}: {error}") from None


@cache
def reader(row_type: type[T], name: str) -> Reader[T]:
    """The reader of a query's rows; QueryContractError if the type has other fields."""
    return Reader(row_type, name)


def _alternatives(hint: Any) -> tuple[Any, ...]:
    """The members of a union of types; the type itself if it is none."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


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
