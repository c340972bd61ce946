"""Checks of a Neo4j server's address, and of the encryption that the server speaks."""

from __future__ import annotations

import socket
import ssl
from urllib.parse import parse_qs, urlsplit

from .errors import ServerUnavailableError

EXAMPLES = "Give one such as bolt://127.0.0.1:7687 or neo4j+s://HOST."
PORT = 7687
_CONNECT_S = 5.0
NONE, TRUSTED = "none", "trusted"


def require_usable(uri: str) -> None:
    """Refuse an address with parts that the driver cannot use; a password is not repeated.

    Raises:
        ServerUnavailableError: it is no address of Bolt, or has a user, a path or a query.
    """
    if not uri.startswith(("bolt", "neo4j")):
        raise ServerUnavailableError(
            f"{uri!r} is not an address of Bolt, the protocol of Neo4j's drivers.", remedy=EXAMPLES
        )
    try:
        parts = urlsplit(uri)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ServerUnavailableError(
            f"{uri.rpartition('@')[2]!r} is not an address: {error}.", remedy=EXAMPLES
        ) from error
    if parts.username is not None or parts.password is not None:
        raise ServerUnavailableError(
            f"The address of the Neo4j server at {host} has a user or a password.",
            remedy="Set THINKEVAL_NEO4J_USER and THINKEVAL_NEO4J_PASSWORD, and leave them out of"
            " THINKEVAL_NEO4J_URI.",
        )
    query = parse_qs(parts.query, keep_blank_values=True)
    name = (query.get("database") or query.get("db") or [parts.path.strip("/")])[0]
    if name or (query and parts.scheme.startswith("bolt")):
        raise ServerUnavailableError(
            f"The address {uri} has a path or a query, which names no database.",
            remedy=f"Set THINKEVAL_NEO4J_DATABASE={name or 'NAME'} instead, and leave it out of"
            " THINKEVAL_NEO4J_URI.",
        )


def connection_remedy(uri: str) -> str | None:
    """The remedy where the server's encryption is not that of the address; None otherwise."""
    parts = urlsplit(uri)
    family, _, security = parts.scheme.partition("+")
    found = _encryption(parts.hostname or "localhost", parts.port or PORT)
    address = uri.partition("://")[2]
    if found == NONE and security:
        return f"The server does not speak TLS, which +{security} asks for: {family}://{address}"
    if found and found not in (NONE, TRUSTED) and security != "ssc":
        return (
            f"The server's TLS certificate is refused: {found.rstrip('.')}. Install its authority"
            " and use a name that it is for, or trust any certificate by"
            f" {family}+ssc://{address}"
        )
    if found == TRUSTED and not security:
        return f"The server speaks TLS: {family}+s://{address}"
    if found is not None and family == "neo4j":
        return (
            "The server answers, and gives no routes: reach a single server, or one behind a"
            f" forwarded port, by {uri.replace('neo4j', 'bolt', 1)}"
        )
    return None


def _encryption(host: str, port: int) -> str | None:
    """The encryption of a server, by a handshake.

    Returns:
        NONE: it speaks no TLS. TRUSTED: its certificate is. Else the reason for which it is
        refused; None if nothing answers.
    """
    try:
        return TRUSTED if _speaks_tls(host, port, ssl.create_default_context()) else NONE
    except ssl.SSLCertVerificationError as error:
        return error.verify_message
    except OSError:
        return None


def _speaks_tls(host: str, port: int, context: ssl.SSLContext) -> bool:
    """Return True if a TLS handshake succeeds.

    Raises:
        ssl.SSLCertVerificationError: it does, with a certificate that is not trusted.
        OSError: no connection, or no answer.
    """
    with socket.create_connection((host, port), timeout=_CONNECT_S) as line:
        try:
            with context.wrap_socket(line, server_hostname=host):
                return True
        except (ssl.SSLCertVerificationError, TimeoutError):
            raise
        except OSError:  # it closes the connection, or answers something else
            return False
