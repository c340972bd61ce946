"""/health, /ready, /metrics: routes for the operator of the service."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress

from fastapi import APIRouter, Request
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector
from pydantic import BaseModel, Field
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...cypher import rows
from ...cypher.errors import GraphError
from .. import __version__
from ..base.errors import describe
from ..depedit.kind import DEPEDIT
from ..experiments import queue as jobs
from ..models.edit import Status
from .problems import DESCRIBED, RETRY_S
from .state import JSON, AppState, Connection, State

router = APIRouter(tags=["service"], responses=DESCRIBED)

BUCKETS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Health(BaseModel):
    """Liveness of the process."""

    status: str = Field(default="ok", description="ok.")
    version: str = Field(default=__version__, description="Version of ThinkEval.")


class WorkerOut(BaseModel):
    """A worker and its current job; `edit` and `job` are null while it is idle."""

    id: str = Field(description="Id of the worker.")
    device: str = Field(description="Device that it computes on.")
    edit: str | None = Field(description="Id of the edit that it scores; null while idle.")
    job: str | None = Field(description="DepEdit job that it is running.")
    silent_s: float = Field(description="Seconds since the last message of its dispatcher.")


class Readiness(BaseModel):
    """Readiness of the service for edits: all that a client without the token is shown."""

    ready: bool = Field(description="True if edits can be submitted.")


class Ready(Readiness):
    """The service can accept edits: the database answers."""

    ready: bool = Field(default=True, description="True if edits can be submitted.")
    database: str = Field(description="Address of the database.")
    browser: str | None = Field(description="Address of Neo4j Browser; null if it is unknown.")
    queue: dict[Status, int] = Field(description="Edits by status.")
    jobs: dict[Status, int] = Field(description="DepEdit jobs by status.")
    queue_limit: int = Field(description="Edits that may wait at once.")
    workers: list[WorkerOut] = Field(description="The workers.")


@router.get("/health", response_model=Health, summary="Check that the process answers")
def health() -> Health:
    """Check nothing else; `/ready` checks that edits can be submitted."""
    return Health()


@router.get(
    "/ready",
    response_model=Ready | Readiness,
    responses={503: {"description": "The database is not available; `ready` is false."}},
    summary="Check that edits can be submitted and read",
)
def ready(request: Request, here: AppState) -> Ready | Response:
    """The queue and the workers; 503 with the reason while the database is not available.

    If the service requires a token, a client without one gets `ready` alone.
    """
    if request.state.access:
        return _details(here)
    try:
        _details(here)
    except GraphError as error:
        here.connection.suspect()
        headers = {"Retry-After": str(RETRY_S)} if describe(error).status == 503 else {}
        return _readiness(False, describe(error).status, headers)
    return _readiness(True)


def _readiness(
    is_ready: bool, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    body = Readiness(ready=is_ready).model_dump_json()
    return Response(body, status, headers, media_type=JSON)


def _details(here: State) -> Ready:
    """Readiness with the database's address, the queue and the workers.

    Raises:
        GraphError: the database does not answer.
    """
    db = here.connection.get()
    workers = [
        WorkerOut(
            id=w.id,
            device=w.device or "",
            edit=w.job if w.kind == jobs.EDIT else None,
            job=None if w.kind == jobs.EDIT else w.job,
            silent_s=max(w.silent_s, 0.0),
        )
        for w in db.read(rows.WorkerRow, "jobs/workers")
    ]
    return Ready(
        database=db.uri,
        browser=here.connection.browser or None,
        queue=jobs.counts(db),
        jobs=jobs.counts(db, kind=DEPEDIT.name),
        queue_limit=here.settings.queue_limit,
        workers=workers,
    )


@router.get(
    "/metrics",
    summary="Get metrics for Prometheus",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
def metrics(here: AppState) -> Response:
    """Requests by route and status, edits and jobs by status, workers; Prometheus' text format."""
    registry: CollectorRegistry = here.extras["registry"]
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


class Edits(Collector):
    """Edits and jobs by status, and workers, read from the database at each scrape.

    Absent while the database is not available.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def collect(self) -> Iterator[Metric]:
        """The gauges."""
        with suppress(GraphError):
            db = self.connection.get()
            edits = GaugeMetricFamily("thinkeval_edits", "Edits by status", labels=["status"])
            for status, count in jobs.counts(db).items():
                edits.add_metric([status], count)
            jobs_gauge = GaugeMetricFamily(
                "thinkeval_protocol_jobs", "DepEdit jobs by status", labels=["status"]
            )
            for status, count in jobs.counts(db, kind=DEPEDIT.name).items():
                jobs_gauge.add_metric([status], count)
            workers = GaugeMetricFamily("thinkeval_workers", "Workers that a dispatcher runs")
            workers.add_metric([], len(db.read(rows.WorkerRow, "jobs/workers")))
            yield edits
            yield jobs_gauge
            yield workers


class Observed:
    """ASGI middleware that counts requests and their duration, by route and status."""

    def __init__(self, app: ASGIApp, registry: CollectorRegistry) -> None:
        self.app = app
        labels = ("method", "route", "status")
        self.requests = Counter(
            "thinkeval_requests", "Requests answered", labels, registry=registry
        )
        self.seconds = Histogram(
            "thinkeval_request_seconds",
            "Time to the first byte",
            ("route",),
            buckets=BUCKETS,
            registry=registry,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                # The route's pattern, not the path: ids would make a counter of each edit.
                route = getattr(scope.get("route"), "path", "other")
                self.requests.labels(scope["method"], route, str(message["status"])).inc()
                self.seconds.labels(route).observe(time.perf_counter() - began)
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except Exception:  # an outer middleware answers 500, which is not visible here
            route = getattr(scope.get("route"), "path", "other")
            self.requests.labels(scope["method"], route, "500").inc()
            raise
