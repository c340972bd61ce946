"""The OpenAPI document of the service, computed once a process: it takes most of a second."""

from __future__ import annotations

from functools import cache
from typing import Any

from thinkeval.service.web.app import create_app


@cache
def document() -> dict[str, Any]:
    """The document; not to be changed."""
    return create_app(workers=0).openapi()
