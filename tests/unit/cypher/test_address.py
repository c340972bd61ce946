"""Addresses of Neo4j servers that cannot be used, and the encryption a server is found to speak."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from thinkeval.cypher import address
from thinkeval.cypher.address import connection_remedy, require_usable
from thinkeval.cypher.errors import ServerUnavailableError

# Made for this test with `openssl req -x509 -newkey ec`; it is used nowhere else.
CERTIFICATE = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgoLz9f4sXsZ3RbcFK
D017d9MzCXoztNg3LTZfF2DQg7ehRANCAAQYQorwz9bM40KZu+o7GCM6hQJ6TJy0
qHqW0mJnSh3PyIfc5v9RqbyH9Vy+GfZGp3SLiuajNV1f9DpbASLRsXyJ
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBgDCCASWgAwIBAgIUKnnnS1ugPBpynB6EXGAV4BQLqj0wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyNjEyMDM1N1oYDzIxMjYxMTAy
MTIwMzU3WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQYQorwz9bM40KZu+o7GCM6hQJ6TJy0qHqW0mJnSh3PyIfc5v9RqbyH
9Vy+GfZGp3SLiuajNV1f9DpbASLRsXyJo1MwUTAdBgNVHQ4EFgQUPrFFHyGgmj7k
R2uRXQROCe43zLIwHwYDVR0jBBgwFoAUPrFFHyGgmj7kR2uRXQROCe43zLIwDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNJADBGAiEA3HKAyNq7SkOIshck7k7q
gkyw/WnTWjtw4+tJoZxmo3ICIQDRw61uOUxGFYBUxje5lLWGV3XAGkwFg5/svyit
2QfviQ==
-----END CERTIFICATE-----
"""


@contextmanager
def listening(certificate: Path | None = None) -> Iterator[int]:
    """A server that closes every connection at once, behind TLS if it has a certificate."""
    context = None
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)

    def serve(server: socket.socket) -> None:
        while True:
            try:
                line, _ = server.accept()
            except OSError:
                return
            try:
                (line if context is None else context.wrap_socket(line, server_side=True)).close()
            except OSError:
                line.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, args=(server,), daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
    thread.join(5)


@pytest.mark.parametrize(
    ("uri", "told", "remedy"),
    [
        ("bolt://h:7687?database=mine", "has a path or a query", "THINKEVAL_NEO4J_DATABASE=mine "),
        ("neo4j+s://h?db=mine", "has a path or a query", "THINKEVAL_NEO4J_DATABASE=mine "),
        ("neo4j://h:1/mine", "has a path or a query", "THINKEVAL_NEO4J_DATABASE=mine "),
        ("bolt://h?policy=near", "has a path or a query", "THINKEVAL_NEO4J_DATABASE=NAME "),
        ("bolt://me:secret@h", "has a user or a password", "THINKEVAL_NEO4J_USER"),
        ("bolt://h:port", "'bolt://h:port' is not an address", "bolt://127.0.0.1:7687"),
        ("https://h:7473", "is not an address of Bolt", "bolt://127.0.0.1:7687"),
    ],
)
def test_an_address_with_more_than_a_host_is_refused(uri: str, told: str, remedy: str) -> None:
    with pytest.raises(ServerUnavailableError) as caught:
        require_usable(uri)
    assert told in caught.value.detail
    assert remedy in caught.value.remedy
    assert "secret" not in caught.value.detail + caught.value.remedy


@pytest.mark.parametrize(
    "uri", ["bolt://127.0.0.1:7687", "neo4j+s://h", "neo4j://h/", "neo4j://h:7687?policy=near"]
)
def test_an_address_that_the_driver_takes(uri: str) -> None:
    require_usable(uri)


def test_a_server_without_tls_is_told_from_one_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listening() as port:
        told = connection_remedy(f"neo4j+s://127.0.0.1:{port}")
        assert told is not None
        assert f"does not speak TLS, which +s asks for: neo4j://127.0.0.1:{port}" in told
        told = connection_remedy(f"bolt+ssc://127.0.0.1:{port}")
        assert told is not None
        assert f"which +ssc asks for: bolt://127.0.0.1:{port}" in told
        told = connection_remedy(f"neo4j://127.0.0.1:{port}")
        assert told is not None
        assert f"by bolt://127.0.0.1:{port}" in told
        assert connection_remedy(f"bolt://127.0.0.1:{port}") is None
    certificate = tmp_path / "certificate.pem"
    certificate.write_text(CERTIFICATE, encoding="ascii")
    with listening(certificate) as port:
        told = connection_remedy(f"neo4j+s://127.0.0.1:{port}")
        assert told is not None
        assert f"neo4j+ssc://127.0.0.1:{port}" in told
        assert "is refused: self-signed certificate." in told
        assert connection_remedy(f"bolt+ssc://127.0.0.1:{port}") is None
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))  # trusted, and for another name
        told = connection_remedy(f"bolt+s://127.0.0.1:{port}")
        assert told is not None
        assert "is refused: IP address mismatch, certificate is not valid for '127.0.0.1'." in told
    assert connection_remedy(f"neo4j+s://127.0.0.1:{port}") is None  # nothing answers


def test_a_server_that_says_nothing_is_not_said_to_lack_tls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(address, "_CONNECT_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert connection_remedy(f"neo4j+s://127.0.0.1:{port}") is None
