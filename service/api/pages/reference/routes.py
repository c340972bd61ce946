"""Routes of the API reference: `/docs`, one operation, one schema.

It is rendered here from the document of `/openapi.json`: no script, no download, and the web UI's
content security policy as it is.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from ..routes import page
from . import values

router = APIRouter(prefix="/docs", include_in_schema=False)

ByName = Annotated[str, Path(max_length=200)]


@router.get("")
def reference(request: Request, q: Annotated[str, Query(max_length=200)] = "") -> Response:
    """All operations by subject; `q` keeps those whose text has all of its words."""
    found = values.index(request.app.openapi(), q.strip())
    return page(request, "reference/index.html", here="/docs", **found)


@router.get("/{operation}")
def reference_operation(request: Request, operation: ByName) -> Response:
    """One operation with its parameters, body, answers and examples."""
    url = str(request.base_url).rstrip("/")
    found = values.operation(request.app.openapi(), operation, url)
    return page(request, "reference/operation.html", here="/docs", **found)


@router.get("/schemas/{name}")
def reference_schema(request: Request, name: ByName) -> Response:
    """One schema with its fields, and where it is used."""
    found = values.schema(request.app.openapi(), name)
    return page(request, "reference/schema.html", here="/docs", **found)
