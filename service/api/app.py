"""The application: `create_app` assembles routes, errors, access control, database and workers.

`run` serves it on a socket. `service/jobs/submit.py` accepts jobs, `service/jobs/worker.py` runs
them.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing

import uvicorn
from anyio import to_thread
from fastapi import FastAPI
from prometheus_client import CollectorRegistry
from starlette.concurrency import run_in_threadpool

from .. import __version__, logs
from ..errors import UsageError
from ..jobs.supervisor import Supervisor
from ..settings import Settings
from ..worker import KINDS, supervised
from . import (
    catalog,
    depedit,
    experiments,
    graphs,
    health,
    leakcut,
    openapi,
    problems,
    results,
    rules,
    security,
)
from .connection import Connection
from .growth import crawl, export, review
from .pages import experiment, growth, routes
from .pages.data import routes as data_pages
from .pages.edit import routes as edit_routes
from .pages.experiments import routes as experiment_pages
from .root_path import RootPath
from .security import BodyLimit, require_token_elsewhere
from .state import State

DESCRIPTION = """How deep does an edit of a language model go? Submit an edit, follow it, and read
its score, the chains of facts through which the old answer still leaks, and every query that the
numbers were computed with. Errors are `application/problem+json` with `detail` and `remedy`."""

THREADS = 48
"""Requests served concurrently; each waits for the database most of its time."""


ROUTERS = (
    health.router, graphs.router, results.router,
    leakcut.router, *experiments.ROUTERS, experiments.audits, rules.router,
    rules.closure_router, results.diff_router, catalog.router,
    results.figures_router, depedit.router, export.router, review.router,
    crawl.router, catalog.browser_router, security.router, routes.router, edit_routes.router,
    data_pages.router,
    routes.depedit_router, growth.router, *experiment.ROUTERS,
    experiment_pages.router,
)  # fmt: skip


def create_app(settings: Settings | None = None, *, workers: int | None = None) -> FastAPI:
    """The application.

    Args:
        workers: number of worker processes; None for the number in the settings.
    """
    settings = settings or Settings()
    connection = Connection(settings, KINDS)
    count = settings.workers if workers is None else workers
    supervisor = Supervisor(
        count,
        supervised,
        connection.service,
        connection.worker_exited,
        longest_pause_s=settings.restart_pause_s,
    )
    connection.kill = supervisor.kill
    registry = CollectorRegistry()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = THREADS
        connection.start()
        supervisor.start()
        yield
        await run_in_threadpool(supervisor.close)
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
        generate_unique_id_function=openapi.readable_id,
    )
    app.state.thinkeval = State(settings, connection, supervisor, extras={"registry": registry})
    problems.install(app)
    openapi.install(app)
    for router in ROUTERS:
        app.include_router(router)
    registry.register(health.Edits(connection))
    app.add_middleware(BodyLimit, upload_bytes=settings.body_limit_mb * 2**20)
    app.add_middleware(security.Guard, settings=settings)
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
"""Seconds that open event streams may delay a shutdown."""


def run(settings: Settings) -> None:
    """Serve until a signal stops the process.

    Raises:
        UsageError: the port is in use, or --host admits other machines without a token.
    """
    require_token_elsewhere(settings, settings.host)
    with closing(_listen(settings)) as listener:
        port = listener.getsockname()[1]
        logs.set_up()
        app = create_app(settings)
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=GRACE_S,
            server_header=False,
        )
        shown = f"[{settings.host}]" if ":" in settings.host else settings.host
        shown = "127.0.0.1" if shown in ("0.0.0.0", "[::]") else shown
        print(  # noqa: T201
            f"ThinkEval is at http://{shown}:{port}{settings.root_path}/ (REST: /v1, /docs)."
            " Ctrl-C stops it.",
            file=sys.stderr,
            flush=True,
        )
        uvicorn.Server(config).run(sockets=[listener])


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
