"""Errors as application/problem+json (RFC 9457) with `detail` and `remedy`, on every route.

Routes raise exceptions; only this module turns them into responses. A browser that requests a page
gets the same text as a page.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any

from fastapi import FastAPI, Header, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Match, Route

from ...cypher.errors import ServerUnavailableError
from ..base.errors import (
    CODES,
    KNOWN_ERRORS,
    Problem,
    QueueFullError,
    close_names,
    describe,
    did_you_mean,
)

log = logging.getLogger("thinkeval.api")

MEDIA_TYPE = "application/problem+json"
RETRY_S = 2
"""`Retry-After` while the database is not available."""

TYPE = "urn:thinkeval:problem:"
"""Beginning of every `type`; the code follows."""

_CODES = {404: "no-such-route", 405: "method-not-allowed", 413: "too-large"}
_REMEDIES = {
    404: "`/openapi.json` lists every route.",
    405: "`/openapi.json` says which methods a route takes.",
    413: "Send less, or ask the operator to raise THINKEVAL_BODY_LIMIT_MB.",
}


class ProblemOut(BaseModel):
    """An error: its cause and place, and the remedy."""

    type: str = Field(
        examples=[f"{TYPE}not-found"], description=f"Kind of problem, as a URI: {TYPE} and `code`."
    )
    code: str = Field(
        examples=["not-found"],
        description=f"Kind of problem, for programs: {', '.join(CODES)}.",
    )
    title: str = Field(examples=["Not found"], description="The kind of error.")
    status: int = Field(examples=[404], description="HTTP status.")
    detail: str = Field(
        examples=["There is no edit 'rome-harry'. Did you mean 'rome-harry-1'?"],
        description="The cause and its place.",
    )
    remedy: str = Field(
        examples=["`thinkeval results edits` lists them."], description="The remedy."
    )
    instance: str | None = Field(default=None, description="The path of the request.")
    errors: list[dict[str, Any]] = Field(
        default=[], description="Of an invalid request: each place, and its defect."
    )


DESCRIBED: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "An error: `code` names its kind, `detail` gives cause and place, `remedy`"
        " the next action."
        " 401 and 403: access denied. 404: no such resource. 422: the request is invalid. 503: the"
        " database is not available (yet); `Retry-After` says when to try again.",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemOut"}}},
    }
}
"""`responses=` of every route."""

QUEUE_FULL: dict[str, Any] = {
    "description": "The queue is full; `Retry-After` says when to try again.",
    "content": DESCRIBED["default"]["content"],
}
"""Response 429 of a route that submits a job."""

IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=200,
        description="A request with the same key is executed once.",
    ),
]
"""Header of a route that submits a job."""


class ProblemResponse(JSONResponse):
    """A problem as JSON, in ASCII: it may quote a request that is not valid Unicode."""

    media_type = MEDIA_TYPE

    def render(self, content: Any) -> bytes:
        """JSON in ASCII: half a surrogate pair has no UTF-8 form, but it has an escape."""
        return json.dumps(content).encode("ascii")


def install(app: FastAPI, routes: Sequence[BaseRoute]) -> None:
    """Register the handlers of all errors.

    Args:
        routes: of the application; `Allow` lists their methods.
    """
    app.state.routes = routes
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
    """The response of a problem: JSON, or a page if a browser requested one."""
    if wants_page(request):
        from .pages.routes import error_page

        return error_page(request, problem, headers or {})
    content: dict[str, Any] = {
        "type": TYPE + problem.code,
        "code": problem.code,
        "title": problem.title,
        "status": problem.status,
        "detail": problem.detail,
        "remedy": problem.remedy,
        "instance": request.url.path,
    }
    if errors:
        content["errors"] = errors
    return ProblemResponse(content, problem.status, headers)


def wants_page(request: Request) -> bool:
    """Return True if a browser requests a page that a person will read."""
    path = request.url.path
    programs = ("/v1/", "/static/", "/neo4j/", "/metrics", "/health", "/ready")
    return "text/html" in request.headers.get("accept", "") and not path.startswith(programs)


def _known(request: Request, error: Exception) -> Response:
    problem = describe(error)
    headers = {}
    if isinstance(error, ServerUnavailableError):
        request.app.state.thinkeval.connection.suspect()
        headers["Retry-After"] = str(RETRY_S)
    if isinstance(error, QueueFullError):
        headers["Retry-After"] = str(error.retry_after_s)
    # The connection logs a database that is not available, once.
    if problem.status >= 500 and not isinstance(error, ServerUnavailableError):
        log.warning("%s %r: %s", request.method, request.url.path, problem.detail)
    return respond(request, problem, headers=headers)


def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = [
        {"where": ".".join(str(part) for part in each["loc"]), "what": _what(request, each)}
        for each in _likely(error.errors())
    ]
    first = found[0] if found else {"where": "body", "what": "it cannot be read"}
    end = "" if first["what"].endswith("?") else "."
    more = f" And {len(found) - 1} more." if len(found) > 1 else ""
    remedy = "Correct the places named in `errors`; `/openapi.json` describes what is valid."
    if any(_is_unread_json(request, each) for each in error.errors()):
        remedy = "Send Content-Type: application/json."
    problem = Problem(
        title="The request is invalid",
        detail=f"{first['where']}: {first['what']}{end}{more}",
        remedy=remedy,
        status=422,
        code="invalid-request",
    )
    return respond(request, problem, errors=found)


def _likely(errors: Sequence[Any]) -> list[Any]:
    """The errors without `it is no text` of what may be a text or an object, and is an object."""
    objects = [
        each
        for each in errors
        if not (each["type"] == "string_type" and isinstance(each["input"], dict))
    ]
    return objects or list(errors)


def _what(request: Request, error: Mapping[str, Any]) -> str:
    """Return the defect at one place of a request."""
    if _is_unread_json(request, error):
        sent = request.headers.get("content-type")
        return (
            f"the body was not read as JSON, because Content-Type is {sent!r}"
            if sent
            else "the body was not read as JSON, because the request has no Content-Type"
        )
    if error["type"] == "extra_forbidden":
        *place, name = error["loc"]
        asked = place[0] == "query"
        known = _parameters(request) if asked else _fields(request, place[1:])
        what = f"unknown {'parameter' if asked else 'field'} {name!r}"
        hint = did_you_mean(close_names(str(name), known, most=1))
        return f"{what}. {hint}" if hint else what
    return str(error["msg"])


def _is_unread_json(request: Request, error: Mapping[str, Any]) -> bool:
    """Return True if FastAPI left the body as bytes: it parses JSON only of a JSON content type."""
    unread = tuple(error["loc"]) == ("body",) and isinstance(error["input"], bytes)
    return unread and not _is_json(request)


def _is_json(request: Request) -> bool:
    """Return True if the body is JSON by its content type."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return media_type == "application/json" or media_type.endswith("+json")


async def known_query(request: Request) -> None:
    """Refuse a parameter of the query that the operation does not have.

    A dependency of every route of REST; what an operation has is read off the OpenAPI document.

    Raises:
        RequestValidationError: names each one.
    """
    known = _parameters(request)
    unknown = [name for name in dict.fromkeys(request.query_params) if name not in known]
    if unknown:
        raise RequestValidationError(
            [
                {"type": "extra_forbidden", "loc": ("query", name), "msg": "", "input": None}
                for name in unknown
            ]
        )


_adapter = cache(TypeAdapter)  # of a route's body: made once, not for each request


async def strict_body(request: Request) -> None:
    """Refuse a JSON body with a value of another type, such as `false` for a number.

    A dependency of every route of REST. The routes read bodies as Python's values, whose tuples
    and enumerations have no form in JSON, so that they cannot be strict themselves.

    Raises:
        RequestValidationError: names each place.
    """
    field = request.scope["route"].body_field
    body = await request.body() if field is not None and _is_json(request) else b""
    if field is None or not body:
        return
    try:
        _adapter(field.field_info.annotation).validate_json(body, strict=True)
    except ValidationError as error:
        found = [each | {"loc": ("body", *each["loc"])} for each in error.errors()]
        # JSON that Python alone reads, such as half a surrogate pair, is left to the route.
        if not any(each["type"] == "json_invalid" for each in found):
            raise RequestValidationError(found) from error


def _parameters(request: Request) -> list[str]:
    """Names of the parameters that the query of an operation may have."""
    operations = request.app.openapi()["paths"].get(request.scope["route"].path_format, {})
    parameters = operations.get(request.method.lower(), {}).get("parameters", ())
    return [each["name"] for each in parameters if each["in"] == "query"]


def _fields(request: Request, place: Sequence[int | str]) -> list[str]:
    """Names of the fields that a request's body may have at a place, by the OpenAPI document."""
    document = request.app.openapi()
    operations = document["paths"].get(request.scope["route"].path_format, {})
    content = operations.get(request.method.lower(), {}).get("requestBody", {}).get("content", {})
    schemas = [content.get("application/json", {}).get("schema", {})]
    for part in [*place, None]:
        schemas = [each for schema in schemas for each in _resolved(schema, document)]
        if part is None:
            break
        schemas = [
            schema.get("items", {})
            if isinstance(part, int)
            else schema.get("properties", {}).get(part, {})
            for schema in schemas
        ]
    return [name for schema in schemas for name in schema.get("properties", {})]


def _resolved(schema: Mapping[str, Any], document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A schema without `$ref` and `anyOf`: each of its alternatives."""
    if "$ref" in schema:
        return _resolved(document["components"]["schemas"][schema["$ref"].split("/")[-1]], document)
    if "anyOf" in schema:
        return [each for part in schema["anyOf"] for each in _resolved(part, document)]
    return [schema]


def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    problem = Problem(
        title="No such route" if error.status_code == 404 else "The request was refused",
        detail=f"{request.method} {request.url.path}: {error.detail}.",
        remedy=_REMEDIES.get(error.status_code, "See `/openapi.json`."),
        status=error.status_code,
        code=_CODES.get(error.status_code, "refused"),
    )
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(_methods(request))
    return respond(request, problem, headers=headers)


def _methods(request: Request) -> list[str]:
    """The methods of a path, of all routes that have it; Starlette names those of the first.

    `/graphs/import` also fits `/graphs/{graph}`: the path with the fewest parameters counts.
    """
    fitting = [
        route
        for route in request.app.state.routes
        if isinstance(route, Route) and route.matches(request.scope)[0] != Match.NONE
    ]
    if not fitting:
        return ["GET", "HEAD"]  # a static file
    fewest = min(route.path.count("{") for route in fitting)
    return sorted({
        method
        for route in fitting
        if route.path.count("{") == fewest
        for method in route.methods or ()
    })  # fmt: skip


SHIELD = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
}
"""Headers of every response: read as the type it says, in no frame of another page."""


def _unknown(request: Request, error: Exception) -> Response:
    log.exception("%s %r", request.method, request.url.path, exc_info=error)
    problem = Problem(
        title="Internal error",
        detail=f"{type(error).__name__}; the service's log has the details.",
        remedy="Report it together with the request; no stored data was changed by it.",
        status=500,
        code="internal",
    )
    # Sent outside of the middleware that adds these to any other response.
    return respond(request, problem, headers=dict(SHIELD))
