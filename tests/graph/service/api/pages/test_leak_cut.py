"""Leak cut on an edit's page: the numbers of REST, in the table and in the drawing."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import pytest
from fastapi.testclient import TestClient

from support.own_graphs import own_graphs
from support.problems import BASE
from support.serving import settings_of, until
from support.stored_edits import random_facts, store_edit
from thinkeval.cypher.run import Database
from thinkeval.service.base.formatting import number
from thinkeval.service.leakcut import words
from thinkeval.service.models.leakcut import CutOut
from thinkeval.service.scoring.record import get_score
from thinkeval.service.web.app import create_app


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
        facts = random_facts(5, others=3, links=16)
        edit = store_edit(db, f"{prefix}-edit", facts, dataset=f"{prefix}-g", method="mend").edit
        yield edit


def section(text: str) -> str:
    return text.split('id="cut">', 1)[1].split("</section>", 1)[0]


def asked(client: TestClient, edit: str, **params: Any) -> CutOut:
    got = client.get(f"/v1/edits/{edit}/leakcut", params=params)
    return CutOut.model_validate(got.json())


def test_page_and_rest_agree(client: TestClient, db: Database, edit: str) -> None:
    cut = asked(client, edit)
    shown = section(client.get(f"/edits/{edit}/next").text)
    assert cut.facts
    assert html.escape(words.headline(cut)) in html.escape(html.unescape(shown))
    rows = re.findall(
        r'\?fact=([^"&]+)&amp;.*?data-label="closes">(\d+).*?collateral">([\d.]+)', shown
    )
    assert [(unquote(fact), *more) for fact, *more in rows] == [
        (f"{edit}|{fact.id}", str(fact.closes), number(fact.collateral)) for fact in cut.facts
    ]
    text = client.get(f"/edits/{edit}?draw=1000").text
    first = min(len(cut.facts), words.ROUNDS)
    for each in (text, shown):
        assert words.promise(cut, first) in html.unescape(each)
    marked = re.findall(r'<g class="fact [^"]*next[^"]*" data-fact="([^"]+)"', text)
    assert set(marked) == {f"{edit}|{fact.id}" for fact in cut.facts}
    assert "what else to edit" in text
    score = get_score(db, edit)
    assert html.escape(words.together(cut, score, first)) in shown
    after = re.findall(r'data-label="IFR after">([\d.]+)', shown)
    assert after == [number(fact.expected) for fact in cut.facts]
    (link,) = re.findall(r'href="([^"]+)" target="_blank" rel="noopener">Draw the cut', shown)
    assert all(fact.id in unquote(link) for fact in cut.facts)


def test_the_form_asks_for_another_cut(client: TestClient, edit: str) -> None:
    cut = asked(client, edit, keys="off", leak=0.3, lock=["E1", "E2"])
    params = {"keys": "off", "leak": "0.3", "lock": " E1; E2 "}
    shown = section(client.get(f"/edits/{edit}/next", params=params).text)
    assert html.escape(words.headline(cut)) in html.escape(html.unescape(shown))
    assert "locked: E1, E2" in html.unescape(shown)
    assert 'value="off" selected' in shown
    assert 'value="0.3"' in shown


def test_an_unknown_lock_is_said_in_the_section(client: TestClient, edit: str) -> None:
    got = client.get(f"/edits/{edit}/next", params={"lock": "E11<b>"})
    assert got.status_code == 200
    shown = section(got.text)
    assert "E11&lt;b&gt;" in shown
    assert 'role="alert"' in shown
    assert client.get(f"/edits/{edit}/next", params={"leak": "2"}).status_code == 422


def test_an_edit_that_leaks_nothing_has_nothing_to_cut(client: TestClient, edit: str) -> None:
    shown = section(client.get(f"/edits/{edit}/next", params={"leak": "0.99", "lock": ""}).text)
    cut = asked(client, edit, leak=0.99)
    assert html.escape(words.headline(cut)) in html.escape(html.unescape(shown))
