"""Co-edits over REST, in the client and on the command line: one frontier, the same everywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from support.commands import Cli
from support.own_graphs import hogwarts_as, own_graphs
from support.problems import BASE
from support.serving import settings_of, until
from support.stored_edits import frontier, random_facts, store_edit
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.api.app import create_app
from thinkeval.service.client import Client
from thinkeval.service.leakcut.coedit import store
from thinkeval.service.leakcut.coedit.job import COEDIT
from thinkeval.service.leakcut.schemas import CoEditOut
from thinkeval.service.settings import Settings


@pytest.fixture(scope="module")
def prefix(db: Database) -> Iterator[str]:
    with own_graphs(db) as prefix:
        yield prefix
        for job in db.read(rows.PageJobRow, "jobs/page", kind=COEDIT, limit=1000):
            db.write(int, "jobs/delete", id=job.id)
        for out in store.page(db, limit=1000):
            db.write(int, "leakcut/delete_coedit", id=out.id)


@pytest.fixture(scope="module")
def remote(client: TestClient) -> Iterator[Client]:
    def answered(asked: httpx.Request) -> httpx.Response:
        found = client.request(
            asked.method, asked.url.raw_path.decode(), content=asked.content,
            headers={"content-type": "application/json"},
        )  # fmt: skip
        return httpx.Response(found.status_code, content=found.content, headers=found.headers)

    with Client("http://localhost", transport=httpx.MockTransport(answered)) as made:
        yield made


@pytest.fixture(scope="module")
def out(db: Database, prefix: str) -> CoEditOut:
    """A stored co-edit whose rounds are stored edits."""
    edits = [
        store_edit(db, f"{prefix}-e{number}", random_facts(number), dataset=f"{prefix}-g").edit
        for number in range(3)
    ]
    made = frontier(id=f"{prefix}-coedit", graph=f"{prefix}-g")
    rounds = [
        row.model_copy(update={"edit": edit}) for row, edit in zip(made.rounds, edits, strict=True)
    ]
    made = made.model_copy(update={"rounds": rounds})
    store.save(db, made)
    return store.get(db, made.id)


def test_command_rest_and_client_agree(
    server: dict[str, str], tmp_path: Path, test_settings: Settings, client: TestClient,
    remote: Client, out: CoEditOut,
) -> None:  # fmt: skip
    got = client.get(f"/v1/coedits/{out.id}").json()
    assert got["status"] == "succeeded"
    assert got["result"] == out.model_dump(mode="json")
    assert remote.coedit(out.id).result == out
    frame = remote.frontier(out.id)
    assert frame["ifr"].tolist() == [0.4, 0.061, 0.016]
    assert out.id in remote.coedits()["id"].tolist()
    homes = {
        "THINKEVAL_HOME": str(test_settings.home),
        "THINKEVAL_CACHE": str(test_settings.cache),
    }
    cli = Cli(server | homes, tmp_path)
    assert json.loads(cli("coedits", out.id, "--json").out) == got["result"]
    shown = cli("coedits", out.id, "--figure", "f.svg").out
    assert "0.061 [0.02, 0.11]" in shown
    assert "Chosen: round 1 with 1 further fact, IFR 0.061 after 0.400" in shown
    for format in ("csv", "latex", "markdown"):
        text = client.get(f"/v1/coedits/{out.id}/frontier", params={"format": format}).text
        assert cli("coedits", out.id, "-f", format).out.strip() == text.strip()
    figure = client.get(f"/v1/coedits/{out.id}/frontier", params={"format": "svg"})
    assert figure.headers["content-type"].startswith("image/svg+xml")
    assert out.id in cli("coedits").out


def test_an_edit_leads_to_its_co_edits(client: TestClient, out: CoEditOut) -> None:
    for row in out.rounds:
        found = client.get("/v1/coedits", params={"edit": row.edit}).json()["items"]
        assert [each["id"] for each in found] == [out.id]
    assert client.get("/v1/coedits", params={"edit": "other"}).json()["items"] == []
    assert client.get("/v1/coedits", params={"graph": "other"}).json()["items"] == []


def test_a_posted_co_edit_is_queued_once_cancelled_and_deleted(
    db: Database, client: TestClient, prefix: str
) -> None:
    graph = hogwarts_as(db, f"{prefix}-hogwarts")
    body: dict[str, Any] = {"graph": graph, "rewrite": "harry-potter--studied-at", "rounds": 2}
    posted = client.post("/v1/coedits", json=body)
    assert posted.status_code == 202, posted.text
    id = posted.json()["id"]
    assert posted.headers["location"] == f"/v1/coedits/{id}"
    assert (posted.json()["status"], posted.json()["result"]) == ("queued", None)
    assert client.post("/v1/coedits", json=body | {"rounds": 2}).json()["id"] == id
    assert client.post("/v1/coedits", json=body | {"rounds": 3}).json()["id"] != id
    assert client.delete(f"/v1/coedits/{id}").status_code == 409
    assert client.post(f"/v1/coedits/{id}/cancel").json()["status"] == "cancelled"
    assert client.post("/v1/coedits", json=body).json()["status"] == "queued"
    client.post(f"/v1/coedits/{id}/cancel")
    assert client.delete(f"/v1/coedits/{id}").status_code == 204
    assert client.get(f"/v1/coedits/{id}").status_code == 404


def test_a_data_set_is_deleted_with_its_co_edits(
    db: Database, client: TestClient, prefix: str
) -> None:
    graph = hogwarts_as(db, f"{prefix}-gone")
    edit = store_edit(db, f"{prefix}-gone-e", random_facts(1), dataset=graph).edit
    rounds = [frontier().rounds[0].model_copy(update={"edit": edit})]
    done = frontier(id=f"{prefix}-gone-c", graph=graph, rounds=rounds, chosen=0)
    store.save(db, done)
    body = {"graph": graph, "rewrite": "harry-potter--studied-at"}
    queued = client.post("/v1/coedits", json=body).json()["id"]
    refused = client.delete(f"/v1/graphs/{graph}", params={"with_dependents": True})
    assert refused.status_code == 409
    client.post(f"/v1/coedits/{queued}/cancel")
    refused = client.delete(f"/v1/graphs/{graph}")
    assert "1 co-edit (" in refused.json()["detail"]
    gone = client.delete(f"/v1/graphs/{graph}", params={"with_dependents": True})
    assert gone.is_success
    for id in (done.id, queued):
        assert client.get(f"/v1/coedits/{id}").status_code == 404


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"objective": "leak less"}, "no comparison"),
        ({"method": "none"}, "control"),
        ({"method": "rome", "anchors": True}, "joint target"),
        ({"rounds": 0}, "rounds"),
        ({"rewrite": "nobody"}, "nobody"),
        ({"cut": {"leak": 2}}, "leak"),
    ],
)
def test_refused_with_a_reason(
    db: Database, client: TestClient, prefix: str, changes: dict[str, Any], said: str
) -> None:
    graph = hogwarts_as(db, f"{prefix}-refusing")
    body = {"graph": graph, "rewrite": "harry-potter--studied-at"} | changes
    answer = client.post("/v1/coedits", json=body)
    assert answer.status_code in (404, 409, 422)
    assert said in answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_the_page_shows_the_frontier_and_leads_to_each_round(
    server: dict[str, str], out: CoEditOut
) -> None:
    app = create_app(settings_of(server), workers=0)
    with TestClient(app, base_url=BASE) as browser:
        until(lambda: browser.get("/ready").status_code == 200)
        text = browser.get(f"/coedits/{out.id}").text
        assert "Round 1 is chosen: 1 further fact, IFR" in text
        for row in out.rounds:
            assert text.count(f'href="/edits/{row.edit}"') == 2, "a point and a row"
        assert text.count('class="beyond"') == 1
        assert text.count("c0 hollow") == 1
        assert "0.061 [0.02, 0.11]" in text
        assert "Ron Weasley, studied at" in text
        assert out.id in browser.get("/coedits").text
        assert f'href="/coedits/{out.id}"' in browser.get(f"/edits/{out.rounds[1].edit}").text
        assert browser.get("/coedits/none").status_code == 404
