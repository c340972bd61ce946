"""Cytoscape.js comes out of its pinned webjar: over real HTTP, from the cache, or not at all."""

from __future__ import annotations

import hashlib
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from thinkeval.cypher.embedded import lock as embedded_lock
from thinkeval.service.api.pages import assets as web_assets
from thinkeval.service.api.pages.assets import AssetMissingError, WebAssets

SCRIPT = b"globalThis.cytoscape = () => {};"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        del format, args


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    """A Maven repository on this machine that has a webjar of the same form."""
    folder = tmp_path / "maven/org/webjars/npm/cytoscape/9.9"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "cytoscape-9.9.jar", "w") as jar:
        jar.writestr("META-INF/resources/webjars/cytoscape/9.9/dist/cytoscape.min.js", SCRIPT)
    content = (folder / "cytoscape-9.9.jar").read_bytes()
    line = f"{hashlib.sha256(content).hexdigest()} {len(content)} org.webjars.npm:cytoscape:9.9"
    (tmp_path / "page.lock").write_text(f"# page 9.9\n{line}\n")
    handler = partial(Quiet, directory=str(tmp_path / "maven"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("THINKEVAL_MAVEN_URL", f"http://127.0.0.1:{server.server_port}")
    yield server
    server.shutdown()
    server.server_close()


def assets(folder: Path, retry_s: float = 60.0) -> WebAssets:
    return WebAssets(folder / "cache", lock=folder / "page.lock", retry_s=retry_s)


def test_the_script_is_fetched_once_and_then_read_from_the_cache(
    repository: ThreadingHTTPServer, tmp_path: Path
) -> None:
    assert assets(tmp_path).cytoscape() == SCRIPT
    repository.shutdown()
    repository.server_close()
    assert assets(tmp_path).cytoscape() == SCRIPT


@pytest.mark.usefixtures("repository")
def test_a_failure_is_remembered_for_a_while_and_then_tried_again(tmp_path: Path) -> None:
    there = tmp_path / "maven/org"
    there.rename(tmp_path / "maven/away")
    patient, hasty = assets(tmp_path), assets(tmp_path, retry_s=0.0)
    for each in (patient, hasty):
        with pytest.raises(AssetMissingError, match="Cytoscape") as caught:
            each.cytoscape()
        assert caught.value.status == 503
        assert "table" in caught.value.remedy
    (tmp_path / "maven/away").rename(there)
    with pytest.raises(AssetMissingError):
        patient.cytoscape()
    assert hasty.cytoscape() == SCRIPT


@pytest.mark.usefixtures("repository")
def test_a_jar_of_another_content_is_refused(tmp_path: Path) -> None:
    lock = tmp_path / "page.lock"
    told, line = lock.read_text().splitlines()
    lock.write_text(f"{told}\n{'0' * 64} {line.split(maxsplit=1)[1]}\n")
    with pytest.raises(AssetMissingError):
        assets(tmp_path).cytoscape()


def test_the_lock_that_ships_names_one_pinned_webjar() -> None:
    bundle = embedded_lock.read(web_assets.LOCK_FILE)
    assert [jar.coordinate for jar in bundle.jars] == ["org.webjars.npm:cytoscape:3.33.1"]
    assert bundle.version == "3.33.1"
