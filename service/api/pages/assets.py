"""Static files of the web UI: its scripts, styles and icon. None of them is a third party's."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import FileResponse, Response

from ...errors import NotFoundError
from .render import STATIC

router = APIRouter(include_in_schema=False)

TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@router.get("/static/{name}")
def static(name: str) -> Response:
    """A script, style or icon of the web UI; other names are never resolved as paths."""
    files = {path.name: path for path in STATIC.iterdir() if path.suffix in TYPES}
    if name not in files:
        raise NotFoundError("file", name, files, listing="GET /")
    # Revalidated at every visit (304), so that an update is visible at once.
    headers = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
    return FileResponse(files[name], media_type=TYPES[files[name].suffix], headers=headers)


@router.get("/favicon.ico")
def favicon() -> Response:
    """The icon, for browsers that request it by default."""
    return FileResponse(STATIC / "icon.svg", media_type=TYPES[".svg"])
