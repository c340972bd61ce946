"""The OpenAPI document: the errors' one shape, who may come in, and examples of answers.

FastAPI writes it from the routes; here is added what they cannot say. `tests/acceptance/
test_service_schema.py` holds the running service to all of it.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from thinkeval.service.api.examples import EXAMPLES
from thinkeval.service.api.problems import ProblemOut
from thinkeval.service.api.security import COOKIE, is_open

TAGS = {
    "graphs": "Data sets in and out; their rewrite requests.",
    "edits": "Post an edit to be scored, follow it, cancel and remove it.",
    "results": "What a scored edit did: score, chains, leaking facts, graph, queries, diff.",
    "sweeps": "Several methods on several rewrites, and the table they give.",
    "depedit": "Establish and update: knowledge sets, runs of the protocol, and their tables.",
    "catalogue": "Methods, models, metrics, the text of every query, and the leaderboard.",
    "figures": "Figures of stored edits as PNG, SVG or PDF.",
    "service": "For whoever keeps the service running.",
}

SECURITY = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "The service's THINKEVAL_API_TOKEN. Without one set, the service listens on"
        " its own machine only and asks for none.",
    },
    "cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": COOKIE,
        "description": "Set by `POST /login` for the page: same-site, derived from the token.",
    },
}


def readable_id(route: APIRoute) -> str:
    """Operation ids are the names of the functions: what generated clients call their methods."""
    return route.name


def install(app: FastAPI) -> None:
    """Let `/openapi.json` be the whole document, made at the first request."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]


def _document(app: FastAPI) -> dict[str, Any]:
    told = get_openapi(
        title=app.title,
        version=app.version,
        summary=app.summary,
        description=app.description,
        routes=app.routes,
        tags=[{"name": name, "description": text} for name, text in TAGS.items()],
    )
    parts = told["components"]
    parts["schemas"]["ProblemOut"] = ProblemOut.model_json_schema(
        ref_template="#/components/schemas/{model}"
    )
    parts["securitySchemes"] = SECURITY
    told["security"] = [{}, *({name: []} for name in SECURITY)]
    for path, operations in told["paths"].items():
        for operation in operations.values():
            if is_open(path):
                operation["security"] = []
            _add_examples(operation)
    return told


def _add_examples(operation: dict[str, Any]) -> None:
    for status, example in EXAMPLES.get(operation["operationId"], {}).items():
        operation["responses"][status]["content"]["application/json"]["example"] = example
