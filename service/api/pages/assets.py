"""The page's one third-party script, Cytoscape.js: out of its webjar, fetched as Neo4j's files are.

Nothing third-party is committed. The jar's SHA-256 sum is in `page_assets.lock`; the file is
fetched once, at the first drawing, into the cache. Without a network the page shows its tables.

The files of the page: our scripts and styles, and Cytoscape.js out of its webjar.
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
    """A file of the page is not in the cache and cannot be fetched."""

    status = 503
    remedy = (
        "Open the page once where there is a network, or name a mirror of Maven Central in"
        " THINKEVAL_MAVEN_URL; until then the page shows the graph as a table."
    )


class WebAssets:
    """Cytoscape.js from the cache; one fetch at a time, and none for a while after a failure.

    Attributes:
        retry_s: how long a failed fetch is remembered, so that a page without a network does not
            wait for it at every view.
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
            AssetMissingError: it is not in the cache and cannot be fetched.
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
            told = AssetMissingError(f"Cytoscape.js is not there: {error.detail}")
            self._failed = (time.monotonic(), told)
            raise told from error
        jar = self._bundle.jars[0]
        _, artifact, version, _ = jar.parts
        with zipfile.ZipFile(folder / jar.filename) as archive:
            return archive.read(_INSIDE.format(artifact=artifact, version=version))


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
    return etag_response(request, here.extras["page"].cytoscape(), media_type="text/javascript")
