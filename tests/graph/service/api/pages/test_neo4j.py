"""Ways to Neo4j Browser: the link of every page, and the tab of an edit with its login."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient

from support.own_graphs import own_graphs
from support.problems import BASE
from support.serving import settings_of, until
from support.stored_edits import random_facts, store_edit
from thinkeval.cypher.run import Database
from thinkeval.service.reports.browser import QUESTIONS, Login
from thinkeval.service.web.app import create_app
from thinkeval.service.web.pages import edit as routes


@pytest.fixture(scope="module")
def client(server: dict[str, str]) -> Iterator[TestClient]:
    there = {"browser_url": "http://127.0.0.1:7474/browser/"}
    app = create_app(settings_of(server).model_copy(update=there), workers=0)
    with TestClient(app, base_url=BASE) as client:
        until(lambda: client.get("/ready").status_code == 200)
        yield client


@pytest.fixture(scope="module")
def edit(db: Database) -> Iterator[str]:
    with own_graphs(db) as prefix:
        options = {"scored": ("likelihood", "p"), "dataset": f"{prefix}-g"}
        yield store_edit(db, f"{prefix}-edit", random_facts(3), **options).edit


def links(text: str, start: str) -> list[str]:
    found = re.findall(r'href="([^"]+)"', text)
    return [html.unescape(each) for each in found if html.unescape(each).startswith(start)]


BROWSER = "http://127.0.0.1:7474/browser/?cmd=edit"


def test_every_page_leads_to_browser_with_a_query(client: TestClient, db: Database) -> None:
    for page in ("/", "/data", "/rules", "/edits/none"):
        text = client.get(page, headers={"accept": "text/html"}).text
        assert 'href="/neo4j" target="_blank" rel="noopener">Neo4j</a>' in text
    sent = client.get("/neo4j", follow_redirects=False)
    assert sent.status_code == 303
    address = sent.headers["location"]
    assert address.startswith(BROWSER)
    (query,) = parse_qs(urlsplit(address).query)["arg"]
    with db._session("READ") as session:
        assert session.run(query).keys()[:2] == ["graph", "kind"]


def test_the_link_says_where_to_name_an_unknown_browser(
    client: TestClient, edit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client.app.state.thinkeval.connection, "browser", "")
    refused = client.get("/neo4j", headers={"accept": "text/html"})
    assert refused.status_code == 404
    assert "Set THINKEVAL_BROWSER_URL" in refused.text
    tab = client.get(f"/edits/{edit}/neo4j").text
    assert "set THINKEVAL_BROWSER_URL" in tab
    assert f"thinkeval db queries explore/methods --edit {edit}" in tab


def test_every_question_leads_to_browser(client: TestClient, edit: str) -> None:
    text = client.get(f"/edits/{edit}/neo4j", params={"measure": "p"}).text
    found = links(text, BROWSER)
    assert len(found) == len(QUESTIONS)
    asked = [parse_qs(urlsplit(each).query)["arg"][0] for each in found]
    assert any(f'"{edit}"' in each and '"p"' in each for each in asked)


def test_where_the_password_of_the_embedded_server_is(
    client: TestClient, edit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "login", lambda settings: Login("neo4j", "/of mine/password"))
    text = html.unescape(client.get(f"/edits/{edit}/neo4j").text)
    assert "cat '/of mine/password'" in text
    assert ":config" not in text  # the embedded server has Browser do it
    assert ":use" not in text
    monkeypatch.setattr(routes, "login", lambda settings: Login("neo4j", None, "studies"))
    assert ":use studies" in client.get(f"/edits/{edit}/neo4j").text


def test_what_to_set_up_by_hand_on_another_server(
    client: TestClient, edit: str, server: dict[str, str]
) -> None:
    text = html.unescape(client.get(f"/edits/{edit}/neo4j").text)
    assert f"<code>{server['THINKEVAL_NEO4J_USER']}</code>" in text
    assert ":config autoComplete: false" in text
    assert f":style {BASE}/neo4j/thinkeval.grass" in text
    assert "cat " not in text
    chains = client.get(f"/edits/{edit}/chains").text
    assert f'href="/edits/{edit}/neo4j#login"' in chains
