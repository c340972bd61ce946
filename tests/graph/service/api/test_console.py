"""The console over REST and on its page: the same answers, the ten questions, and its limits."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from support.own_graphs import own_graphs
from support.problems import BASE, problem
from support.stored_edits import probed, store_edit
from thinkeval.cypher.run import Database
from thinkeval.service.api.app import create_app
from thinkeval.service.api.pages.console import answer as console
from thinkeval.service.api.state import database
from thinkeval.service.reports.browser import QUESTIONS, RULE_QUESTIONS
from thinkeval.service.scoring import metrics, record
from thinkeval.service.settings import Settings

COUNT = "MATCH (f:Entity {graph: $graph}) RETURN count(f) AS n"


def service(db: Database, **settings: bool) -> TestClient:
    app = create_app(Settings(**settings), workers=0)
    app.dependency_overrides[database] = lambda: db
    return TestClient(app, base_url=BASE)


@pytest.fixture(scope="module")
def client(db: Database) -> TestClient:
    return service(db)


@pytest.fixture(scope="module")
def edit(db: Database) -> Iterator[str]:
    """Two chains survive; one further fact joins entities of both and is on neither."""
    with own_graphs(db) as prefix:
        facts = [
            probed(("Harry", "studied at", "Hogwarts"), 0.93, 0.001, "target_true"),
            probed(("Harry", "studied at", "Durmstrang"), 0.0, 0.9, "target_new", listed=False),
            probed(("Harry", "knows", "Ron <b>"), 0.8, 0.4),
            probed(("Ron <b>", "went to", "Hogwarts"), 0.9, 0.3),
            probed(("Harry", "lives in", "Tower"), 0.9, 0.8),
            probed(("Tower", "is part of", "Hogwarts"), 0.9, 0.9),
            probed(("Ron <b>", "plays for", "Tower"), 0.9, 0.0001),
        ]
        yield store_edit(db, f"{prefix}-edit", facts, dataset=prefix).edit


def test_rest_answers_with_rows_and_parameters(client: TestClient, edit: str) -> None:
    got = client.post("/v1/cypher", json={"query": COUNT, "params": {"graph": edit}})
    assert got.status_code == 200
    assert got.json() == {
        "columns": ["n"], "rows": [[5]], "nodes": [], "relationships": [], "cut": None
    }  # fmt: skip


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("MATCH (n) DETACH DELETE n", 403),
        ("RETURN x", 422),
        ("LOAD CSV FROM '/x' AS l RETURN l", 403),
    ],
)
def test_rest_refuses_with_a_remedy(client: TestClient, query: str, status: int) -> None:
    assert problem(client.post("/v1/cypher", json={"query": query}), status)["remedy"]


@pytest.mark.parametrize("wrong", [{"limit": 1001}, {"timeout_s": 61}, {"query": "x" * 10_001}])
def test_limits_cannot_be_raised(client: TestClient, wrong: dict[str, object]) -> None:
    got = client.post("/v1/cypher", json={"query": "RETURN 1", **wrong})
    assert got.status_code == 422


def test_the_operator_can_switch_it_off(db: Database, edit: str) -> None:
    client = service(db, console=False)
    refused = problem(client.post("/v1/cypher", json={"query": "RETURN 1"}), 403)
    assert "switched off" in refused["detail"]
    page = client.get("/console", params={"query": "RETURN 4321 AS x"}).text
    assert "switched off" in page
    assert "Answer" not in page


def test_no_more_than_a_few_run_at_a_time(client: TestClient) -> None:
    held = [console._running.acquire(blocking=False) for _ in range(console.AT_ONCE)]
    try:
        problem(client.post("/v1/cypher", json={"query": "RETURN 1"}), 429)
    finally:
        for _ in filter(None, held):
            console._running.release()
    assert client.post("/v1/cypher", json={"query": "RETURN 1"}).status_code == 200


def drawn(text: str) -> tuple[set[str], list[str]]:
    svg = text[text.index("<svg") : text.index("</svg>")]
    names = re.findall(r'<text x="78" y="17">(.*?)</text>', svg)
    captions = re.findall(r'<text class="caption"[^>]*>(.*?)</text>', svg)
    return set(map(html.unescape, names)), [html.unescape(each) for each in captions]


def test_a_question_is_answered_with_exactly_its_facts(
    client: TestClient, db: Database, edit: str
) -> None:
    page = client.get("/console", params={"ask": "surviving_chains", "edit": edit}).text
    names, captions = drawn(page)
    assert names == {"Harry", "Ron <b>", "Tower", "Hogwarts"}
    relations = sorted(re.sub(r" [.\d].*", "", each) for each in captions)
    assert relations == ["is part of", "knows", "lives in", "went to"]
    chains = metrics.chain_rows(db, record.get_score(db, edit), "likelihood", surviving=True)
    assert len(chains) == 2
    table = page[page.index("answer-table") :]
    for chain in chains:
        assert f'<td class="n">{chain.r_post:.5g}</td>' in table
    assert "Harry —lives in→ Tower —is part of→ Hogwarts" in html.unescape(table)


@pytest.mark.parametrize("name", [*QUESTIONS, *RULE_QUESTIONS])
def test_every_question_has_an_answer(client: TestClient, edit: str, name: str) -> None:
    got = client.get("/console", params={"ask": name, "edit": edit})
    assert got.status_code == 200
    assert 'id="answer"' in got.text
    assert "problem-title" not in got.text


def test_the_address_holds_query_and_parameters(client: TestClient, edit: str) -> None:
    asked = {"query": COUNT, "params": f'{{"graph": "{edit}"}}', "limit": "7", "seconds": "3"}
    page = client.get("/console", params=asked).text
    assert COUNT in html.unescape(page)
    assert '<td class="n">5</td>' in page
    assert 'value="7"' in page
    assert 'value="3"' in page


def test_a_link_on_another_site_runs_nothing(client: TestClient) -> None:
    asked = {"query": "RETURN 4321 AS x"}
    page = client.get("/console", params=asked, headers={"sec-fetch-site": "cross-site"}).text
    assert "RETURN 4321 AS x" in page
    assert "another site" in page
    assert "<td" not in page
    own = client.get("/console", params=asked, headers={"sec-fetch-site": "none"}).text
    assert '<td class="n">4321</td>' in own


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"query": "CREATE (n)"}, "it writes"),
        ({"query": "RETURN 1", "params": "{"}, "not JSON"),
        ({"query": "RETURN 1", "params": "[1]"}, "no JSON object"),
    ],
)
def test_an_error_stands_beside_the_form(
    client: TestClient, asked: dict[str, str], says: str
) -> None:
    got = client.get("/console", params=asked)
    assert got.status_code == 200
    assert says in got.text
    assert f"{asked['query']}</textarea>" in got.text


def test_a_question_that_nobody_asked_is_not_found(client: TestClient) -> None:
    got = client.get("/console", params={"ask": "graph"})
    assert got.status_code == 404
    assert "Did you mean" in got.json()["detail"]
