"""The API reference loads files of the service only; the page of the documentation leads to it.

The policy of the API reference has no exceptions for code.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from thinkeval.service.base.settings import Settings
from thinkeval.service.web.app import create_app
from thinkeval.service.web.pages import render


@pytest.fixture
def client() -> TestClient:
    app = create_app(Settings(neo4j_uri="bolt://127.0.0.1:9"), workers=0)
    return TestClient(app, base_url="http://127.0.0.1")


def test_docs_loads_files_of_the_service_only(client: TestClient) -> None:
    answer = client.get("/docs")
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert "http" not in answer.headers["content-security-policy"]
    loaded = re.findall(r'<(?:link|script)[^>]*(?:href|src)="([^"]+)"', answer.text)
    assert {"/static/swagger-ui-bundle.js", "/static/swagger-ui.css"} <= set(loaded)
    assert {client.get(path).status_code for path in loaded} == {200}
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script>", answer.text)


def test_the_documentation_is_served_where_it_is_built(
    client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    monkeypatch.setattr(render, "SITE", site)
    text = client.get("/documentation").text
    assert "mkdocs build" in text
    assert "/documentation/index.html" not in text
    assert client.get("/documentation/index.html").status_code == 404
    (site / "start").mkdir(parents=True)
    (site / "index.html").write_text("built")
    (site / "start/install.html").write_text("installed")
    (tmp_path / "beside.html").write_text("secret")
    text = client.get("/documentation").text
    assert "mkdocs build" not in text
    assert "/documentation/index.html" in text
    answer = client.get("/documentation/start/install.html")
    assert (answer.text, answer.headers["content-type"]) == (
        "installed",
        "text/html; charset=utf-8",
    )
    for outside in ("..%2Fbeside.html", "%2Fetc%2Fpasswd", "start", "x%00"):
        assert client.get(f"/documentation/{outside}").status_code == 404
