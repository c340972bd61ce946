"""The application: `create_app` assembles routes, errors, access control, database and workers.

`run` serves it on a socket. `service/experiments/submit.py` accepts jobs, and
`service/engines` runs them.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from anyio import to_thread
from fastapi import Depends, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from prometheus_client import CollectorRegistry
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .. import __version__
from ..base import processes
from ..base.errors import UsageError
from ..base.settings import Settings
from ..engines.dispatcher import Dispatcher
from ..engines.start import start_engine
from ..kinds import KINDS
from ..worker import KINDS as WORKER_KINDS
from ..worker import make_executor
from . import (
    catalog,
    depedit,
    edits,
    experiments,
    graphs,
    health,
    leakcut,
    operations,
    problems,
    security,
)
from . import growth as growth_api
from .pages import edit as edit_routes
from .pages import experiments as experiment_pages
from .pages import growth, routes
from .pages import routes as data_pages
from .problems import ProblemOut
from .security import COOKIE, BodyLimit, access_of, is_open, require_token_elsewhere
from .state import Connection, State

# Additions to the OpenAPI document that FastAPI writes: errors, security, tags.
#
# `tests/acceptance/service/api/test_openapi.py` compares the running service with the document.

CORE = (
    "GET /health", "GET /v1/graphs", "POST /v1/graphs", "POST /v1/graphs/import",
    "GET /v1/rewrites", "POST /v1/edits", "GET /v1/edits", "GET /v1/edits/{id}",
    "DELETE /v1/edits/{id}", "GET /v1/edits/{edit}/chains",
    "GET /v1/edits/{edit}/figures/{kind}.{fmt}", "POST /v1/sweeps", "GET /v1/sweeps/{id}",
    "GET /v1/sweeps/{id}/tables/{name}", "POST /v1/comparisons", "GET /v1/comparisons/{id}",
    "GET /v1/leaderboard", "GET /v1/methods", "GET /v1/queries",
)  # fmt: skip
"""What most clients need, of all subjects: the first group of the document."""

TAGS = {
    "core": "What most clients need: graphs, rewrites, edits, sweeps, comparisons, tables, figures,"
    " queries.",
    "graphs": "Stored graphs, import of data sets, rewrite requests.",
    "edits": "Submit an edit for scoring, follow it, cancel and delete it.",
    "results": "Results of scored edits: score, chains, leaking facts, graph, queries.",
    "rules": "If-Then rules of a data set: mining, labels, groundings, closures, implications.",
    "sweeps": "Several methods on several rewrites, and their table.",
    **{kind.plural: kind.about for kind in KINDS},
    "depedit": "Establish and update: knowledge sets, runs of the protocol, and their tables.",
    "catalogue": "Methods, models, metrics, the text of every query, and the leaderboard.",
    "figures": "Figures of stored edits as PNG, SVG or PDF.",
    "service": "Health and metrics, for the operator of the service.",
}

SECURITY = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "THINKEVAL_API_TOKEN of the service, which permits all, or"
        " THINKEVAL_READ_TOKEN, which permits reading; an operation lists which it requires."
        " Without any token, none is required.",
    },
    "cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": COOKIE,
        "description": "Set by `POST /login` for the web UI: a session, same-site; it ends with"
        " `POST /logout`.",
    },
}


def readable_id(route: APIRoute) -> str:
    """Operation id of a route: the function's name, which generated clients use for methods."""
    return route.name


def install(app: FastAPI) -> None:
    """Serve the extended document at `/openapi.json`; it is built at the first request."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]


def _document(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title=app.title,
        version=app.version,
        summary=app.summary,
        description=app.description,
        routes=app.routes,
        servers=app.servers or None,
        tags=[{"name": name, "description": text} for name, text in TAGS.items()],
    )
    parts = document["components"]
    parts["schemas"]["ProblemOut"] = ProblemOut.model_json_schema(
        ref_template="#/components/schemas/{model}"
    )
    parts["securitySchemes"] = SECURITY
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            access = access_of(method.upper(), path)
            required = [{}, *({name: [access]} for name in SECURITY)]
            operation["security"] = [] if is_open(path) else required
            if f"{method.upper()} {path}" in CORE:
                operation["tags"] = ["core"]
    return document


# A service below a path of another server's (`https://HOST/thinkeval`), behind a proxy.
#
# The application knows nothing of the path. This middleware takes it off the requests of a proxy
# that does not strip it, and puts it before the paths of responses: `Location`, the cookie,
# `links` and `instance` of JSON, and the addresses in a page's HTML. Scripts find it by their own
# address (`static/root.js`). The path is set by the operator, never by a header of a request.

_ADDRESS = re.compile(rb"(?<=\s)((?:href|src|action|formaction)=[\"'])(/(?!/)[^\"']*)")
_COOKIE_PATH = re.compile(r"(;\s*path=)/(?=;|$)", re.IGNORECASE)
_JSON = ("application/json", "application/problem+json")
_DOCUMENT = "/openapi.json"
"""Its examples have the paths of the application; its `servers` have the root path."""


class RootPath:
    """ASGI middleware that serves an application below a path.

    Args:
        root: the path, such as `/thinkeval`.
    """

    def __init__(self, app: ASGIApp, root: str) -> None:
        self.app, self.root = app, root

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on without the path, and the response with it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path = scope["path"]
        if path == self.root or path.startswith(f"{self.root}/"):
            raw = scope.get("raw_path") or path.encode()
            scope = {
                **scope,
                "path": path[len(self.root) :] or "/",
                "raw_path": raw[len(self.root) :] or b"/",
            }
        await self.app(scope, receive, _Sender(self, scope, send))

    def at(self, path: str) -> str:
        """The path as a client names it."""
        own = path.startswith("/") and not path.startswith("//")
        return self.root + path if own and not self._has_root(path) else path

    def _has_root(self, path: str) -> bool:
        return re.match(rf"{re.escape(self.root)}(?:[/?#]|$)", path) is not None

    def location(self, address: str, host: str) -> str:
        """A redirection's address; one on another host is left as it is."""
        parts = urlsplit(address)
        if parts.netloc and parts.netloc.lower() != host.lower():
            return address
        return parts._replace(path=self.at(parts.path)).geturl()

    def page(self, body: bytes) -> bytes:
        """HTML with the path before its addresses; a text's quotes are escaped in it."""
        return _ADDRESS.sub(lambda m: m[1] + self.at(m[2].decode()).encode(), body)

    def content(self, body: bytes) -> bytes:
        """JSON with the path in its `links` and `instance`; unchanged where it has none."""
        try:
            found = json.loads(body)
        except ValueError:
            return body
        if not self._linked(found):
            return body
        return json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()

    def _linked(self, node: Any) -> bool:
        """Change the links of a JSON value in place; return True if there is any."""
        inner = node if isinstance(node, list) else node.values() if isinstance(node, dict) else ()
        changed = sum(self._linked(each) for each in inner) > 0
        if not isinstance(node, dict):
            return changed
        links = node.get("links")
        places = [(links, key) for key in links] if isinstance(links, dict) else []
        if "instance" in node and "detail" in node:
            places.append((node, "instance"))
        for place, key in places:
            if isinstance(value := place[key], str) and value.startswith("/"):
                place[key], changed = self.at(value), True
        return changed


class _Sender:
    """Sends a response with the path; bodies of pages and JSON are sent as one."""

    def __init__(self, middleware: RootPath, scope: Scope, send: Send) -> None:
        self._middleware, self._path, self._send = middleware, scope["path"], send
        self._host = Headers(scope=scope).get("host", "")
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if (address := headers.get("location")) is not None:
                headers["location"] = self._middleware.location(address, self._host)
            message["headers"] = [
                (name, self._cookie(value) if name == b"set-cookie" else value)
                for name, value in message["headers"]
            ]
            kind = headers.get("content-type", "").partition(";")[0]
            download = headers.get("content-disposition", "").startswith("attachment")
            json_ = kind in _JSON and self._path != _DOCUMENT
            if (kind == "text/html" or json_) and not download:
                self._start, self._json = message, json_
                return
        elif message["type"] == "http.response.body" and self._start is not None:
            self._body += message.get("body", b"")
            if message.get("more_body", False):
                return
            change = self._middleware.content if self._json else self._middleware.page
            body, start = change(self._body), self._start
            if self._body:  # of HEAD and 304 there is none, and their length is another's
                MutableHeaders(scope=start)["content-length"] = str(len(body))
            self._start = None
            await self._send(start)
            message = {**message, "body": body}
        await self._send(message)

    def _cookie(self, value: bytes) -> bytes:
        root = self._middleware.root
        return _COOKIE_PATH.sub(lambda m: m[1] + root, value.decode("latin-1")).encode("latin-1")


DESCRIPTION = """How deep does an edit of a language model go? Submit an edit, follow it, and read
its score, the chains of facts through which the old answer still leaks, and every query that the
numbers were computed with. Errors are `application/problem+json` with `code`, `detail` and
`remedy`."""

THREADS = 48
"""Requests served concurrently; each waits for the database most of its time."""


ROUTERS = (
    health.router, graphs.router, edits.router, leakcut.router, *experiments.ROUTERS,
    experiments.audits, operations.ROUTER, catalog.router,
    edits.figures_router, depedit.router, growth_api.export_router, growth_api.router,
    catalog.browser_router, security.router, routes.router,
    edit_routes.router, data_pages.data_router, routes.depedit_router, growth.router,
    *experiment_pages.ROUTERS, experiment_pages.router,
)  # fmt: skip


def create_app(
    settings: Settings | None = None, *, workers: int | None = None, guarded: bool = True
) -> FastAPI:
    """The application.

    Args:
        workers: number of worker processes; None for the number in the settings.
        guarded: False to let in every request, where none comes from another process.
    """
    settings = settings or Settings()
    connection = Connection(settings)
    count = settings.workers if workers is None else workers
    engine = start_engine(settings, make_executor, count)
    dispatcher = Dispatcher(
        settings, WORKER_KINDS, engine, count, connection.waited, connection.suspect
    )
    registry = CollectorRegistry()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = THREADS
        connection.start()
        dispatcher.start()
        yield
        await run_in_threadpool(dispatcher.close)
        await run_in_threadpool(connection.close)

    app = FastAPI(
        title="ThinkEval",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        # FastAPI's own page loads its scripts from a CDN; that of `pages/routes.py` has them here.
        docs_url=None,
        redoc_url=None,
        # `/v1/edits/` is another path: a 404 with a problem, not a redirect.
        redirect_slashes=False,
        servers=[{"url": settings.root_path}] if settings.root_path else None,
        generate_unique_id_function=readable_id,
    )
    sessions = security.Sessions()
    tokens = security.tokens_of(settings) if guarded else {}
    extras = {"registry": registry, "sessions": sessions, "tokens": tokens}
    app.state.thinkeval = State(settings, connection, dispatcher, extras=extras)
    problems.install(app, [route for router in ROUTERS for route in router.routes])
    install(app)
    for router in ROUTERS:
        checks = (problems.known_query, problems.strict_body)
        checked = [Depends(each) for each in checks] if router.prefix.startswith("/v1") else []
        app.include_router(router, dependencies=checked)
    registry.register(health.Edits(connection))
    app.add_middleware(BodyLimit, upload_bytes=settings.body_limit_mb * 2**20)
    app.add_middleware(security.Guard, settings=settings, sessions=sessions, known=tokens)
    app.add_middleware(health.Observed, registry=registry)
    if settings.root_path:
        _require_free(settings.root_path)
        app.add_middleware(RootPath, root=settings.root_path)
    return app


def _require_free(root: str) -> None:
    """Refuse a root path that is a path of the service: a link would be read as having it.

    Raises:
        UsageError: it is one.
    """
    paths = [getattr(route, "path", "") for router in ROUTERS for route in router.routes]
    if root.split("/")[1] in {path.split("/")[1] for path in paths if path}:
        raise UsageError(
            f"The root path {root} begins as pages of the service do.",
            remedy="Choose another one, such as /thinkeval.",
        )


GRACE_S = 5
"""Seconds that requests under way may delay a shutdown."""


def run(settings: Settings) -> None:
    """Serve until a signal stops the process.

    Raises:
        UsageError: the port is in use, --host admits other machines without a token, or the
            certificate cannot be used.
    """
    require_token_elsewhere(settings, settings.host)
    tls = _tls(settings)
    with closing(_listen(settings)) as listener:
        port = listener.getsockname()[1]
        processes.set_up()
        app = create_app(settings)
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=GRACE_S,
            server_header=False,
            **tls,
        )
        scheme = "https" if tls else "http"
        shown = f"[{settings.host}]" if ":" in settings.host else settings.host
        shown = "127.0.0.1" if shown in ("0.0.0.0", "[::]") else shown
        print(  # noqa: T201
            f"ThinkEval is at {scheme}://{shown}:{port}{settings.root_path}/ (REST: /v1, /docs)."
            " Ctrl-C stops it.",
            file=sys.stderr,
            flush=True,
        )
        uvicorn.Server(config).run(sockets=[listener])


def _tls(settings: Settings) -> dict[str, Any]:
    """Return the options of uvicorn for https; none for http.

    Raises:
        UsageError: a file is missing, cannot be read, or does not fit the other one.
    """
    cert, key = settings.tls_cert, settings.tls_key
    if cert is None and key is None:
        return {}
    if cert is None or key is None:
        raise UsageError(
            "A certificate and its key go together, but only one of them is given.",
            remedy="Give --tls-cert and --tls-key, or THINKEVAL_TLS_CERT and THINKEVAL_TLS_KEY.",
        )
    for path in (cert, key):
        try:
            path.open("rb").close()
        except OSError as error:
            raise UsageError(
                f"{path} cannot be read: {error.strerror or error}.",
                remedy="Check the path, and that the user of the service may read it.",
            ) from error
    try:
        # A key with a password is refused, where the library would ask for it on the terminal.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password="")
    except ssl.SSLError as error:
        raise UsageError(
            f"The certificate {cert} and the key {key} cannot be used: {error.reason or error}.",
            remedy="Give the PEM files of a certificate and of its own key, without a password.",
        ) from error
    return {"ssl_certfile": str(cert), "ssl_keyfile": str(key)}


def _listen(settings: Settings) -> socket.socket:
    """The socket, bound before anything is started, so that a port in use is reported at once."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(512)
    except OSError as error:
        listener.close()
        raise UsageError(
            f"Cannot listen on {settings.host}:{settings.port}: {error.strerror or error}.",
            remedy="Choose another --port (0: any free one) or --host.",
        ) from error
    return listener
