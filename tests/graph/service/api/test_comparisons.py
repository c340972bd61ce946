"""Comparisons over REST and in the web UI, without a worker: accepted, refused, listed, deleted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from support.own_graphs import hogwarts_as, own_graphs
from support.states.comparisons import comparison
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.errors import ConflictError
from thinkeval.service.graphs.delete import delete_graph
from thinkeval.service.states import store
from thinkeval.service.states.job import COMPARISON
from thinkeval.service.states.schemas import ComparisonOut

FACT = "Draco Malfoy | studied at | Hogwarts School of Witchcraft and Wizardry"


@pytest.fixture(scope="module")
def graph(db: Database) -> Iterator[str]:
    with own_graphs(db) as prefix:
        yield hogwarts_as(db, f"{prefix}-hogwarts")
        for job in db.read(rows.PageJobRow, "jobs/page", kind=COMPARISON, limit=1000):
            db.write(int, "jobs/delete", id=job.id)


@pytest.fixture
def stored(db: Database, graph: str) -> Iterator[ComparisonOut]:
    out = comparison(id=f"compare-{graph}", graph=graph)
    store.save(db, out, [], [])
    yield out
    db.write(rows.DeleteComparisonRow, "states/delete_comparison", id=out.id)


def body(graph: str, **changes: object) -> dict[str, object]:
    return {"before": "organism", "after": "organism:seed=1", "graph": graph} | changes


def test_a_request_is_one_job_until_it_is_cancelled(client: TestClient, graph: str) -> None:
    first = client.post("/v1/comparisons", json=body(graph, forget=[FACT]))
    assert first.status_code == 202
    job = first.json()
    assert first.headers["location"] == job["links"]["self"]
    again = client.post("/v1/comparisons", json=body(graph, forget=[FACT]))
    assert again.json()["id"] == job["id"]
    other = client.post("/v1/comparisons", json=body(graph))
    assert other.json()["id"] != job["id"]
    refused = client.delete(f"/v1/comparisons/{job['id']}")
    assert refused.status_code == 409
    assert "Cancel it first" in refused.json()["remedy"]
    for each in (job, other.json()):
        client.post(f"/v1/comparisons/{each['id']}/cancel")
        assert client.get(f"/v1/comparisons/{each['id']}").json()["status"] == "cancelled"
        assert client.delete(f"/v1/comparisons/{each['id']}").status_code == 204


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"before": "/etc"}, "not one this service may load"),
        ({"after": "organism+edit:none-such"}, "none-such"),
        ({"after": "organism+adapter:/etc"}, "/etc"),
        ({"after": "endpoint:http://169.254.169.254/v1#m"}, "169.254.169.254"),
        ({"after": {"model": "m", "endpoint": "file:///etc/passwd"}}, "http"),
        ({"forget": ["Draco Malfoy"]}, "names no fact"),
        ({"forget": ["Drako Malfoy|studied at|Hogwarts School of Witchcraft and Wizardry"]}, "Dr"),
        ({"rewrites": ["none-such"]}, "none-such"),
        ({"graph": "none-such"}, "none-such"),
        ({"afterwards": 1}, "afterwards"),
        ({"implications": True}, "nothing is requested"),
        ({"implications": True, "forget": [FACT]}, "no kept rules"),
    ],
)
def test_what_cannot_be_compared_is_refused_at_once(
    client: TestClient, graph: str, changes: dict[str, object], problem: str
) -> None:
    answer = client.post("/v1/comparisons", json=body(graph) | changes)
    assert 400 <= answer.status_code < 500
    said = answer.json()
    assert problem in said["detail"] + said["remedy"]


def test_a_stored_one_is_read_listed_and_deleted(
    client: TestClient, graph: str, stored: ComparisonOut
) -> None:
    job = client.get(f"/v1/comparisons/{stored.id}").json()
    assert (job["status"], job["result"]) == ("succeeded", stored.model_dump(mode="json"))
    listed = client.get("/v1/comparisons", params={"graph": graph}).json()["items"]
    assert [each["id"] for each in listed] == [stored.id]
    table = client.get(f"/v1/comparisons/{stored.id}/drift", params={"format": "markdown"})
    assert "| all facts | 9 |" in table.text
    wrong = client.get(f"/v1/comparisons/{stored.id}/drift", params={"measure": "p"})
    assert wrong.status_code == 422
    assert client.delete(f"/v1/comparisons/{stored.id}").status_code == 204
    assert client.get(f"/v1/comparisons/{stored.id}").status_code == 404


def test_a_graph_with_comparisons_is_not_deleted_by_itself(
    db: Database, graph: str, stored: ComparisonOut
) -> None:
    with pytest.raises(ConflictError, match=f"1 comparison .{stored.id}"):
        delete_graph(db, graph)


def test_the_page_starts_one_without_scripts(
    client: TestClient, graph: str, stored: ComparisonOut
) -> None:
    page = client.get("/comparisons")
    assert stored.before.name in page.text
    form = {"before": "organism", "after": "organism:seed=2", "graph": graph, "forget": FACT}
    done = client.post("/comparisons", data=form, follow_redirects=False)
    assert done.status_code == 303
    shown = client.get(done.headers["location"])
    assert "organism:seed=2" in shown.text
    wrong = client.post("/comparisons", data=form | {"after": "/etc"}, follow_redirects=False)
    assert wrong.status_code == 422
    assert "not one this service may load" in wrong.text
    assert FACT in wrong.text, "the form keeps what was filled in"
    asked = client.post("/comparisons", data=form | {"implications": "on"}, follow_redirects=False)
    assert asked.status_code == 404
    assert "no kept rules" in asked.text
    assert 'name="implications" checked' in asked.text
    assert "Ada lived in" in client.get(f"/comparisons/{stored.id}").text
    client.post(f"/v1{done.headers['location']}/cancel")
