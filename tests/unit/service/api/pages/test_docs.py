"""The API reference loads files of the service only, under a policy without exceptions for code."""

from __future__ import annotations

import re

from fastapi.testclient import TestClient

from thinkeval.service.base.settings import Settings
from thinkeval.service.web.app import create_app


def test_docs_loads_files_of_the_service_only() -> None:
    app = create_app(Settings(neo4j_uri="bolt://127.0.0.1:9"), workers=0)
    client = TestClient(app, base_url="http://127.0.0.1")
    answer = client.get("/docs")
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert "http" not in answer.headers["content-security-policy"]
    loaded = re.findall(r'<(?:link|script)[^>]*(?:href|src)="([^"]+)"', answer.text)
    assert {"/static/swagger-ui-bundle.js", "/static/swagger-ui.css"} <= set(loaded)
    assert {client.get(path).status_code for path in loaded} == {200}
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script>", answer.text)
