"""Additions to the OpenAPI document that FastAPI writes: errors, security, tags.

`tests/acceptance/service/api/test_openapi.py` compares the running service with the document.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from ..kinds import KINDS
from .problems import ProblemOut
from .security import COOKIE, is_open

TAGS = {
    "graphs": "Stored graphs, import of data sets, rewrite requests.",
    "edits": "Submit an edit for scoring, follow it, cancel and delete it.",
    "results": "Results of scored edits: score, chains, leaking facts, graph, queries, diff.",
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
        "description": "The service's THINKEVAL_API_TOKEN. If none is set, the service listens on"
        " its own machine only and requires none.",
    },
    "cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": COOKIE,
        "description": "Set by `POST /login` for the web UI: same-site, derived from the token.",
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
    document["security"] = [{}, *({name: []} for name in SECURITY)]
    for path, operations in document["paths"].items():
        for operation in operations.values():
            if is_open(path):
                operation["security"] = []
    return document
