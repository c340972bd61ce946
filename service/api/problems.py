"""Every error in one shape: application/problem+json (RFC 9457) with `detail` and `remedy`.

Routes raise; nothing here or there builds an error by hand. A browser that asks for a page gets the
same words as a page.
"""

from __future__ import annotations

import json
import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from thinkeval.cypher.errors import ServerUnavailableError
from thinkeval.service.errors import KNOWN_ERRORS, Problem, QueueFullError, describe

log = logging.getLogger("thinkeval.api")

MEDIA_TYPE = "application/problem+json"

_REMEDIES = {
    404: "`/openapi.json` lists every route.",
    405: "`/openapi.json` says which methods a route takes.",
    413: "Send less, or let whoever runs the service raise THINKEVAL_BODY_LIMIT_MB.",
}


class ProblemOut(BaseModel):
    """An error: what and where, and what to do about it."""

    type: str = "about:blank"
    title: str = Field(examples=["There is nothing of that name; close names are suggested"])
    status: int = Field(examples=[404])
    detail: str = Field(examples=["There is no edit 'rome-harry'. Did you mean 'rome-harry-1'?"])
    remedy: str = Field(examples=["`thinkeval edits` lists them."])
    instance: str | None = Field(default=None, description="The path that was asked for.")
    errors: list[dict[str, Any]] = Field(
        default=[], description="Of a body that does not fit: each place and what is wrong there."
    )


DESCRIBED: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "An error: `detail` says what and where, `remedy` what to do next. 401 and"
        " 403: who asks may not. 404: there is no such thing, close names are suggested. 422: what"
        " was sent does not fit. 503: the database is not there (yet); `Retry-After` says when to"
        " ask again.",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemOut"}}},
    }
}
"""`responses=` of every route."""


class ProblemResponse(JSONResponse):
    """A problem as JSON. It may quote what was sent, and that may be no proper Unicode."""

    media_type = MEDIA_TYPE

    def render(self, content: Any) -> bytes:
        """JSON in ASCII: half a surrogate pair has no UTF-8, but it has an escape."""
        return json.dumps(content).encode("ascii")


def install(app: FastAPI) -> None:
    """Let every error of every route take this shape."""
    for kind in KNOWN_ERRORS:
        app.add_exception_handler(kind, _known)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unknown)


def respond(
    request: Request,
    problem: Problem,
    *,
    headers: dict[str, str] | None = None,
    errors: list[dict[str, Any]] | None = None,
) -> Response:
    """The problem as JSON; as a page where a browser asked for one."""
    if wants_page(request):
        from thinkeval.service.api.pages.routes import error_page

        return error_page(request, problem, headers or {})
    told: dict[str, Any] = {
        "type": "about:blank",
        "title": problem.title,
        "status": problem.status,
        "detail": problem.detail,
        "remedy": problem.remedy,
        "instance": request.url.path,
    }
    if errors:
        told["errors"] = errors
    return ProblemResponse(told, problem.status, headers)


def wants_page(request: Request) -> bool:
    """Whether a person looks at it in a browser."""
    path = request.url.path
    programs = ("/v1/", "/static/", "/assets/", "/neo4j/", "/metrics", "/health", "/ready")
    return "text/html" in request.headers.get("accept", "") and not path.startswith(programs)


def _known(request: Request, error: Exception) -> Response:
    problem = describe(error)
    headers = {}
    if isinstance(error, ServerUnavailableError):
        request.app.state.thinkeval.connection.suspect()
        headers["Retry-After"] = "2"
    if isinstance(error, QueueFullError):
        headers["Retry-After"] = str(error.retry_after_s)
    if problem.status >= 500 and not isinstance(error, ServerUnavailableError):  # that is told once
        log.warning("%s %r: %s", request.method, request.url.path, problem.detail)
    return respond(request, problem, headers=headers)


def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = [
        {"where": ".".join(str(part) for part in each["loc"]), "what": each["msg"]}
        for each in error.errors()
    ]
    first = found[0] if found else {"where": "body", "what": "it cannot be read"}
    problem = Problem(
        title="What was sent does not fit",
        detail=f"{first['where']}: {first['what']}"
        + (f" (and {len(found) - 1} more)" if len(found) > 1 else "")
        + ".",
        remedy="Correct the places named in `errors`; `/openapi.json` describes what fits.",
        status=422,
    )
    return respond(request, problem, errors=found)


def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    problem = Problem(
        title="No such route" if error.status_code == 404 else "The request was refused",
        detail=f"{request.method} {request.url.path}: {error.detail}.",
        remedy=_REMEDIES.get(error.status_code, "See `/openapi.json`."),
        status=error.status_code,
    )
    return respond(request, problem, headers=dict(error.headers or {}))


def _unknown(request: Request, error: Exception) -> Response:
    log.exception("%s %r", request.method, request.url.path, exc_info=error)
    problem = Problem(
        title="A defect of ours",
        detail=f"{type(error).__name__}; the service's log has the details.",
        remedy="Report it with what you sent; nothing stored was harmed by it.",
        status=500,
    )
    return respond(request, problem)
