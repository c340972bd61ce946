"""What can go wrong between us and Neo4j: one base class, so that a caller can catch them all."""

from __future__ import annotations


class GraphError(Exception):
    """The graph database refused, failed, or is not there.

    Attributes:
        detail: what happened and where (query, parameter, server).
        remedy: what the user can do about it.
    """

    remedy = "Run `thinkeval doctor` to see what is missing."

    def __init__(self, detail: str, *, remedy: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        if remedy is not None:
            self.remedy = remedy


class UnknownQueryError(GraphError):
    """There is no query file of that name."""

    remedy = "`thinkeval queries` lists the queries."


class QueryContractError(GraphError):
    """A query file breaks its contract: its header, its columns, or a notification it causes."""

    remedy = "Correct the query file: its header, parameters and columns must agree."


class ParameterError(GraphError):
    """A parameter is missing, unknown, of the wrong type, or out of its range."""

    remedy = "`thinkeval queries NAME` shows the parameters a query takes."


class UnknownGraphError(GraphError):
    """A metric was asked of a graph that the database does not hold."""

    remedy = "`thinkeval graphs` lists the stored graphs."


class MissingProbabilityError(GraphError):
    """A fact that a metric needs has no value of the property the metric was told to read."""

    remedy = (
        "Probe the graph with that measure (`thinkeval probe`), or read another one"
        " (`p`, `likelihood`, `likelihood_norm`)."
    )


class IncompleteWriteError(GraphError):
    """Not everything that was sent was written; the transaction was rolled back."""

    remedy = "Store the entities, facts or rewrite requests that are named first; then write again."


class ServerUnavailableError(GraphError):
    """The Neo4j server cannot be reached, or went away in the middle of the work."""

    remedy = "Start it with `thinkeval db start`, or point THINKEVAL_NEO4J_URI at a running server."


class QueryTimeoutError(GraphError):
    """A query ran longer than allowed: usually too many paths."""

    remedy = (
        "Ask for shorter chains (--max-steps), or raise THINKEVAL_QUERY_TIMEOUT_S; paths grow with"
        " the number of facts per entity, not with the size of the graph."
    )


class QueryTooLargeError(GraphError):
    """A query needed more of the server's memory than it is allowed."""

    remedy = (
        "Ask for shorter chains (--max-steps), write in smaller batches, or give the server more"
        " memory (heap, db.memory.transaction.max)."
    )


class EmbeddedServerError(GraphError):
    """The embedded Neo4j server could not be fetched, started or stopped."""

    remedy = "See the log that `thinkeval db status` names."
