"""The API reference: a page for every operation and schema, from this service alone."""

from __future__ import annotations

import re
from typing import Any

import pytest
from fastapi.testclient import TestClient

from support import openapi
from thinkeval.service.api.app import create_app
from thinkeval.service.api.pages.reference import types, values
from thinkeval.service.schemas import EditIn
from thinkeval.service.settings import Settings

HTML = {"accept": "text/html"}


@pytest.fixture(scope="module")
def client() -> TestClient:
    app = create_app(Settings(neo4j_uri="bolt://127.0.0.1:9"), workers=0)
    app.openapi_schema = openapi.document()
    return TestClient(app, base_url="http://127.0.0.1")


@pytest.fixture(scope="module")
def pages(client: TestClient) -> dict[str, str]:
    """Every page of the reference by its path."""
    document = client.get("/openapi.json").json()
    paths = [f"/docs/{each.id}" for each in values.operations(document)]
    paths += [f"/docs/schemas/{name}" for name in document["components"]["schemas"]]
    found = {path: client.get(path, headers=HTML) for path in ["/docs", *paths]}
    assert {answer.status_code for answer in found.values()} == {200}
    policy = client.get("/login").headers["content-security-policy"]
    assert {a.headers["content-security-policy"] for a in found.values()} == {policy}
    assert "unsafe" not in policy
    return {path: answer.text for path, answer in found.items()}


def test_every_link_of_the_reference_leads_to_a_page_of_it(pages: dict[str, str]) -> None:
    for path, text in pages.items():
        for link in re.findall(r'href="(/docs[^"#]*)', text):
            assert link in pages, (path, link)
    listed = set(re.findall(r'href="(/docs/[^"#]+)', pages["/docs"]))
    assert listed == pages.keys() - {"/docs"}


def test_nothing_is_loaded_from_elsewhere_and_nothing_is_inline(pages: dict[str, str]) -> None:
    for path, text in pages.items():
        loaded = re.findall(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="([^"]+)"', text)
        assert loaded, path
        assert all(each.startswith("/static/") for each in loaded), path
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script>", text), path


def test_an_operation_shows_parameters_body_answers_and_a_command(pages: dict[str, str]) -> None:
    text = pages["/docs/post_edit"]
    for part in ("POST</span> /v1/edits", "idempotency-key", "Answer 202", "curl"):
        assert part in text, part
    assert f"{len(EditIn.model_fields)} fields" in text
    assert "Successful Response" not in text
    assert "at least 1; at most 5; default 5" in text
    assert "/docs/schemas/EditIn" in text
    upload = pages["/docs/upload_graph"]
    assert "-F file=@FILE" in upload
    assert 'class="type">list of file' in upload


def test_a_search_needs_all_words(client: TestClient) -> None:
    text = client.get("/docs", params={"q": "LEAK rewrite"}).text
    assert "/docs/get_rewrite_leak_cut" in text
    assert "/docs/get_method" not in text
    none = client.get("/docs", params={"q": "<b>xyzzy"}).text
    assert "No operation has these words" in none
    assert "<b>xyzzy" not in none


def test_an_unknown_name_is_a_problem_with_suggestions(client: TestClient) -> None:
    answer = client.get("/docs/post_edt", headers={"accept": "application/json"})
    assert answer.status_code == 404
    assert "post_edit" in answer.json()["detail"]
    assert client.get("/docs/schemas/Scor").status_code == 404


@pytest.mark.parametrize(
    ("schema", "text", "limits"),
    [
        ({"type": "string", "maxLength": 9}, "string", "at most 9 characters"),
        ({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}, "integer or null",
         "at least 1"),
        ({"type": "array", "items": {"$ref": "#/c/ChainOut"}}, "list of ChainOut", ""),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "object of number", ""),
        ({"enum": ["a", 1], "default": "a"}, '"a" | 1', 'default "a"'),
        ({"type": "array", "prefixItems": [{"type": "string"}] * 3}, "list of 3 × string", ""),
        ({}, "any value", ""),
    ],
)  # fmt: skip
def test_types_and_limits_are_words(schema: dict[str, Any], text: str, limits: str) -> None:
    assert "".join(part.text for part in types.type_of(schema)) == text
    assert types.limits(schema) == limits
