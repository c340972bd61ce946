"""A service below a path of another server's: links, redirections, cookies, pages and scripts."""

from __future__ import annotations

import re
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.testclient import TestClient

from thinkeval.service.base.errors import UsageError
from thinkeval.service.base.settings import Settings
from thinkeval.service.web.app import RootPath, create_app
from thinkeval.service.web.pages.render import STATIC

ROOT = "/tools/thinkeval"
HTML = {"accept": "text/html"}
TOKEN = "a token of enough characters"
PAGE = (
    '<a href="/facts?a=1">x</a> <script src="/static/a.js"></script> <a href="#top">y</a>'
    '<form action="/edits" data-live="/v1/e"></form> <a href="//cdn.example/a">z</a>'
    f'<p>write href=&#34;/facts&#34;</p> <a href="{ROOT}/has">h</a> <a href="{ROOT}s">n</a>'
)
SHOWN = (
    f'<a href="{ROOT}/facts?a=1">x</a> <script src="{ROOT}/static/a.js"></script>'
    f' <a href="#top">y</a><form action="{ROOT}/edits" data-live="/v1/e"></form>'
    ' <a href="//cdn.example/a">z</a>'
    f'<p>write href=&#34;/facts&#34;</p> <a href="{ROOT}/has">h</a> <a href="{ROOT}{ROOT}s">n</a>'
)


def small() -> TestClient:
    app = FastAPI()

    @app.get("/page")
    def page() -> Response:
        found = HTMLResponse(PAGE)
        found.set_cookie("c", "1")
        return found

    @app.get("/json")
    def json() -> dict[str, Any]:
        steps = [{"links": {"self": "/v1/b", "n": 1}}, {"links": ["/v1/chain"]}]
        return {"links": {"self": "/v1/a", "off": "https://h/v1"}, "items": steps, "path": "/v1"}

    @app.get("/go")
    def go(to: str) -> Response:
        return RedirectResponse(to, 303)

    @app.get("/")
    def front() -> str:
        return "front"

    app.add_middleware(RootPath, root=ROOT)
    return TestClient(app, base_url="http://h:8123", follow_redirects=False)


@pytest.mark.parametrize("sent", ["", ROOT], ids=["stripping", "not stripping"])
def test_what_a_proxy_gets_has_the_path_once(sent: str) -> None:
    client = small()
    page = client.get(f"{sent}/page")
    assert page.text == SHOWN
    assert int(page.headers["content-length"]) == len(page.content)
    assert f"Path={ROOT};" in page.headers["set-cookie"]
    assert client.get(f"{sent}/json").json() == {
        "links": {"self": f"{ROOT}/v1/a", "off": "https://h/v1"},
        "items": [{"links": {"self": f"{ROOT}/v1/b", "n": 1}}, {"links": ["/v1/chain"]}],
        "path": "/v1",
    }
    for to, seen in {
        "/a?b=/c": f"{ROOT}/a?b=/c",
        f"{ROOT}/a": f"{ROOT}/a",
        "http://h:8123/a": f"http://h:8123{ROOT}/a",
        "https://else.example/a": "https://else.example/a",
    }.items():
        assert client.get(f"{sent}/go", params={"to": to}).headers["location"] == seen
    assert client.get(f"{sent}/").json() == "front"
    assert client.get(ROOT).json() == "front"


@pytest.fixture(scope="module")
def client() -> TestClient:
    settings = Settings(neo4j_uri="bolt://127.0.0.1:9", root_path=ROOT, api_token=TOKEN)
    app = create_app(settings, workers=0)
    return TestClient(app, base_url="http://127.0.0.1", follow_redirects=False)


@pytest.mark.parametrize("sent", ["", ROOT], ids=["stripping", "not stripping"])
def test_the_pages_of_the_service(client: TestClient, sent: str) -> None:
    client.cookies.clear()
    signed_in = {"authorization": f"Bearer {TOKEN}"}
    away = client.get(f"{sent}/facts?graph=a", headers=HTML)
    assert away.headers["location"] == f"{ROOT}/login?next=/facts%3Fgraph%3Da"
    for path in ("/docs", "/login", "/nowhere"):
        text = client.get(f"{sent}{path}", headers=HTML | signed_in).text
        loaded = re.findall(r'\s(?:href|src|action)="(/[^"]*)"', text)
        assert loaded, path
        assert all(each.startswith(f"{ROOT}/") for each in loaded), path
    done = client.post(f"{sent}/login", data={"token": TOKEN, "next": f"{ROOT}/facts"})
    assert done.headers["location"] == f"{ROOT}/facts"
    assert f"Path={ROOT};" in done.headers["set-cookie"]
    document = client.get(f"{sent}/openapi.json", headers=signed_in).json()
    assert document["servers"] == [{"url": ROOT}]
    assert "/v1/edits" in document["paths"]
    problem = client.get(f"{sent}/v1/nothing", headers=signed_in)
    assert problem.json()["instance"] == f"{ROOT}/v1/nothing"
    assert client.get(f"{sent}/static/root.js").status_code == 200


def test_scripts_reach_the_service_by_their_own_address() -> None:
    """No script names an absolute path that does not pass `at`, `go` or `call`."""
    for path in STATIC.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"(?:from|import)\s*\(?[\"']/", text), path
        assert not re.search(r"(?:fetch|EventSource|location\.assign|open)\([`\"']/", text), path
        assert not re.search(r"(?:\.href|\.action|\.src|location)\s*=\s*[`\"']/", text), path


@pytest.mark.parametrize("root", ["thinkeval", "/thinkeval/", "/a b", "//a", "/a?b"])
def test_a_root_path_that_is_none(root: str) -> None:
    with pytest.raises(UsageError, match="THINKEVAL_ROOT_PATH"):
        Settings(root_path=root)


@pytest.mark.parametrize("root", ["/v1", "/edits/of"])
def test_a_root_path_of_the_service_itself(root: str) -> None:
    with pytest.raises(UsageError, match="begins as pages of the service do"):
        create_app(Settings(neo4j_uri="bolt://127.0.0.1:9", root_path=root), workers=0)
