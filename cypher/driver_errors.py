"""Translation of the Neo4j driver's exceptions into the errors of this package, with a remedy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .driver import neo4j
from .errors import (
    DiskFullError,
    GraphError,
    QueryTimeoutError,
    QueryTooLargeError,
    ServerUnavailableError,
    UnknownDatabaseError,
)

_GONE = (
    neo4j.exceptions.ServiceUnavailable,
    neo4j.exceptions.SessionExpired,
    neo4j.exceptions.IncompleteCommit,
    neo4j.exceptions.ConnectionAcquisitionTimeoutError,
    neo4j.exceptions.DatabaseUnavailable,
)

PANIC = "critical error, and needs to be restarted"


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Raise GraphErrors in place of the driver's exceptions; `where` names the query or step."""
    try:
        yield
    except (neo4j.exceptions.Neo4jError, neo4j.exceptions.DriverError) as error:
        raise _translation(error, where) from error


def _translation(error: Exception, where: str) -> GraphError:
    code = getattr(error, "code", None) or type(error).__name__
    message = (getattr(error, "message", None) or str(error)).strip()
    detail = f"{where}: {message} ({code})"
    if isinstance(error, neo4j.exceptions.AuthError):
        return ServerUnavailableError(
            f"{where}: the server refused the user name or password ({code}).",
            remedy="Check THINKEVAL_NEO4J_USER and THINKEVAL_NEO4J_PASSWORD; for the embedded"
            " server `thinkeval db status` names the password file.",
        )
    if isinstance(error, neo4j.exceptions.ConfigurationError):
        return ServerUnavailableError(
            detail, remedy="Give an address such as bolt://127.0.0.1:7687 or neo4j+s://HOST."
        )
    if code.endswith("Database.DatabaseNotFound"):
        return UnknownDatabaseError(f"{where}: {message} ({code})")
    if "TransactionTimedOut" in code or "TransactionTerminated" in code:
        return QueryTimeoutError(f"{where}: stopped because it ran too long ({code}).")
    if code.endswith("Transaction.Terminated"):
        return GraphError(
            f"{where}: the transaction was terminated on the server; nothing of it is stored.",
            remedy="Repeat the command.",
        )
    if "OutOfMemory" in code or "StackOverFlow" in code:
        return QueryTooLargeError(detail)
    if PANIC in message:
        return DiskFullError(
            f"{where}: the database has stopped writing, as it does when its disk is full.",
            remedy="Free 300 MB on its disk, then stop it (`thinkeval db stop`): the next command"
            " starts it again, with everything that was committed. If it does not start then:"
            " `thinkeval db repair`.",
        )
    if isinstance(error, _GONE):
        # The driver names each address that it tried in a line of its own.
        told = " ".join(message.split())
        return ServerUnavailableError(f"{where}: no answer from the server: {told} ({code})")
    return GraphError(detail, remedy="This looks like a defect; please report it with the message.")
