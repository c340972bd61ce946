"""Static files of the web UI: its scripts, styles and icon, and Swagger UI's of fastapi-offline."""

from __future__ import annotations

from pathlib import Path

import fastapi_offline
from fastapi import APIRouter
from fastapi.responses import FileResponse, Response

from ...errors import NotFoundError
from .render import STATIC

router = APIRouter(include_in_schema=False)

SWAGGER = Path(fastapi_offline.__file__).with_name("static")
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@router.get("/static/{name}")
def static(name: str) -> Response:
    """A script, style or icon of the web UI; other names are never resolved as paths."""
    found = (*STATIC.iterdir(), *SWAGGER.glob("swagger-ui*"))
    files = {path.name: path for path in found if path.suffix in TYPES}
    if name not in files:
        raise NotFoundError("file", name, files, listing="GET /")
    # Revalidated at every visit (304), so that an update is visible at once.
    headers = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
    return FileResponse(files[name], media_type=TYPES[files[name].suffix], headers=headers)


@router.get("/favicon.ico")
def favicon() -> Response:
    """The icon, for browsers that request it by default."""
    return FileResponse(STATIC / "icon.svg", media_type=TYPES[".svg"])
