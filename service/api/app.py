"""The service: `create_app` puts routes, errors, guards, database and workers together.

Read `service/jobs/submit.py` for what a post becomes, `service/jobs/worker.py` for who scores it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio import to_thread
from fastapi import FastAPI
from prometheus_client import CollectorRegistry
from starlette.concurrency import run_in_threadpool

from thinkeval.service import __version__
from thinkeval.service.api import (
    catalog,
    closure,
    depedit_api,
    diffs,
    edits,
    events,
    figures,
    graph_imports,
    graphs,
    health,
    neo4j_browser,
    openapi,
    problems,
    results,
    rewrites,
    rules,
    security,
    sweeps,
)
from thinkeval.service.api.connection import Connection
from thinkeval.service.api.limits import BodyLimit
from thinkeval.service.api.pages import pages_delete, pages_depedit, routes
from thinkeval.service.api.state import State
from thinkeval.service.jobs.supervisor import Supervisor
from thinkeval.service.settings import Settings

DESCRIPTION = """How deep does an edit of a language model go? Post an edit, follow it, and read its
score, the chains of facts through which the old answer still comes back, and every query by which
the numbers were taken. Errors are `application/problem+json` with `detail` and `remedy`."""

THREADS = 48
"""Requests served at a time; each waits for the database most of its time."""


def create_app(settings: Settings | None = None, *, workers: int | None = None) -> FastAPI:
    """The application.

    Args:
        workers: worker processes to keep; None takes the settings' number.
    """
    settings = settings or Settings()
    connection = Connection(settings)
    count = settings.workers if workers is None else workers
    supervisor = Supervisor(
        count, died=connection.suspect, longest_pause_s=settings.restart_pause_s
    )
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
        # Their pages load scripts from elsewhere; the document itself is at /openapi.json.
        docs_url=None,
        redoc_url=None,
        # `/v1/edits/` is another path, and a problem like any other; not a redirect without words.
        redirect_slashes=False,
        generate_unique_id_function=openapi.readable_id,
    )
    app.state.thinkeval = State(settings, connection, supervisor, extras={"registry": registry})
    problems.install(app)
    openapi.install(app)
    for part in (
        health, graphs, graph_imports, rewrites, edits, events, results, rules, closure, diffs,
        sweeps, catalog, figures, depedit_api, neo4j_browser, security, routes, pages_delete,
        pages_depedit,
    ):  # fmt: skip
        app.include_router(part.router)
    registry.register(health.Edits(connection))
    app.add_middleware(BodyLimit, upload_bytes=settings.body_limit_mb * 2**20)
    app.add_middleware(security.Guard, settings=settings)
    app.add_middleware(health.Observed, registry=registry)
    return app
