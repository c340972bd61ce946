"""A service in this process as the transport of a client: no socket, no second program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal

ADDRESS = "http://localhost"
"""Address of the requests; nothing is connected to."""


class InProcess(httpx.BaseTransport):
    """Sends requests to an ASGI application, and returns whole responses."""

    def __init__(self, app: Any, portal: BlockingPortal) -> None:
        self._asgi = httpx.ASGITransport(app=app)
        self._portal = portal

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The response to a request; streams are read to their end."""
        return self._portal.call(self._answered, request)

    async def _answered(self, request: httpx.Request) -> httpx.Response:
        found = await self._asgi.handle_async_request(request)
        content = await found.aread()
        headers = [(k, v) for k, v in found.headers.raw if k.lower() != b"content-length"]
        return httpx.Response(found.status_code, headers=headers, content=content)


@contextmanager
def in_process(app: Any) -> Iterator[InProcess]:
    """The transport to an application, which is started, and stopped on exit."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(app.router.lifespan_context(app)),
    ):
        yield InProcess(app, portal)
