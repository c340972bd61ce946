"""Derivations: a worker mines or concludes what a request must not take the time for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from support.own_graphs import hogwarts_as, own_graphs
from support.serving import settings_of, until
from support.thread_engine import dispatching
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.base.errors import JobInterrupt
from thinkeval.service.base.settings import Settings
from thinkeval.service.engines.dispatcher import Dispatcher
from thinkeval.service.experiments import derivation
from thinkeval.service.experiments.derivation import DERIVATION, DerivationIn
from thinkeval.service.experiments.job import job_of
from thinkeval.service.experiments.kind import Work
from thinkeval.service.operations import rules as routes
from thinkeval.service.rules import closure, mining, store
from thinkeval.service.scoring.runtime import Runtime


@pytest.fixture
def worker(db: Database, server: dict[str, str]) -> Iterator[Dispatcher]:
    with dispatching(db, settings_of(server), job_of(DERIVATION)) as made:
        yield made


@pytest.fixture
def graph(db: Database) -> Iterator[str]:
    with own_graphs(db) as prefix:
        graph = hogwarts_as(db, f"{prefix}-hogwarts")
        yield graph
        # A job that is queued again is listed beside its result.
        for made in {each.id for each in DERIVATION.store.listing(db, graph=graph)}:
            DERIVATION.store.cancel(db, made)
            DERIVATION.store.delete(db, Settings(), made)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every graph is too large for a request."""
    monkeypatch.setattr(routes, "AT_ONCE", 0)
    monkeypatch.setattr(routes, "REQUEST", replace(derivation.REQUEST, facts=0))


def ended(client: TestClient, worker: Dispatcher, where: str) -> dict:
    worker.wake()

    def look() -> dict | None:
        found = client.get(where).json()
        return found if found["status"] in ("succeeded", "failed") else None

    return until(look, 60)


@pytest.mark.usefixtures("small")
def test_a_large_graph_is_mined_by_a_worker_with_the_rules_of_a_request(
    db: Database, worker: Dispatcher, client: TestClient, graph: str
) -> None:
    wanted = mining.mine(db, graph, min_support=3, store=False)
    answer = client.post(f"/v1/graphs/{graph}/rules/mine", json={"min_support": 3})
    assert answer.status_code == 202
    job = answer.json()
    assert answer.headers["location"] == job["links"]["self"] == f"/v1/derivations/{job['id']}"
    done = ended(client, worker, answer.headers["location"])
    assert (done["status"], done["error"]) == ("succeeded", None)
    assert done["result"]["rules"] == done["result"]["created"] == len(wanted.rules) > 0
    found = store.rules_of(db, graph, status=("candidate",))
    counts = {(rule.id, rule.rule.support, rule.rule.body) for rule in found}
    assert counts == {(rule.id, rule.support, rule.body) for rule in wanted.rules}
    assert graph in client.get(done["links"]["page"]).text


@pytest.mark.usefixtures("small")
def test_a_large_closure_is_derived_by_a_worker_and_then_read(
    db: Database, worker: Dispatcher, client: TestClient, graph: str
) -> None:
    mined = mining.mine(db, graph, min_support=3)
    store.save(db, graph, mined.rules[:2], status="kept")
    relation = mined.rules[0].conclusion.relation
    fact = db.read(rows.FactRow, "graph/facts", graph=graph)[0]
    goal = {"subject": fact.subject, "relation": relation, "object": fact.object}
    for path in ("closure", "proofs"):
        refused = client.get(f"/v1/graphs/{graph}/{path}", params=goal if path == "proofs" else {})
        assert refused.status_code == 409
        assert "/v1/derivations" in refused.text
    assert db.read(rows.StoredGroundingRow, "closure/groundings", graph=graph) == []
    body = {"graph": graph, "what": "conclusions"}
    posted = client.post("/v1/derivations", json=body)
    assert posted.status_code == 202
    done = ended(client, worker, posted.headers["location"])
    assert (done["status"], done["error"]) == ("succeeded", None)
    read = client.get(f"/v1/graphs/{graph}/closure")
    assert read.status_code == 200
    assert done["result"]["conclusions"] == read.json()["conclusions"] > 0
    assert done["result"]["groundings"] == read.json()["groundings"]
    assert client.post("/v1/derivations", json=body).status_code == 200
    # Another closure takes its place: the first one is derived again.
    other = closure.ClosureOptions(depth=1)
    closure.closure(db, graph, store.kept_rules(db, graph), other)
    assert client.post("/v1/derivations", json=body).status_code == 202


def test_few_facts_with_many_groundings_are_for_a_worker_too(
    db: Database, client: TestClient, graph: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mined = mining.mine(db, graph, min_support=3)
    store.save(db, graph, mined.rules[:2], status="kept")
    most = len(closure.closure(db, graph, store.kept_rules(db, graph)).groundings)
    db.write(rows.ClearClosureRow, "closure/clear", graph=graph)
    monkeypatch.setattr(routes, "REQUEST", replace(derivation.REQUEST, groundings=most - 1))
    refused = client.get(f"/v1/graphs/{graph}/closure")
    assert refused.status_code == 409
    assert f"more than {most - 1:,} groundings" in refused.text
    assert "/v1/derivations" in refused.text
    assert db.read(rows.StoredGroundingRow, "closure/groundings", graph=graph) == []
    monkeypatch.setattr(routes, "REQUEST", replace(derivation.REQUEST, groundings=most))
    assert client.get(f"/v1/graphs/{graph}/closure").json()["groundings"] == most


def test_a_stopped_derivation_stores_neither_rules_nor_conclusions(
    db: Database, server: dict[str, str], graph: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise JobInterrupt(cancelled=True)

    monkeypatch.setattr(Work, "fence", stop)
    with Runtime(settings_of(server)) as runtime:
        with pytest.raises(JobInterrupt):
            DERIVATION.run(runtime, DerivationIn(graph=graph), Work())
        assert store.rules_of(db, graph, status=None) == []
        monkeypatch.undo()
        DERIVATION.run(runtime, DerivationIn(graph=graph), Work())
        rules = store.rules_of(db, graph, status=None)
        store.save(db, graph, [rules[0].rule], status="kept")
        monkeypatch.setattr(Work, "fence", stop)
        with pytest.raises(JobInterrupt):
            DERIVATION.run(runtime, DerivationIn(graph=graph, what="conclusions"), Work())
    assert db.read(rows.StoredGroundingRow, "closure/groundings", graph=graph) == []
