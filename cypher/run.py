"""Access to Neo4j: `Database` sends queries to the server and returns rows.

    with Database("bolt://127.0.0.1:7687", "neo4j", password) as db:
        db.verify()
        for graph in db.read(rows.GraphRow, "graph/list_graphs"):
            ...
        db.metric("ifr", cases=[{"id": "a", "graph": "g", "subject": "s", "object": "o"}])

Each call names the class of its rows and the query. Parameters are checked against the query's
header before they are sent, rows when they are received, and exceptions of the driver become those
of thinkeval.cypher.errors. A Database may be shared by threads.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from . import migrations
from .address import connection_remedy, require_usable
from .catalog import Query, query
from .driver import neo4j
from .driver_errors import translated
from .errors import ServerUnavailableError
from .metric_values import values_of
from .params import bind
from .room import Room
from .rows import MetricRow, ServerRow, WrittenRow, reader
from .sending import (
    ResultT,
    RowT,
    Tx,
    attempted,
    batches,
    columns_of,
    notifications,
    query_of,
    rows_of,
    send,
)

# Without a handler Python prints warnings of the driver, such as of a connection dropped by Ctrl-C,
# to standard error; its errors reach the user as GraphErrors.
logging.getLogger("neo4j").addHandler(logging.NullHandler())

OLDEST_SERVER = (5, 26)
"""The oldest Neo4j release on which every query runs (5.26 LTS)."""

_CONNECT_S = 10.0


@dataclass(frozen=True, slots=True)
class Explained:
    """The server's plan of a query that was not run.

    Attributes:
        columns: names of the columns, in order.
        kind: type of the query: `r` read, `rw` both, `w` write, `s` schema.
        notifications: warnings and hints, one text each.
    """

    columns: tuple[str, ...]
    kind: str
    notifications: tuple[str, ...]


class Database:
    """A Neo4j server with the credentials for it.

    Args:
        uri: such as bolt://127.0.0.1:7687 or neo4j+s://HOST.
        timeout_s: time limit of one query; QueryTimeoutError beyond.
        retry_s: for how long a managed transaction is repeated after a transient failure.
        strict: raise QueryContractError on any notification of the server.
        database: name of the database on the server; None for its default.
        disk: a folder on the disk that it writes to, which is looked at before each write; None if
            that disk is not seen from here.
    """

    def __init__(
        self,
        uri: str,
        user: str,
        password: str,
        *,
        timeout_s: float = 60.0,
        retry_s: float = 5.0,
        strict: bool = False,
        database: str | None = None,
        disk: Path | None = None,
    ) -> None:
        self._room = Room(disk)
        self.uri, self.timeout_s, self.strict = uri, timeout_s, strict
        self._database = database
        severity = (
            neo4j.NotificationMinimumSeverity.INFORMATION
            if strict
            else neo4j.NotificationMinimumSeverity.OFF
        )
        require_usable(uri)
        with translated(f"connecting to {uri}"):
            self._driver = neo4j.GraphDatabase.driver(
                uri,
                auth=(user, password),
                notifications_min_severity=severity,
                connection_timeout=_CONNECT_S,
                connection_acquisition_timeout=3 * _CONNECT_S,
                max_transaction_retry_time=retry_s,
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
        """Check that a server of a supported release accepts the credentials.

        Raises:
            ServerUnavailableError: it does not; the remedy says how to fix it.
        """
        try:
            with translated(f"connecting to {self.uri}"):
                self._driver.verify_connectivity()
        except ServerUnavailableError as error:
            gone = isinstance(error.__cause__, neo4j.exceptions.ServiceUnavailable)
            if gone and (remedy := connection_remedy(self.uri)) is not None:
                error.remedy = remedy
            raise
        server = self.read(ServerRow, "schema/server")[0]
        if tuple(int(part) for part in server.version.split(".")[:2]) < OLDEST_SERVER:
            raise ServerUnavailableError(
                f"The server at {self.uri} is Neo4j {server.version}.",
                remedy="Use Neo4j 5.26 or newer; `thinkeval db start` brings one.",
            )
        return server

    def setup_schema(
        self, migrating: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> None:
        """Create missing constraints, indexes and property names, and run the missing migrations.

        Args:
            migrating: makes the context in which a database of an older release is changed.

        Raises:
            OlderDatabaseError: the database is too old; nothing was changed.
            NewerDatabaseError: a newer program has migrated it; nothing was changed.
            UnfinishedRestoreError: it has a part of a backup.
        """
        with translated("schema/version"), self._session(neo4j.READ_ACCESS) as session:
            version = migrations.require_known(session, self.uri)
            constrained = migrations.has_constraints(session)
        older = version < migrations.latest()
        with migrating() if older and version else nullcontext():
            if not constrained:
                self._run_statements(migrations.CONSTRAINTS)
            if older:
                self.migrate()
            if not constrained:
                with translated("migrations"), self._session(neo4j.WRITE_ACCESS) as session:
                    migrations.record_constraints(session)

    def migrate(self) -> list[str]:
        """Run the missing migrations only; their names."""
        with translated("migrations"), self._session(neo4j.WRITE_ACCESS) as session:
            return migrations.migrate(session, self.uri)

    def version(self) -> int:
        """The version of the database; 0 of a new one. Raises as `setup_schema`."""
        with translated("schema/version"), self._session(neo4j.READ_ACCESS) as session:
            return migrations.require_known(session, self.uri)

    def is_restoring(self) -> bool:
        """Return True of a database with a part of a backup."""
        with translated("schema/version"), self._session(neo4j.READ_ACCESS) as session:
            return migrations.is_restoring(session)

    def _run_statements(self, name: str) -> None:
        found = query(name)
        for statement in found.statements:
            with translated(found.name), self._session(neo4j.WRITE_ACCESS) as session:
                try:
                    session.execute_write(self._work(lambda tx, s=statement: tx.run(s).consume()))
                except neo4j.exceptions.ClientError as error:
                    # IF NOT EXISTS looks first; another process may create it in between.
                    if not str(error.code).endswith(
                        ("RuleAlreadyExists", "ConstraintAlreadyExists")
                    ):
                        raise

    def read(self, row_type: type[RowT], name: str, /, **params: Any) -> list[RowT]:
        """All rows of a read query."""
        return self._managed(row_type, name, ("read",), params)

    def write(self, row_type: type[RowT], name: str, /, **params: Any) -> list[RowT]:
        """The rows of a write query, in a separate transaction that is retried if necessary."""
        return self._managed(row_type, name, ("write",), params)

    def write_implicitly(self, row_type: type[RowT], name: str, /, **params: Any) -> list[RowT]:
        """The rows of a write query in an implicit transaction: the server commits it by itself.

        In `write` this process sends the commit. If it is stopped before it does, its locks stay
        until `timeout_s`, and who needs them waits. Here they do not outlast the query. It is not
        repeated after a transient failure.
        """
        found = query_of(name, ("write",))
        sent = bind(found, params)
        self._room.require(found)
        with translated(found.name), self._session(neo4j.WRITE_ACCESS) as session:
            result = send(session, found, sent, timeout_s=self.timeout_s)
            return rows_of(result, found, row_type, strict=self.strict)

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
        """Write `rows` in batches, each in a separate transaction.

        `rows` may be a generator: one batch is in memory at a time. Earlier batches remain stored
        when a later one fails, so write under a graph that is completed last.

        Returns:
            The query's rows, usually one per batch.
        """
        return [
            row
            for part in batches(rows, batch)
            for row in self.write(row_type, name, rows=part, **params)
        ]

    def write_probabilities(
        self, rows: Iterable[Mapping[str, Any]], *, batch: int = 10_000
    ) -> list[WrittenRow]:
        """Write the probabilities of many stored facts, in the fastest way.

        Batches, each in a separate transaction, are sent as columns (probes/write_columns).

        Args:
            rows: maps with `id` and the same probabilities each; may be a generator.

        Raises:
            ParameterError: a row has other keys than the first of its batch, or a value is not a
                probability. Earlier batches remain stored.
        """
        return [
            row
            for part in batches(rows, batch)
            for row in self.write(WrittenRow, "probes/write_columns", **columns_of(part))
        ]

    def stream(self, row_type: type[RowT], name: str, /, **params: Any) -> Iterator[RowT]:
        """The rows of a read query one by one, fetched a thousand at a time.

        Parameters are checked at once; the query is sent when the first row is read. There is no
        time limit, as it would include the caller's time between rows.
        """
        found = query_of(name, ("read",))
        return self._streamed(found, row_type, bind(found, params))

    def autocommit(self, row_type: type[RowT], name: str, /, **params: Any) -> list[RowT]:
        """The rows of a query that commits in batches (CALL ... IN TRANSACTIONS)."""
        found = query_of(name, ("autocommit",))
        sent = bind(found, params)
        self._room.require(found)
        with translated(found.name), self._session(neo4j.WRITE_ACCESS) as session:
            return rows_of(send(session, found, sent), found, row_type, strict=self.strict)

    @contextmanager
    def transaction(self, *, timeout_s: float | None = None) -> Iterator[Tx]:
        """One transaction over several queries: everything is stored, or nothing.

        Leaving the block commits, leaving it by an exception rolls back. It is not retried. After
        an error during the commit the outcome is unknown, so writes must be repeatable.

        Args:
            timeout_s: time limit of the transaction; None for the Database's `timeout_s`.
        """
        with translated("transaction"), self._session(neo4j.WRITE_ACCESS) as session:  # noqa: SIM117
            with session.begin_transaction(timeout=timeout_s or self.timeout_s) as tx:
                handle = Tx(tx, strict=self.strict, room=self._room)
                yield handle
                handle.require_whole()
                tx.commit()

    @contextmanager
    def reading(self) -> Iterator[Tx]:
        """One transaction that reads, without a time limit of ours: for a look at everything."""
        with translated("transaction"), self._session(neo4j.READ_ACCESS) as session:  # noqa: SIM117
            with session.begin_transaction() as tx:
                yield Tx(tx, strict=self.strict, room=self._room)

    def atomically(self, work: Callable[[Tx], ResultT]) -> ResultT:
        """Run `work` in one transaction, repeated if the server asks for it, and return its result.

        Two transactions that wait for each other's locks are a deadlock: the server stops one of
        them, which then begins again. So `work` does nothing but read and write through its `Tx`,
        and an exception of its own rolls back.

        Raises:
            GraphError: a query failed, for good or too often; nothing was stored. After an error
                during the commit the outcome is unknown, and nothing is repeated.
        """
        with translated("transaction"), self._session(neo4j.WRITE_ACCESS) as session:
            attempt = self._work(
                lambda tx: attempted(work, tx, strict=self.strict, room=self._room)
            )
            return session.execute_write(attempt)

    def metric(self, name: str, **options: Any) -> list[MetricRow]:
        """The rows of one metric, in the order of `cases`.

        Args:
            name: `ifr` or `metrics/ifr`; see `catalog.names("metrics/")`.
            **options: `cases` and any parameters of metrics; each metric gets those it declares,
                so one set of options serves all metrics.

        Raises:
            UnknownQueryError: no metric has that name.
            ParameterError: no metric has an option of that name, or a value is invalid.
            UnknownGraphError: a case names a graph that is not stored.
            MissingProbabilityError: a fact it needs lacks the property to read.
        """
        (found,) = self.metrics([name], **options).values()
        return found

    def metrics(self, names: Iterable[str], **options: Any) -> dict[str, list[MetricRow]]:
        """The rows of several metrics, by name such as `ifr`; those of each as `metric` gives them.

        Two or more over chains are one query, which enumerates the chains of each case once.
        """
        return values_of(self._managed_query, self.read, names, options)

    def explain(self, name: str, **params: Any) -> Explained:
        """Plan a query on the server without running it; missing parameters are null."""
        found = query(name)
        sent = dict.fromkeys(found.params) | params
        with translated(name), self._session(neo4j.READ_ACCESS) as session:
            result = send(session, replace(found, text=f"EXPLAIN\n{found.text}"), sent)
            columns = tuple(result.keys())
            summary = result.consume()
        return Explained(columns, summary.query_type or "", notifications(summary))

    def _managed(
        self, row_type: type[RowT], name: str, modes: tuple[str, ...], params: Mapping[str, Any]
    ) -> list[RowT]:
        found = query_of(name, modes)
        return self._managed_query(found, row_type, bind(found, params))

    def _managed_query(
        self, found: Query, row_type: type[RowT], sent: dict[str, Any]
    ) -> list[RowT]:
        self._room.require(found)

        def work(tx: neo4j.ManagedTransaction) -> list[RowT]:
            # The driver must see its own errors here to be able to retry.
            return rows_of(send(tx, found, sent), found, row_type, strict=self.strict)

        reads = found.mode == "read"
        access = neo4j.READ_ACCESS if reads else neo4j.WRITE_ACCESS
        with translated(found.name), self._session(access) as session:
            execute = session.execute_read if reads else session.execute_write
            return execute(self._work(work))

    def _streamed(self, found: Query, row_type: type[RowT], sent: dict[str, Any]) -> Iterator[RowT]:
        read = reader(row_type, found.name)
        with translated(found.name), self._session(neo4j.READ_ACCESS) as session:  # noqa: SIM117
            with session.begin_transaction() as tx:
                result = send(tx, found, sent)
                for record in result:
                    yield read.row(record.values())

    def _session(self, access: str) -> neo4j.Session:
        return self._driver.session(
            default_access_mode=access, database=self._database, fetch_size=1000
        )

    def _work(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return neo4j.unit_of_work(timeout=self.timeout_s)(function)
