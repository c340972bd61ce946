"""Sending a query to an open session or transaction of the driver, and reading its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, LiteralString, TypeVar, cast

from .catalog import Query, query
from .driver import neo4j
from .driver_errors import translated
from .errors import GraphError, ParameterError, QueryContractError
from .params import bind
from .room import Room
from .rows import reader

RowT = TypeVar("RowT")
ResultT = TypeVar("ResultT")
ANYWHERE = Room()
"""The disk of a server that is not seen from here."""


class Tx:
    """One transaction over several queries; see Database.transaction()."""

    def __init__(
        self,
        tx: neo4j.Transaction | neo4j.ManagedTransaction,
        *,
        strict: bool,
        room: Room = ANYWHERE,
    ) -> None:
        self._tx, self._strict, self._room = tx, strict, room
        self.failed = False

    def run(self, row_type: type[RowT], name: str, /, **params: Any) -> list[RowT]:
        """Run one query inside this transaction and return its rows."""
        try:
            found = query_of(name, ("read", "write"))
            sent = bind(found, params)
            self._room.require(found)
            with translated(found.name):
                return rows_of(send(self._tx, found, sent), found, row_type, strict=self._strict)
        except BaseException:
            self.failed = True
            raise

    def stream(self, row_type: type[RowT], name: str, /, **params: Any) -> Iterator[RowT]:
        """The rows of a read query inside this transaction one by one, as the server sends them."""
        found = query_of(name, ("read",))
        sent = bind(found, params)
        read = reader(row_type, found.name)
        with translated(found.name):
            for record in send(self._tx, found, sent):
                yield read.row(record.values())

    def require_whole(self) -> None:
        """Refuse to commit a part of the transaction where the caller caught a query's error.

        Raises:
            GraphError: one of its queries failed.
        """
        if self.failed:
            raise GraphError(
                "transaction: one of its queries failed, so nothing of it was stored.",
                remedy="See the error of that query; repeat the complete transaction.",
            )

    def write_all(
        self,
        row_type: type[RowT],
        name: str,
        /,
        rows: Iterable[Mapping[str, Any]],
        *,
        batch: int = 5000,
        **params: Any,
    ) -> list[RowT]:
        """Write `rows` in batches, all inside this transaction."""
        return [
            row
            for part in batches(rows, batch)
            for row in self.run(row_type, name, rows=part, **params)
        ]


def attempted(
    work: Callable[[Tx], ResultT],
    tx: neo4j.ManagedTransaction,
    *,
    strict: bool,
    room: Room = ANYWHERE,
) -> ResultT:
    """One attempt of `Database.atomically`: the driver sees its own errors, to be able to retry."""
    handle = Tx(tx, strict=strict, room=room)
    try:
        result = work(handle)
    except GraphError as error:
        if isinstance(error.__cause__, (neo4j.exceptions.Neo4jError, neo4j.exceptions.DriverError)):
            raise error.__cause__ from None
        raise
    handle.require_whole()
    return result


def send(
    to: neo4j.Session | neo4j.Transaction | neo4j.ManagedTransaction,
    found: Query,
    sent: dict[str, Any],
    *,
    timeout_s: float | None = None,
) -> neo4j.Result:
    """Send a query with checked parameters to the server; records are fetched as they are read.

    Args:
        timeout_s: time limit of the implicit transaction of a session; a transaction has its own.
    """
    # The driver's types demand a literal text, to prevent composed queries; these come from files.
    text = cast(LiteralString, found.text)
    if timeout_s is not None and isinstance(to, neo4j.Session):
        return to.run(neo4j.Query(text, timeout=timeout_s), sent)
    return to.run(text, sent)


def rows_of(
    result: neo4j.Result, found: Query, row_type: type[RowT], *, strict: bool
) -> list[RowT]:
    """All rows of a result; QueryContractError if the type does not fit or, if strict, on notes."""
    read = reader(row_type, found.name)
    rows = [read.row(record.values()) for record in result]
    notes = notifications(result.consume()) if strict else ()
    if notes:
        raise QueryContractError(f"{found.name}: the server notes: {'; '.join(notes)}")
    return rows


def notifications(summary: neo4j.ResultSummary) -> tuple[str, ...]:
    """The server's warnings and hints, one text each."""
    notes: list[neo4j.GqlStatusObject] = [
        s for s in summary.gql_status_objects if s.raw_classification
    ]
    return tuple(f"{note.gql_status} {note.status_description}" for note in notes)


def query_of(name: str, modes: tuple[str, ...]) -> Query:
    """Return the query of that name; QueryContractError unless it has one of these modes."""
    found = query(name)
    if found.mode not in modes:
        raise QueryContractError(
            f"{found.name} has mode {found.mode}; it cannot be run where {' or '.join(modes)}"
            " is expected."
        )
    return found


def batches(rows: Iterable[Mapping[str, Any]], size: int) -> Iterator[list[Mapping[str, Any]]]:
    """Split rows into lists of `size`, reading them lazily."""
    if size < 1:
        raise ParameterError(f"A batch needs at least one row, not {size}.")
    iterator = iter(rows)
    while part := list(islice(iterator, size)):
        yield part


def columns_of(rows: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Rows of equal keys as the parameters `ids` and `columns`; ParameterError if keys differ."""
    names = rows[0].keys() - {"id"}
    wanted = rows[0].keys() | {"id"}
    for place, row in enumerate(rows):
        if row.keys() != wanted:
            raise ParameterError(
                f"Row {place} of a batch has the keys {', '.join(sorted(row))};"
                f" the first one has {', '.join(sorted(wanted))}."
            )
    columns = {name: [row[name] for row in rows] for name in sorted(names)}
    return {"ids": [row["id"] for row in rows], "columns": columns}
