"""Errors of the graph database: one base class, GraphError, so that a caller can catch them all."""

from __future__ import annotations


class GraphError(Exception):
    """The graph database refused an operation, failed, or cannot be reached.

    Attributes:
        detail: the failure and its place (query, parameter, server).
        remedy: how the user can fix it.
    """

    remedy = "Run `thinkeval doctor` to see missing parts."

    def __init__(self, detail: str, *, remedy: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        if remedy is not None:
            self.remedy = remedy


class UnknownQueryError(GraphError):
    """No query has that name."""

    remedy = "`thinkeval db queries` lists the queries."


class QueryContractError(GraphError):
    """A query file breaks its contract: header, includes, columns, or it causes a notification."""

    remedy = "Correct the query file: its header, parameters and columns must agree."


class ParameterError(GraphError):
    """A parameter is missing, unknown, of the wrong type, or out of range."""

    remedy = "`thinkeval db queries NAME` shows the parameters a query takes."


class UnknownGraphError(GraphError):
    """A metric was requested for a graph that is not stored."""

    remedy = "`thinkeval results graphs` lists the stored graphs."


class MissingProbabilityError(GraphError):
    """A fact that a metric needs lacks the property that the metric reads."""

    remedy = (
        "Probe the graph with that measure (`thinkeval probe`), or read another one"
        " (`p`, `likelihood`, `likelihood_norm`)."
    )


class IncompleteWriteError(GraphError):
    """Some rows could not be written; the transaction was rolled back."""

    remedy = "Store the entities, facts or rewrite requests they refer to first; then write again."


class ServerUnavailableError(GraphError):
    """The Neo4j server cannot be reached, or the connection was lost."""

    remedy = "Start it with `thinkeval db start`, or point THINKEVAL_NEO4J_URI at a running server."


class UnknownDatabaseError(ServerUnavailableError):
    """The server has no database of the configured name."""

    remedy = (
        "Set THINKEVAL_NEO4J_DATABASE to one that `SHOW DATABASES` lists in Neo4j Browser, or unset"
        " it for the server's default. Neo4j Community has one database: neo4j, or the name in its"
        " configuration."
    )


class NewerDatabaseError(GraphError):
    """A newer version of ThinkEval has migrated the database; this one would damage it."""

    remedy = (
        "Update ThinkEval here, or use another database: THINKEVAL_HOME for the embedded server,"
        " THINKEVAL_NEO4J_URI for one of your own."
    )


class OlderDatabaseError(GraphError):
    """A version of ThinkEval that this one does not read has written the database."""

    remedy = (
        "Export its graphs with the version that wrote it, and import them into a new"
        " THINKEVAL_HOME; or begin anew there."
    )


class UnfinishedRestoreError(GraphError):
    """A backup was being restored into the database, and that was not finished."""

    remedy = "Restore it again: `thinkeval db restore FILE` begins anew."


class NotEmptyError(GraphError):
    """The database that a backup shall be restored into is not empty; nothing was changed."""

    remedy = (
        "Restore into a new one: name a new folder in THINKEVAL_HOME, or an empty database in"
        " THINKEVAL_NEO4J_URI. End a service that uses it."
    )


class ChangedError(GraphError):
    """Something that was finished changed while a backup read it."""

    remedy = "Repeat the backup, and delete or replace nothing until it is finished."


class DiskFullError(GraphError):
    """The disk of the database is full."""

    remedy = (
        "Free some space on that disk and repeat the command; or move the data directory to another"
        " disk, and name it by THINKEVAL_HOME."
    )


class QueryTimeoutError(GraphError):
    """A query exceeded the time limit: usually too many paths."""

    remedy = (
        "Ask for shorter chains (--max-steps), or raise THINKEVAL_QUERY_TIMEOUT_S; paths grow with"
        " the number of facts per entity, not with the size of the graph."
    )


class QueryTooLargeError(GraphError):
    """A query exceeded the server's memory limit."""

    remedy = (
        "Ask for shorter chains (--max-steps), write in smaller batches, or give the server more"
        " memory (heap, db.memory.transaction.max)."
    )


class EmbeddedServerError(GraphError):
    """The embedded Neo4j server could not be downloaded, started or stopped."""

    remedy = "See the log that `thinkeval db status` names."
