"""The only place that talks to Neo4j: `Database` gives queries to the server and gets rows back.

    with Database("bolt://127.0.0.1:7687", "neo4j", password) as db:
        db.verify()
        for graph in db.read(rows.GraphRow):
            ...
        db.metric("ifr", cases=[{"id": "a", "graph": "g", "subject": "s", "object": "o"}])

A query is named by its row type (`RowType.QUERY`). Parameters are checked against the query's
header before anything is sent, rows against it when they come back, and what the driver raises
becomes one of cypher.errors. A Database may be shared by threads.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, Self, TypeVar

import neo4j
from neo4j import GqlStatusObject, GraphDatabase, NotificationMinimumSeverity, Result

from cypher.catalog import Query, names, query
from cypher.driver_errors import translated
from cypher.errors import (
    MissingProbabilityError,
    ParameterError,
    QueryContractError,
    ServerUnavailableError,
    UnknownGraphError,
    UnknownQueryError,
)
from cypher.params import bind
from cypher.rows import GetGraphRow, MetricRow, MissingRow, Reader, Row, ServerRow

RowT = TypeVar("RowT", bound=Row)

OLDEST_SERVER = (5, 26)
"""The Neo4j release from which on every query runs (5.26 LTS)."""

_RETRY_S = 5.0  # how long a managed transaction is tried again after a transient failure
_CONNECT_S = 10.0


@dataclass(frozen=True, slots=True)
class Explained:
    """What the server says of a query without running it.

    Attributes:
        columns: names of the columns, in order.
        kind: the server's word: `r` read, `rw` both, `w` write, `s` schema.
        notifications: warnings and hints, one text each.
    """

    columns: tuple[str, ...]
    kind: str
    notifications: tuple[str, ...]


class Tx:
    """One transaction over several queries; given out by Database.transaction()."""

    def __init__(self, tx: neo4j.Transaction | neo4j.ManagedTransaction, *, strict: bool) -> None:
        self._tx, self._strict = tx, strict

    def run(self, row_type: type[RowT], **params: Any) -> list[RowT]:
        """Give one query to the server inside this transaction and return its rows."""
        found = _query_of(row_type, ("read", "write"))
        return self.run_query(found, row_type, bind(found, params))

    def write_all(
        self,
        row_type: type[RowT],
        rows: Iterable[Mapping[str, Any]],
        *,
        batch: int = 5000,
        **params: Any,
    ) -> list[RowT]:
        """Write `rows` in batches, all inside this transaction."""
        return [
            row for part in _batches(rows, batch) for row in self.run(row_type, rows=part, **params)
        ]

    def run_query(self, found: Query, row_type: type[RowT], sent: dict[str, Any]) -> list[RowT]:
        """As run(), with the query and its checked parameters at hand."""
        with translated(found.name):
            return _rows(self._tx.run(found.text, sent), found, row_type, strict=self._strict)  # pyright: ignore[reportArgumentType]


class Database:
    """A Neo4j server and the right to use it.

    Args:
        uri: such as bolt://127.0.0.1:7687 or neo4j+s://HOST.
        timeout_s: how long one query may take; QueryTimeoutError beyond.
        strict: raise QueryContractError on any notification of the server (for tests).
        database: name of the database on the server; its default when None.
    """

    def __init__(
        self,
        uri: str,
        user: str,
        password: str,
        *,
        timeout_s: float = 60.0,
        strict: bool = False,
        database: str | None = None,
    ) -> None:
        self.uri, self.timeout_s, self.strict = uri, timeout_s, strict
        self._database = database
        severity = (
            NotificationMinimumSeverity.INFORMATION if strict else NotificationMinimumSeverity.OFF
        )
        with translated(f"connecting to {uri}"):
            self._driver = GraphDatabase.driver(
                uri,
                auth=(user, password),
                notifications_min_severity=severity,
                connection_timeout=_CONNECT_S,
                connection_acquisition_timeout=3 * _CONNECT_S,
                max_transaction_retry_time=_RETRY_S,
                user_agent="thinkeval",
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._driver.close()

    def verify(self) -> ServerRow:
        """Make sure that a server of a known release answers and lets us in.

        Raises:
            ServerUnavailableError: it does not; the remedy says what to do.
        """
        with translated(f"connecting to {self.uri}"):
            self._driver.verify_connectivity()
        server = self.read(ServerRow)[0]
        if tuple(int(part) for part in server.version.split(".")[:2]) < OLDEST_SERVER:
            raise ServerUnavailableError(
                f"The server at {self.uri} is Neo4j {server.version}.",
                remedy="Use Neo4j 5.26 or newer; `thinkeval db start` brings one.",
            )
        return server

    def setup_schema(self) -> None:
        """Create constraints, indexes and property names; what is there already stays."""
        found = query("schema/constraints")
        for statement in found.statements:
            with translated(found.name), self._session(neo4j.WRITE_ACCESS) as session:
                session.execute_write(self._work(lambda tx, s=statement: tx.run(s).consume()))

    def read(self, row_type: type[RowT], **params: Any) -> list[RowT]:
        """All rows of a read query."""
        return self._managed(row_type, ("read",), params)

    def write(self, row_type: type[RowT], **params: Any) -> list[RowT]:
        """The rows of a write query, in a transaction of its own that is retried if need be."""
        return self._managed(row_type, ("write",), params)

    def write_all(
        self,
        row_type: type[RowT],
        rows: Iterable[Mapping[str, Any]],
        *,
        batch: int = 5000,
        **params: Any,
    ) -> list[RowT]:
        """Write `rows` in batches, each in a transaction of its own.

        `rows` may be a generator: one batch of it is held at a time. What was written stays when
        a later batch fails, so write under a graph that is completed last.

        Returns:
            The query's rows, as a rule one a batch.
        """
        return [
            row
            for part in _batches(rows, batch)
            for row in self.write(row_type, rows=part, **params)
        ]

    def stream(self, row_type: type[RowT], **params: Any) -> Iterator[RowT]:
        """The rows of a read query one by one, fetched a thousand at a time.

        Parameters are checked at once; the server is asked when the first row is taken. There is
        no time limit, as it would count the caller's own time between rows.
        """
        found = _query_of(row_type, ("read",))
        return self._streamed(found, row_type, bind(found, params))

    def autocommit(self, row_type: type[RowT], **params: Any) -> list[RowT]:
        """The rows of a query that commits in batches by itself (CALL ... IN TRANSACTIONS)."""
        found = _query_of(row_type, ("autocommit",))
        sent = bind(found, params)
        with translated(found.name), self._session(neo4j.WRITE_ACCESS) as session:
            result = session.run(found.text, sent)  # pyright: ignore[reportArgumentType]
            return _rows(result, found, row_type, strict=self.strict)

    @contextmanager
    def transaction(self, *, timeout_s: float | None = None) -> Iterator[Tx]:
        """One transaction over several queries: all of it is stored, or nothing.

        Leaving the block commits, leaving it by an exception rolls back. It is not retried. An
        error while committing means that the outcome is unknown: write so that it can be done
        again.

        Args:
            timeout_s: how long all of it may take; the Database's `timeout_s` when None.
        """
        with translated("transaction"), self._session(neo4j.WRITE_ACCESS) as session:  # noqa: SIM117
            with session.begin_transaction(timeout=timeout_s or self.timeout_s) as tx:
                yield Tx(tx, strict=self.strict)
                tx.commit()

    def metric(self, name: str, **options: Any) -> list[MetricRow]:
        """The rows of one metric, in the order of `cases`.

        Args:
            name: `ifr` or `metrics/ifr`; see `catalog.names("metrics/")`.
            **options: `cases` and any of the other metrics' parameters; each metric gets those it
                declares, so one set of options does for all of them.

        Raises:
            UnknownQueryError: no metric has that name.
            ParameterError: no metric has an option of that name, or a value does not fit.
            UnknownGraphError: a case names a graph that is not stored.
            MissingProbabilityError: a fact it needs lacks the property it was told to read.
        """
        found = _metric(name)
        sent = bind(found, _of_interest(found, options))
        cases: list[Mapping[str, Any]] = sent["cases"]
        place = {case["id"]: i for i, case in enumerate(cases)}
        if len(place) < len(cases):
            raise ParameterError(f"{found.name}: two of the $cases have the same id.")
        try:
            rows = self._managed_query(found, MetricRow, sent)
        except MissingProbabilityError as error:
            raise self._missing(error, sent) from None
        for graph in {cases[place[row.id]]["graph"] for row in rows if row.n == 0}:
            if not self.read(GetGraphRow, graph=graph, incomplete=True):
                raise UnknownGraphError(f"There is no graph {graph!r}, which a case names.")
        return sorted(rows, key=lambda row: (place[row.id], row.step is not None, row.step or 0))

    def explain(self, name: str, **params: Any) -> Explained:
        """Let the server plan a query without running it; parameters not given are null."""
        found = query(name)
        sent = dict.fromkeys(found.params) | params
        with translated(name), self._session(neo4j.READ_ACCESS) as session:
            result = session.run(f"EXPLAIN\n{found.text}", sent)  # pyright: ignore[reportArgumentType]
            columns = tuple(result.keys())
            summary = result.consume()
        return Explained(columns, summary.query_type or "", _notifications(summary))

    def _missing(
        self, error: MissingProbabilityError, sent: Mapping[str, Any]
    ) -> MissingProbabilityError:
        """The same error, saying how much of which graph is missing."""
        graphs = sorted({case["graph"] for case in sent["cases"]})
        properties = {key: sent[key] for key in ("pre", "post") if key in sent}
        if not properties:
            return error
        properties = {"pre": sent.get("pre", sent.get("post")), "post": sent.get("post", "p_post")}
        found = self.read(MissingRow, graphs=graphs, **properties)
        told = [
            f"graph {row.graph!r}: {row.missing_pre} of {row.n_facts} facts lack"
            f" {properties['pre']}, {row.missing_post} lack {properties['post']}"
            for row in found
            if row.missing_pre or row.missing_post
        ]
        return MissingProbabilityError("; ".join([error.detail, *told[:5]]))

    def _managed(
        self, row_type: type[RowT], modes: tuple[str, ...], params: Mapping[str, Any]
    ) -> list[RowT]:
        found = _query_of(row_type, modes)
        return self._managed_query(found, row_type, bind(found, params))

    def _managed_query(
        self, found: Query, row_type: type[RowT], sent: dict[str, Any]
    ) -> list[RowT]:
        def work(tx: neo4j.ManagedTransaction) -> list[RowT]:
            # The driver must see its own errors here, or it could not retry.
            return _rows(tx.run(found.text, sent), found, row_type, strict=self.strict)  # pyright: ignore[reportArgumentType]

        reads = found.mode == "read"
        access = neo4j.READ_ACCESS if reads else neo4j.WRITE_ACCESS
        with translated(found.name), self._session(access) as session:
            execute = session.execute_read if reads else session.execute_write
            return execute(self._work(work))

    def _streamed(self, found: Query, row_type: type[RowT], sent: dict[str, Any]) -> Iterator[RowT]:
        reader = Reader(row_type, found.name)
        with translated(found.name), self._session(neo4j.READ_ACCESS) as session:  # noqa: SIM117
            with session.begin_transaction() as tx:
                result = tx.run(found.text, sent)  # pyright: ignore[reportArgumentType]
                reader.header(result.keys())
                for record in result:
                    yield reader.row(record.values())

    def _session(self, access: str) -> neo4j.Session:
        return self._driver.session(
            default_access_mode=access, database=self._database, fetch_size=1000
        )

    def _work(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return neo4j.unit_of_work(timeout=self.timeout_s)(function)


def _rows(result: Result, found: Query, row_type: type[RowT], *, strict: bool) -> list[RowT]:
    reader = Reader(row_type, found.name)
    reader.header(result.keys())
    rows = [reader.row(record.values()) for record in result]
    told = _notifications(result.consume()) if strict else ()
    if told:
        raise QueryContractError(f"{found.name}: the server notes: {'; '.join(told)}")
    return rows


def _notifications(summary: neo4j.ResultSummary) -> tuple[str, ...]:
    notes: list[GqlStatusObject] = [s for s in summary.gql_status_objects if s.raw_classification]
    return tuple(f"{note.gql_status} {note.status_description}" for note in notes)


def _query_of(row_type: type[Row], modes: tuple[str, ...]) -> Query:
    if not row_type.QUERY:
        raise QueryContractError(f"{row_type.__name__} belongs to no single query.")
    found = query(row_type.QUERY)
    if found.mode not in modes:
        raise QueryContractError(
            f"{found.name} has mode {found.mode}; it cannot be given where {' or '.join(modes)}"
            " is expected."
        )
    return found


def _metric(name: str) -> Query:
    full = name if name.startswith("metrics/") else f"metrics/{name}"
    if full not in names("metrics/"):
        short = [each.removeprefix("metrics/") for each in names("metrics/")]
        near = difflib.get_close_matches(name, short, n=3, cutoff=0.4)
        hint = f"; did you mean {' or '.join(near)}?" if near else "."
        raise UnknownQueryError(
            f"There is no metric {name!r}{hint}", remedy="`thinkeval metrics` lists the metrics."
        )
    return query(full)


def _of_interest(found: Query, options: Mapping[str, Any]) -> dict[str, Any]:
    pool = {param for name in names("metrics/") for param in query(name).params}
    for option in options:
        if option not in pool:
            near = difflib.get_close_matches(option, pool, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(pool))}."
            raise ParameterError(f"No metric has an option {option!r}; {hint}")
    return {name: value for name, value in options.items() if name in found.params}


def _batches(rows: Iterable[Mapping[str, Any]], size: int) -> Iterator[list[Mapping[str, Any]]]:
    if size < 1:
        raise ParameterError(f"A batch holds at least one row, not {size}.")
    iterator = iter(rows)
    while part := list(islice(iterator, size)):
        yield part
