"""Static files of the web UI: its scripts and styles, and Cytoscape.js from its webjar.

No third-party file is committed. The jar's SHA-256 sum is in `page_assets.lock`; the jar is
downloaded into the cache for the first drawing. Without a network the web UI shows tables instead.
"""

from __future__ import annotations

import threading
import time
import zipfile
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, Response

from thinkeval.cypher.embedded import artifacts
from thinkeval.cypher.embedded import lock as embedded_lock
from thinkeval.cypher.errors import EmbeddedServerError
from thinkeval.service.api.pages.render import STATIC
from thinkeval.service.api.state import Here, etag_response
from thinkeval.service.errors import NotFoundError, ServiceError

LOCK_FILE = Path(__file__).with_name("page_assets.lock")
_INSIDE = "META-INF/resources/webjars/{artifact}/{version}/dist/cytoscape.min.js"


class AssetMissingError(ServiceError):
    """A file of the web UI is not in the cache and cannot be downloaded."""

    status = 503
    remedy = (
        "Open an edit once with a network connection, or set THINKEVAL_MAVEN_URL to a mirror of"
        " Maven Central; until then the web UI shows the graph as a table."
    )


class WebAssets:
    """Cytoscape.js from the cache; one download at a time, and none for a while after a failure.

    Attributes:
        retry_s: seconds until a failed download is tried again, so that without a network not
            every view waits for it.
    """

    def __init__(self, cache: Path, *, lock: Path = LOCK_FILE, retry_s: float = 60.0) -> None:
        self._cache = cache / "page"
        self._bundle = embedded_lock.read(lock)
        self._lock = threading.Lock()
        self._script: bytes | None = None
        self._failed: tuple[float, AssetMissingError] | None = None
        self.retry_s = retry_s

    @property
    def version(self) -> str:
        """The version of Cytoscape.js."""
        return self._bundle.version

    def cytoscape(self) -> bytes:
        """The minified script, UTF-8.

        Raises:
            AssetMissingError: it is not in the cache and cannot be downloaded.
        """
        with self._lock:
            if self._script is None:
                self._script = self._read()
            return self._script

    def _read(self) -> bytes:
        if self._failed and time.monotonic() - self._failed[0] < self.retry_s:
            raise self._failed[1]
        try:
            folder = artifacts.ensure(self._cache, bundle=self._bundle)
        except EmbeddedServerError as error:
            missing = AssetMissingError(f"Cytoscape.js is not available: {error.detail}")
            self._failed = (time.monotonic(), missing)
            raise missing from error
        jar = self._bundle.jars[0]
        _, artifact, version, _ = jar.parts
        with zipfile.ZipFile(folder / jar.filename) as archive:
            return archive.read(_INSIDE.format(artifact=artifact, version=version))


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


@router.get("/assets/cytoscape.min.js")
def cytoscape(request: Request, here: Here) -> Response:
    """Cytoscape.js; 503 if it can be neither read nor downloaded: the web UI works without it."""
    if "page" not in here.extras:
        here.extras["page"] = WebAssets(here.settings.cache)
    return etag_response(request, here.extras["page"].cytoscape(), media_type="text/javascript")
