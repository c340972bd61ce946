"""A free port for a server of the tests."""

from __future__ import annotations

import socket


def free_port() -> int:
    """A TCP port of the loopback interface that nothing listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]
