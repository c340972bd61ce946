"""Access control (Host allow-list, cross-site check, tokens) and limits of request bodies.

- Without THINKEVAL_API_TOKEN the service listens on this machine only and answers to its host names
  only, which defeats DNS rebinding.
- Requests that change data are refused if they come from another site's page, token or not.
- With THINKEVAL_API_TOKEN every route outside a short list requires a token: as a Bearer token, or
  as the web UI's cookie: a random session, same-site, not readable by scripts. It ends when its
  browser signs out, after 30 days, and with the service.
- THINKEVAL_API_TOKEN permits everything, THINKEVAL_READ_TOKEN what changes nothing.
- A wrong token is logged.
- A body is refused if its Content-Length, or the bytes received, exceed the limit.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
import time
from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import quote, urlsplit

from fastapi import APIRouter, Form, Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..base.errors import ForbiddenError, Problem, UsageError, describe
from ..base.settings import Settings
from . import problems

Access = Literal["read", "all"]
"""A token permits reading, or all."""

SAFE = ("GET", "HEAD", "OPTIONS")
CHANGES_NOTHING = ("/v1/graphs/preview", "/login", "/logout")
"""Paths of the operations of other methods that change no stored data."""
COOKIE = "thinkeval"
LOOPBACK = ("localhost", "127.0.0.1", "::1", "[::1]")
OPEN = ("/health", "/ready", "/login", "/favicon.ico")
OPEN_FOLDERS = ("/static/", "/neo4j/")
"""Routes that need no token: none shows stored data (`/ready` does to clients with access only)."""

WRONG = "Wrong token. Upper and lower case differ; spaces around the token are ignored."

log = logging.getLogger("thinkeval.access")

router = APIRouter(include_in_schema=False)


def require_token_elsewhere(settings: Settings, host: str) -> None:
    """Refuse to listen to other machines without a token.

    Raises:
        UsageError: says how to set a token.
    """
    if host not in LOOPBACK and settings.api_token is None:
        raise UsageError(
            f"--host {host} accepts requests from other machines, but no token is set.",
            remedy="Set THINKEVAL_API_TOKEN to at least 16 characters, for example the output of"
            " `openssl rand -hex 24`; or listen on 127.0.0.1.",
        )


def is_open(path: str) -> bool:
    """Return True if a path needs no token."""
    return path in OPEN or path.startswith(OPEN_FOLDERS)


def access_of(method: str, path: str) -> Access:
    """Return what a token has to permit for an operation."""
    return "read" if method in SAFE or path in CHANGES_NOTHING else "all"


def digest_of(token: str) -> str:
    """The SHA-256 of a token: the time that comparing digests takes tells nothing of the token."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def tokens_of(settings: Settings) -> dict[str, Access]:
    """{digest: what it permits} of the tokens that let in; empty where none is required."""
    named: dict[str, Access] = {}
    if settings.api_token is not None:
        if settings.read_token is not None:
            named[digest_of(settings.read_token.get_secret_value())] = "read"
        named[digest_of(settings.api_token.get_secret_value())] = "all"
    return named


class Sessions:
    """Browsers that showed a token; in memory only."""

    LASTS_S = 30 * 24 * 3600
    MOST = 10_000

    def __init__(self) -> None:
        self._begun: dict[str, tuple[float, str]] = {}
        """When a session ends, and the digest of the token that it was begun with."""

    def begin(self, digest: str) -> str:
        """Begin a session by the token with a digest; return the value of its cookie."""
        if len(self._begun) >= self.MOST:
            del self._begun[next(iter(self._begun))]  # the oldest
        session = secrets.token_urlsafe(32)
        self._begun[session] = time.monotonic() + self.LASTS_S, digest
        return session

    def token_of(self, session: str) -> str:
        """Digest of the token of a session that has begun and not ended; "" of others."""
        ends, digest = self._begun.get(session, (0.0, ""))
        return digest if ends > time.monotonic() else ""

    def end(self, session: str) -> None:
        """End a session, if there is one."""
        self._begun.pop(session, None)


def log_wrong_token(request: HTTPConnection) -> None:
    """Log a wrong token, without the token."""
    client = request.client.host if request.client else "unknown"
    log.warning("wrong token from %s for %r", client, request.url.path)


class Guard:
    """ASGI middleware that refuses requests without access, and adds headers to every answer.

    Args:
        known: the tokens that let in (`tokens_of`); empty to let in every request.
    """

    def __init__(
        self, app: ASGIApp, settings: Settings, sessions: Sessions, known: Mapping[str, Access]
    ) -> None:
        self.app, self.sessions, self.known = app, sessions, known
        self.hosts = {*LOOPBACK, settings.host, *settings.allowed_hosts}
        self.any_host = settings.api_token is not None and not settings.allowed_hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with a problem."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def shielded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in problems.SHIELD.items():
                    headers.setdefault(name, value)
            await send(message)

        request = Request(scope)
        refused = self._foreign_to_us(request) or self._without_access(request)
        await (refused or self.app)(scope, receive, shielded)

    def _foreign_to_us(self, request: Request) -> Response | None:
        headers, method = request.headers, request.method
        if not self.any_host and _host(headers) not in self.hosts:
            return _refuse(
                request,
                f"This service does not answer to the name {_host(headers)!r}.",
                "Use 127.0.0.1, or ask the operator to add the name to THINKEVAL_ALLOWED_HOSTS.",
                421,
            )
        if method not in SAFE and _foreign(headers):
            return _refuse(
                request,
                f"{method} {request.scope['path']} was sent by a page of another site.",
                "Use this service's web UI, or a program that sends no Origin header.",
                403,
            )
        return None

    def _without_access(self, request: Request) -> Response | None:
        """The answer to a request that is not let in; else its `state` says what it may do."""
        state, path = request.state, request.scope["path"]
        shown = _bearer(request)
        session = self.sessions.token_of(request.cookies.get(COOKIE, ""))
        found = [self.known.get(each) for each in (shown, session) if each]
        state.access = next(filter(None, found), None) if self.known else "all"
        state.signed_in = bool(self.known and session and found[-1])
        if shown and self.known and found[0] is None:
            log_wrong_token(request)
        if state.access is None:
            return None if is_open(path) else _require_token(request)
        if state.access == "read" and access_of(request.method, path) == "all":
            error = ForbiddenError(
                f"{request.method} {path} changes data; this token permits reading only.",
                remedy="Use the token that the service has in THINKEVAL_API_TOKEN.",
            )
            return problems.respond(request, describe(error))
        return None


def _bearer(request: HTTPConnection) -> str:
    """Digest of the token that a request shows; "" without one."""
    scheme, _, shown = request.headers.get("authorization", "").partition(" ")
    # Starlette decodes headers as Latin-1; a token with other letters was sent as UTF-8.
    sent = shown.strip().encode("latin-1").decode("utf-8", "surrogateescape")
    return digest_of(sent) if scheme.lower() == "bearer" and sent else ""


def _require_token(request: Request) -> Response:
    if request.method == "GET" and problems.wants_page(request):
        query = f"?{request.url.query}" if request.url.query else ""
        place = quote(request.scope["path"] + query, safe="/")
        return RedirectResponse(f"/login?next={place}", 303)
    error = ForbiddenError("This service requires a token.", status=401)
    return problems.respond(
        request, describe(error), headers={"WWW-Authenticate": 'Bearer realm="thinkeval"'}
    )


def _host(headers: Mapping[str, str]) -> str:
    try:
        return (urlsplit(f"//{headers.get('host', '')}").hostname or "").lower()
    except ValueError:  # such as an incomplete IPv6 address
        return ""


def _foreign(headers: Headers) -> bool:
    """Return True if the browser's headers say that another site's page sent the request."""
    origin = headers.get("origin")
    if origin is not None:
        own = {f"{scheme}://{headers.get('host', '')}".lower() for scheme in ("http", "https")}
        return origin.lower() not in own
    return headers.get("sec-fetch-site", "none") not in ("none", "same-origin")


def _refuse(request: Request, detail: str, remedy: str, status: int) -> Response:
    return problems.respond(
        request, Problem("The request was refused", detail, remedy, status, "forbidden")
    )


@router.get("/login")
def login_page(request: Request, next: str = "/", out: bool = False) -> Response:
    """The form for the token; `out` confirms a sign-out."""
    from .pages.routes import login_form

    return login_form(request, next=_own_path(next), error=None, out=out)


@router.post("/login")
async def login(
    request: Request, token: Annotated[str, Form()], next: Annotated[str, Form()] = "/"
) -> Response:
    """Begin a session, whose cookie is set, if the token is right."""
    from .pages.routes import login_form

    digest = digest_of(token.strip())
    if digest not in request.app.state.thinkeval.extras["tokens"]:
        log_wrong_token(request)
        return login_form(request, next=_own_path(next), error=WRONG)
    response = RedirectResponse(_own_path(next), 303)
    response.set_cookie(
        COOKIE,
        _sessions(request).begin(digest),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
        max_age=Sessions.LASTS_S,
    )
    return response


def _sessions(request: Request) -> Sessions:
    return request.app.state.thinkeval.extras["sessions"]


@router.post("/logout")
def logout(request: Request) -> Response:
    """End the session, and delete its cookie."""
    _sessions(request).end(request.cookies.get(COOKIE, ""))
    response = RedirectResponse("/login?out=1", 303)
    response.delete_cookie(COOKIE)
    return response


def _own_path(path: str) -> str:
    """The path if it belongs to this service, else the front page: no redirect to other sites."""
    own = path.startswith("/") and not path.startswith(("//", "/\\"))
    return path if own and path.isprintable() else "/"


JSON_LIMIT = 2**20
"""Maximum bytes of a body that is not an upload."""


class BodyLimit:
    """ASGI middleware that stops reading a body at the limit."""

    def __init__(self, app: ASGIApp, upload_bytes: int) -> None:
        self.app, self.upload_bytes = app, upload_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the body on while it is within the limit."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        upload = request.headers.get("content-type", "").startswith("multipart/form-data")
        limit = self.upload_bytes if upload else JSON_LIMIT
        length = request.headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()):
            reason = f"Content-Length {length!r} is not a number"
            await _refused(request, reason)(scope, receive, send)
            return
        # Above 15 digits it exceeds every limit, and parsing thousands of digits is slow.
        if len(length) > 15 or int(length) > limit:
            await _too_long(request, limit)(scope, receive, send)
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                raise HTTPException(413, f"the body exceeds {limit:,} bytes")
            return message

        await self.app(scope, counted, send)


def _refused(request: Request, reason: str) -> Response:
    problem = Problem(
        title="The request was refused",
        detail=f"{request.method} {request.url.path}: {reason}.",
        remedy="Send Content-Length as a number of bytes, or let the HTTP library set it.",
        status=400,
        code="refused",
    )
    return problems.respond(request, problem, headers={"Connection": "close"})


def _too_long(request: Request, limit: int) -> Response:
    problem = Problem(
        title="The request body is too large",
        detail=f"{request.method} {request.url.path}: the body exceeds {limit:,} bytes.",
        remedy="Send less, or ask the operator to raise THINKEVAL_BODY_LIMIT_MB for uploads.",
        status=413,
        code="too-large",
    )
    return problems.respond(request, problem, headers={"Connection": "close"})
