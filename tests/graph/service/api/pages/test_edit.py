"""The page of a scored edit: the sequential test beside IFR, as REST has it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from support.own_graphs import hogwarts_as, own_graphs
from support.problems import BASE
from support.serving import settings_of, until
from support.stored_edits import random_facts, store_edit
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.api.app import create_app
from thinkeval.service.conversation_outcome import ActiveInConversation, ConversationOut

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
        for edit in db.read(rows.PageEditRow, dataset=graph, limit=10):
            db.write(rows.DeleteEditRow, id=edit.id)


def test_a_walked_edit_shows_its_conversations_with_n_and_another_has_no_such_part(
    db: Database, client: TestClient, graph: str
) -> None:
    walked, plain = f"{graph}-walked", f"{graph}-plain"
    store_edit(db, walked, random_facts(1), dataset=graph, conversation=WALKED)
    store_edit(db, plain, random_facts(1), dataset=graph)
    outcome = client.get(f"/v1/edits/{walked}/score").json()["conversation"]
    assert outcome == WALKED.model_dump()
    assert client.get(f"/v1/edits/{plain}/score").json()["conversation"] is None
    page = client.get(f"/edits/{walked}").text
    lines = [
        ("all chains", "3", "8", "0.375"),
        ("surviving by likelihood", "3", "4", "0.750"),
        ("surviving by sampled share", "0", "0", "–"),
    ]
    for name, *cells in lines:
        shown = "".join(f'<td class="n">{each}</td>' for each in cells)
        assert f'<tr><th scope="row">{name}</th>{shown}</tr>' in page
    assert "as one text: it has no chat template; 1 not walked." in page
    assert "Chains as conversations" not in client.get(f"/edits/{plain}").text
