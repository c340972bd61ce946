"""A reverse proxy that shows a service below a path, and takes the path off what it passes on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "te", "upgrade", "server", "date"}


@contextmanager
def proxied(url: str, root: str) -> Iterator[tuple[str, list[str]]]:
    """The service at `url` below `root` of a proxy; its address, and paths outside of `root`."""
    outside: list[str] = []

    class Forward(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if not (self.path == root or self.path.startswith((f"{root}/", f"{root}?"))):
                outside.append(self.path)
                self.send_error(404, "another application")
                return
            kept = {k: v for k, v in self.headers.items() if k.lower() not in HOP_BY_HOP}
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            path = self.path.removeprefix(root)
            path = path if path.startswith("/") else f"/{path}"
            with client.stream(self.command, f"{url}{path}", headers=kept, content=body) as answer:
                content = b"".join(answer.iter_raw())
                self.send_response(answer.status_code)
                for name, value in answer.headers.multi_items():
                    if name not in HOP_BY_HOP | {"content-length"}:
                        self.send_header(name, value)
                length = answer.headers.get("content-length", str(len(content)))
                self.send_header("Content-Length", length)
                self.end_headers()
                self.wfile.write(content)

        do_POST = do_DELETE = do_HEAD = do_GET

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    with httpx.Client(timeout=60) as client, ThreadingHTTPServer(("127.0.0.1", 0), Forward) as made:
        made.daemon_threads = True
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{made.server_address[1]}{root}", outside
        finally:
            made.shutdown()
            thread.join()
