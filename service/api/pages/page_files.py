"""The files of the page: our scripts and styles, and Cytoscape.js out of its webjar."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, Response

from thinkeval.service.api.pages.assets import WebAssets
from thinkeval.service.api.pages.render import STATIC
from thinkeval.service.api.state import Here, answer
from thinkeval.service.errors import NotFoundError

router = APIRouter(include_in_schema=False)

TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@router.get("/static/{name}")
def static(name: str) -> Response:
    """One of our own files; a name that is not in the folder is not looked for anywhere else."""
    held = {path.name: path for path in STATIC.iterdir() if path.suffix in TYPES}
    if name not in held:
        raise NotFoundError("file", name, held, listing="GET /")
    # Asked for again at every visit and answered 304: an update of ours is seen at once.
    headers = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
    return FileResponse(held[name], media_type=TYPES[held[name].suffix], headers=headers)


@router.get("/favicon.ico")
def favicon() -> Response:
    """The icon, for browsers that ask before they have read the page."""
    return FileResponse(STATIC / "icon.svg", media_type=TYPES[".svg"])


@router.get("/assets/cytoscape.min.js")
def cytoscape(request: Request, here: Here) -> Response:
    """Cytoscape.js; 503 while it can neither be read nor fetched, and the page does without."""
    if "page" not in here.extras:
        here.extras["page"] = WebAssets(here.settings.cache)
    return answer(request, here.extras["page"].cytoscape(), media_type="text/javascript")
