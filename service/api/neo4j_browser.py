"""What Neo4j Browser fetches from us: the guide it plays and the style of our graphs.

Browser is another origin, so both carry CORS headers and answer its preflight. They hold nothing
of what is stored, and so need no token.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from thinkeval.cypher.browser import style
from thinkeval.service.api.pages import guide

router = APIRouter(prefix="/neo4j", tags=["Neo4j Browser"], include_in_schema=False)

CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, HEAD, OPTIONS",
    "Access-Control-Max-Age": "600",
    "Cache-Control": "no-cache",
}

EditId = Annotated[str | None, Query(pattern=r"^[\w.~@-]+$", max_length=200)]


@router.api_route("/guide.html", methods=["GET", "HEAD"])
def guide_page(request: Request, edit: EditId = None) -> Response:
    """The guide, about one edit or the newest."""
    page = guide.render(str(request.base_url), edit)
    return Response(page, media_type="text/html", headers=CORS)


@router.api_route("/thinkeval.grass", methods=["GET", "HEAD"])
def style_sheet() -> Response:
    """The style sheet, for `:style`."""
    return Response(style(), media_type="text/plain", headers=CORS)


@router.options("/guide.html")
@router.options("/thinkeval.grass")
def preflight(request: Request) -> Response:
    """Browser asks first, as it sends headers of its own; whatever they are, they may come."""
    asked = request.headers.get("Access-Control-Request-Headers")
    allowed = {"Access-Control-Allow-Headers": asked, "Vary": "Access-Control-Request-Headers"}
    return Response(status_code=204, headers=CORS | (allowed if asked else {}))
