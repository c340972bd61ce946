"""Lines of states over REST and in the web UI, without a worker: accepted, refused, shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from support.own_graphs import own_graphs
from support.states.comparisons import comparison
from support.states.lines import states_line
from support.stored_edits import random_facts, store_edit
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.lasting import store
from thinkeval.service.lasting.job import LASTING
from thinkeval.service.states import store as comparisons


@pytest.fixture(scope="module")
def edit(db: Database) -> Iterator[str]:
    """A scored edit, whose update is nowhere: no worker is here to open it."""
    with own_graphs(db) as prefix:
        store_edit(db, f"{prefix}-edit", random_facts(0), dataset=prefix)
        yield f"{prefix}-edit"
        for job in db.read(rows.PageJobRow, "jobs/page", kind=LASTING, limit=1000):
            db.write(int, "jobs/delete", id=job.id)


def test_a_request_is_one_job_until_it_is_cancelled(client: TestClient, edit: str) -> None:
    body = {"edit": edit, "then": ["8bit", "finetune:graph:steps=5"]}
    first = client.post("/v1/lasting", json=body)
    assert first.status_code == 202
    job = first.json()
    assert first.headers["location"] == job["links"]["self"]
    assert (job["edit"], job["then"], job["status"]) == (edit, body["then"], "queued")
    assert job["graph"] == edit.removesuffix("-edit")
    assert client.post("/v1/lasting", json=body).json()["id"] == job["id"]
    other = client.post("/v1/lasting", json=body | {"then": ["4bit"]}).json()
    assert other["id"] != job["id"]
    unfinished = client.get(f"/v1/lasting/{job['id']}/states")
    assert unfinished.status_code == 404
    assert "queued" in unfinished.json()["detail"]
    refused = client.delete(f"/v1/lasting/{job['id']}")
    assert (refused.status_code, refused.json()["remedy"]) == (409, "Cancel it first.")
    for each in (job, other):
        client.post(f"/v1/lasting/{each['id']}/cancel")
        assert client.get(f"/v1/lasting/{each['id']}").json()["status"] == "cancelled"
        assert client.delete(f"/v1/lasting/{each['id']}").status_code == 204


def test_what_may_not_be_put_on_is_refused_at_once(
    client: TestClient, edit: str, tmp_path: Path
) -> None:
    secret = tmp_path / "notes.txt"
    secret.write_text("A text.", encoding="utf-8")
    wrong = {
        "9bit": "is not a later change",
        f"finetune:{secret}": "not in a folder that this service may read",
        f"finetune:{secret}:steps=3": "not in a folder that this service may read",
        "finetune:../notes.txt": "not in a folder that this service may read",
        f"adapter:{tmp_path}": "not in a folder that this service may read",
        "edit:none-such": "none-such",
    }
    for change, reason in wrong.items():
        answer = client.post("/v1/lasting", json={"edit": edit, "then": [change]})
        assert answer.status_code in (404, 422), (change, answer.text)
        assert reason in answer.json()["detail"], change
        assert answer.json()["remedy"]
    unknown = client.post("/v1/lasting", json={"edit": "no-such-edit", "then": ["8bit"]})
    assert unknown.status_code == 404
    assert client.get("/v1/lasting/no-such-line").status_code == 404


def test_the_page_starts_one_without_scripts(client: TestClient, db: Database, edit: str) -> None:
    graph = edit.removesuffix("-edit")
    compared = comparison(id=f"compare-{graph}", graph=graph, edit=edit)
    comparisons.save(db, compared, [], [])
    out = states_line(f"lasting-{graph}", graph, edit, compared.id)
    store.save(db, out)
    try:
        listed = client.get("/lasting", params={"edit": edit}).text
        assert f'value="{edit}"' in listed
        assert f"/lasting/{out.id}" in listed
        shown = client.get(f"/lasting/{out.id}").text
        assert "0.400 of the change is left" in shown
        assert "Ada knows Bob (0.900 → 0.100 → 0.800)" in shown
        drawn = client.get(f"/v1/lasting/{out.id}/states", params={"format": "svg"})
        assert drawn.headers["content-type"] == "image/svg+xml"
        table = client.get(f"/v1/lasting/{out.id}/states", params={"format": "markdown"}).text
        assert "| finetune:graph:steps=200 | 0.400 |" in table
    finally:
        db.write(rows.DeleteLastingRow, "states/delete_lasting", id=out.id)
        db.write(rows.DeleteComparisonRow, "states/delete_comparison", id=compared.id)
    form = {"edit": edit, "then": "8bit\n\n finetune:graph:steps=7 \n"}
    done = client.post("/lasting", data=form, follow_redirects=False)
    assert done.status_code == 303
    assert "8bit → finetune:graph:steps=7" in client.get(done.headers["location"]).text
    client.post(f"/v1{done.headers['location']}/cancel")
    for wrong, reason in (("9bit", "is not a later change"), ("", "then: ")):
        answer = client.post("/lasting", data=form | {"then": wrong}, follow_redirects=False)
        assert answer.status_code == 422
        assert reason in answer.text
        assert f'value="{edit}"' in answer.text, "the form keeps what was filled in"
