"""The page of a scored edit: the sequential test beside IFR, as REST has it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from support.own_graphs import hogwarts_as, own_graphs
from support.problems import BASE
from support.serving import settings_of, until
from support.stored_edits import probed, random_facts, store_edit
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.base.errors import NothingStoredError
from thinkeval.service.models.edit import ActiveInConversation, ConversationOut, ScoringOptions
from thinkeval.service.scoring import record
from thinkeval.service.web.app import create_app

WALKED = ConversationOut(
    chains=9,
    n=8,
    leaking=3,
    share=0.375,
    active=[
        ActiveInConversation(measure="likelihood", n=4, leaking=3, share=0.75),
        ActiveInConversation(measure="p", n=0, leaking=0, share=None),
    ],
    chat=False,
)


@pytest.fixture(scope="module")
def client(server: dict[str, str], db: Database) -> Iterator[TestClient]:
    with TestClient(create_app(settings_of(server), workers=0), base_url=BASE) as client:
        until(lambda: client.get("/ready").status_code == 200)
        yield client


@pytest.fixture
def graph(db: Database) -> Iterator[str]:
    with own_graphs(db) as prefix:
        graph = hogwarts_as(db, f"{prefix}-hogwarts")
        yield graph
        for edit in db.read(rows.PageEditRow, "edits/page_edits", dataset=graph, limit=10):
            db.write(rows.DeleteEditRow, "edits/delete_edit", id=edit.id)


def test_a_walked_edit_shows_its_conversations_with_n_and_another_has_no_such_part(
    db: Database, client: TestClient, graph: str
) -> None:
    walked, plain = f"{graph}-walked", f"{graph}-plain"
    store_edit(db, walked, random_facts(1), dataset=graph, conversation=WALKED)
    store_edit(db, plain, random_facts(1), dataset=graph)
    outcome = client.get(f"/v1/edits/{walked}").json()["result"]["conversation"]
    assert outcome == WALKED.model_dump()
    assert client.get(f"/v1/edits/{plain}").json()["result"]["conversation"] is None
    page = client.get(f"/edits/{walked}").text
    lines = [
        ("all chains", "3", "8", "0.375"),
        ("surviving by likelihood", "3", "4", "0.750"),
        ("surviving by sampled share", "0", "0", "–"),
    ]
    for name, *cells in lines:
        row = page.partition(f">{name}")[2].partition("</tr>")[0]
        assert re.findall(r'<td class="n"[^>]*>([^\s<]+)', row) == cells
    assert "as one text: it has no chat template; 1 not walked." in page
    assert "Chains as conversations" not in client.get(f"/edits/{plain}").text


def test_of_what_the_model_never_knew_every_door_says_that_there_is_nothing_to_measure(
    db: Database, client: TestClient, graph: str
) -> None:
    """Its ratios are 10 and more: none of them is shown, nor drawn, nor cut."""
    edit = f"{graph}-unknown"
    facts = [
        probed(("Ann", "lives in", "Oslo"), 0.0003, 0.003, "target_true"),
        probed(("Ann", "lives in", "Rome"), 0.0001, 0.9, "target_new", listed=False),
        probed(("Ann", "friend of", "Bob"), 0.0002, 0.002),
        probed(("Bob", "lives in", "Oslo"), 0.0004, 0.004),
    ]
    store_edit(db, edit, facts, dataset=graph)
    said = "Nothing to measure: the model knows 0 of 2 chains."
    page = client.get(f"/edits/{edit}").text
    assert f"</span> {said}</p>" in page
    assert 'class="figure' not in page
    assert 'id="co-edit"' not in page
    assert "<svg" not in page.split("<main")[1]
    for tab in ("chains", "facts", "next", "asked", "neo4j", "export"):
        assert client.get(f"/edits/{edit}/{tab}").status_code == 200, tab
    assert "not known before" in client.get(f"/edits/{edit}/chains").text
    assert "Nothing to cut: the model knows 0 of 1 chain." in client.get(f"/edits/{edit}/next").text
    ifr = client.get(f"/v1/edits/{edit}").json()["result"]["by_metric"]["ifr"]["likelihood"]
    assert (ifr["value"], ifr["n"], ifr["excluded"]) == (None, 0, 2)
    cut = client.get(f"/v1/edits/{edit}/leakcut").json()
    assert (cut["facts"], cut["known"], cut["leaking"], cut["expected"]) == ([], 0, 0, None)
    chains = client.get(f"/v1/edits/{edit}/chains").json()["items"]
    assert [(c["known"], c["surviving"], c["ratio"]) for c in chains] == [(False, False, None)] * 2
    assert client.get(f"/v1/edits/{edit}/tables/leaks?format=json").json() == []
    papers = f"{graph}-papers"
    store_edit(db, papers, facts, dataset=graph, options=ScoringOptions(rule="papers"))
    page = client.get(f"/edits/{papers}").text
    assert "Nothing to measure" not in page
    assert "1000 % of the old fact" in page or "more easily than before" in page
    assert "the papers&#39; rule" in client.get(f"/edits/{papers}/asked").text


@pytest.mark.parametrize("stored", ["{}", "{", '{"edit": 1}'])
def test_an_edit_with_a_damaged_score_is_listed_explained_and_deleted(
    db: Database, client: TestClient, graph: str, stored: str
) -> None:
    edit = f"{graph}-damaged"
    store_edit(db, edit, random_facts(1), dataset=graph)
    db.write(
        rows.WrittenRow, "edits/write_score", id=edit, graph=edit, score=stored, provenance="{}"
    )
    listed = client.get("/v1/edits", params={"graph": graph}).json()["items"]
    assert [(each["id"], each["verdict"]) for each in listed] == [(edit, None)]
    assert edit in client.get("/", params={"graph": graph}).text
    assert edit in client.get("/", params={"graph": graph, "sort": "ifr"}).text
    paths = [f"/v1/edits/{edit}{end}" for end in ("", "/chains", "/tables/leaks", "/leakcut")]
    for path in (*paths, f"/v1/leaderboard?graph={graph}"):
        answer = client.get(path)
        assert (answer.status_code, answer.json()["code"]) == (404, "nothing-stored")
        assert f"The stored score of edit '{edit}' is damaged" in answer.json()["detail"]
        assert "`thinkeval score … --force`" in answer.json()["remedy"]
    for tab in ("", "/chains", "/asked"):
        page = client.get(f"/edits/{edit}{tab}", headers={"Accept": "text/html"})
        assert page.status_code == 404
        assert "is damaged" in page.text
    with pytest.raises(NothingStoredError, match="is damaged"):
        record.get_score(db, edit)
    assert record.stored_score(db, edit) is None
    assert client.delete(f"/v1/edits/{edit}").status_code == 204
    assert client.get(f"/v1/edits/{edit}").json()["code"] == "not-found"
