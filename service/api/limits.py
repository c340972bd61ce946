"""How much a client may send: a body that says it is too long, or turns out to be, is refused."""

from __future__ import annotations

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thinkeval.service.api import problems
from thinkeval.service.errors import Problem

JSON_LIMIT = 2**20
"""Bytes of a body that is no upload."""


class BodyLimit:
    """ASGI middleware that stops reading at the limit."""

    def __init__(self, app: ASGIApp, upload_bytes: int) -> None:
        self.app, self.upload_bytes = app, upload_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the body on as long as it is within the limit."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        upload = request.headers.get("content-type", "").startswith("multipart/form-data")
        limit = self.upload_bytes if upload else JSON_LIMIT
        said = request.headers.get("content-length", "0")
        # More digits than the limit has are too many; that far, they need not be read as a number.
        if not (said.isascii() and said.isdigit()):
            await _refused(request, f"{said!r} is no length of a body")(scope, receive, send)
            return
        if len(said) > 15 or int(said) > limit:
            await _too_long(request, limit)(scope, receive, send)
            return
        taken = 0

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > limit:
                raise HTTPException(413, f"the body exceeds {limit:,} bytes")
            return message

        await self.app(scope, counted, send)


def _refused(request: Request, why: str) -> Response:
    problem = Problem(
        title="The request was refused",
        detail=f"{request.method} {request.url.path}: {why}.",
        remedy="Send Content-Length as a number of bytes, or leave it to your HTTP library.",
        status=400,
    )
    return problems.respond(request, problem, headers={"Connection": "close"})


def _too_long(request: Request, limit: int) -> Response:
    problem = Problem(
        title="The body is too long",
        detail=f"{request.method} {request.url.path}: the body exceeds {limit:,} bytes.",
        remedy="Send less; whoever runs the service may raise THINKEVAL_BODY_LIMIT_MB for uploads.",
        status=413,
    )
    return problems.respond(request, problem, headers={"Connection": "close"})
