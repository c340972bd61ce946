"""A line to the real server that a test can cut: a TCP port that passes all on until then."""

from __future__ import annotations

import contextlib
import socket
import threading
from urllib.parse import urlsplit


class CutLine:
    """Passes bytes between its own port and the server; `cut()` ends all of it at once.

    Args:
        until: the first message of a client that contains this is not passed on, and nothing after
            it, as if the client had been stopped just before.

    Attributes:
        stopped: set once that has happened.
    """

    def __init__(self, uri: str, until: bytes | None = None) -> None:
        self._until, self.stopped = until, threading.Event()
        to = urlsplit(uri)
        self._server = (to.hostname or "127.0.0.1", to.port or 7687)
        self._door = socket.create_server(("127.0.0.1", 0))
        self._ends: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self.uri = f"bolt://127.0.0.1:{self._door.getsockname()[1]}"
        self._start(self._welcome)

    def __enter__(self) -> CutLine:
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        for thread in self._threads:
            thread.join(5)

    def cut(self) -> None:
        """Close the port and every connection through it."""
        for end in [self._door, *self._ends]:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _start(self, target, *args) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _welcome(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._door.accept()
                server = socket.create_connection(self._server)
                self._ends += [client, server]
                self._start(self._pass_on, client, server, self._until)
                self._start(self._pass_on, server, client)

    def _pass_on(
        self, source: socket.socket, sink: socket.socket, until: bytes | None = None
    ) -> None:
        with contextlib.suppress(OSError):
            while part := source.recv(65536):
                if until is not None and (self.stopped.is_set() or until in part):
                    self.stopped.set()
                    continue
                sink.sendall(part)
