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


class ParameterError(GraphError):
    """A query was called with a missing, unknown or wrongly typed parameter, or an invalid value."""

    remedy = "`thinkeval queries NAME` shows the parameters a query takes."


class ServerUnavailableError(GraphError):
    """The Neo4j server cannot be reached, or went away in the middle of the work."""

    remedy = (
        "Start it with `thinkeval db start`, or point THINKEVAL_NEO4J_URI at a running server."
    )


class QueryTimeoutError(GraphError):
    """A query ran longer than allowed: usually too many paths."""

    remedy = (
        "Ask for shorter chains (--max-steps), or raise THINKEVAL_QUERY_TIMEOUT_S; paths grow with"
        " the number of facts per entity, not with the size of the graph."
    )


class EmbeddedServerError(GraphError):
    """The embedded Neo4j server could not be fetched, started or stopped."""

    remedy = "See the log that `thinkeval db status` names."
