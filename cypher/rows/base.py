"""Base classes of row types, and the reader that turns the driver's records into rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, Self, TypeVar

from ..catalog import query
from ..errors import (
    IncompleteWriteError,
    MissingProbabilityError,
    QueryContractError,
)


@dataclass(frozen=True)
class Row:
    """One row of one query; the fields are the query's columns, in order.

    Attributes:
        QUERY: name of the query.
        PROBABILITIES: columns that are null exactly if a fact lacks the requested property.
    """

    QUERY: ClassVar[str] = ""
    PROBABILITIES: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def of(cls, values: Sequence[Any]) -> Self:
        """Build the row from the columns' values (lists are tuples already)."""
        return cls(*values)

    def check(self) -> None:
        """Raise a GraphError if the row reports a failure; the transaction rolls back."""


@dataclass(frozen=True)
class WrittenRow(Row):
    """Result of a write: `asked` rows were sent, `written` are stored."""

    asked: int
    written: int

    def check(self) -> None:
        """IncompleteWriteError unless everything was written."""
        if self.written != self.asked:
            raise IncompleteWriteError(
                f"{self.QUERY}: {self.asked} sent, but {self.written} could be written;"
                " the others refer to entities, facts or requests that are not stored."
            )


RowT = TypeVar("RowT", bound=Row)


class Reader(Generic[RowT]):
    """Turns records of one query into rows, and checks them against its header."""

    def __init__(self, row_type: type[RowT], name: str) -> None:
        columns = query(name).columns
        self.row_type, self.name = row_type, name
        self.columns = list(columns)
        self._lists = [i for i, c in enumerate(columns.values()) if c.type.startswith("LIST")]
        self._needed = [i for i, c in enumerate(columns.values()) if not c.nullable]
        if [f.name for f in fields(row_type)] != self.columns:
            raise QueryContractError(f"{name} returns other columns than {row_type.__name__} has.")

    def header(self, keys: Iterable[str]) -> None:
        """QueryContractError if the server returns other columns than the header declares."""
        if list(keys) != self.columns:
            raise QueryContractError(f"{self.name} returns {list(keys)}, not {self.columns}.")

    def row(self, values: list[Any]) -> RowT:
        """One row; raises if a value is null where the header does not allow it."""
        for i in self._needed:
            if values[i] is None:
                self._refuse_null(self.columns[i], values[0])
        for i in self._lists:
            if values[i] is not None:
                values[i] = tuple(values[i])
        row = self.row_type.of(values)
        row.check()
        return row

    def _refuse_null(self, column: str, first: Any) -> None:
        where = f"{self.name}: {column} is null in the row of {self.columns[0]} {first!r}"
        if column in self.row_type.PROBABILITIES:
            raise MissingProbabilityError(f"{where}: a fact lacks the requested probability.")
        raise QueryContractError(f"{where}, which its header does not allow.")
