"""A stored graph augmented by a crawl of the organism is scored, shown and exported as it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from support.commands import Cli
from support.problems import BASE
from support.serving import settings_of, until
from thinkeval.cypher import rows
from thinkeval.service.graphs import datasets
from thinkeval.service.growth.kind import GROWTH
from thinkeval.service.growth.request import prepare
from thinkeval.service.growth.run import Attempt
from thinkeval.service.growth.runs import require_run
from thinkeval.service.growth.schemas import CandidateOut, CrawlOptions, EndpointIn, GrowthIn
from thinkeval.service.scoring.request import ScoreRequest
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel
from thinkeval.service.scoring.score import score_edit
from thinkeval.service.web.app import create_app

SCHOOL = "Hogwarts School of Witchcraft and Wizardry"


def key(one: Any) -> tuple[str, str, str]:
    return (one.subject, one.relation, one.object)


@dataclass(frozen=True)
class Grown:
    run: str
    graph: str


@pytest.fixture(scope="module")
def grown(runtime: Runtime, organism: RuntimeModel, hogwarts: str) -> Iterator[Grown]:
    """By a crawl of depth 0: the graph's own facts, and other objects of its entities."""
    db, name = runtime.db, "test-augmented"
    posted = GrowthIn(
        graph=name, base=hogwarts, elicit="crawl", answers=EndpointIn(model=organism.source),
        samples=1, crawl=CrawlOptions(depth=0, samples=1, wordings=1),
    )  # fmt: skip
    prepared = prepare(db, posted)
    db.atomically(lambda tx: GROWTH.store.enqueue(tx, runtime.settings, prepared))
    assert Attempt(runtime, prepared.id, prepared.request).run().state == "finished"
    yield Grown(prepared.id, name)
    for edit in db.read(rows.EditRow, "edits/list_edits", dataset=name):
        db.write(rows.DeleteEditRow, "edits/delete_edit", id=edit.id)
    db.autocommit(int, "growth/delete_run", id=prepared.id)
    for graph in db.read(rows.GraphRow, "graph/list_graphs", incomplete=True):
        if graph.dataset == name:
            db.autocommit(int, "graph/delete_graph", graph=graph.graph)


def test_it_keeps_what_the_model_knows_and_the_requests(
    runtime: Runtime, grown: Grown, hogwarts: str
) -> None:
    base = datasets.stored_graph(runtime.db, hogwarts)
    found = {
        key(one): one for one in runtime.db.read(CandidateOut, "growth/candidates", run=grown.run)
    }
    assert {key(fact) for fact in base.facts} <= set(found)
    graph = datasets.stored_graph(runtime.db, grown.graph)
    facts = {key(fact) for fact in graph.facts}
    assert facts == {each for each, one in found.items() if one.state == "validated"}
    assert len(facts & {key(fact) for fact in base.facts}) > 0.7 * len(base.facts)
    assert {(r.id, r.target_new) for r in graph.rewrites} == {
        (r.id, r.target_new)
        for r in base.rewrites
        if (r.subject, r.relation, r.target_true) in facts
    }
    assert graph.rewrites


def test_its_facts_have_wordings_and_aliases_of_the_base_graph(
    runtime: Runtime, grown: Grown, hogwarts: str
) -> None:
    graph = datasets.stored_graph(runtime.db, grown.graph)
    base = datasets.stored_graph(runtime.db, hogwarts)
    known = {key(fact): fact for fact in base.facts}
    same = [(fact, known[key(fact)]) for fact in graph.facts if key(fact) in known]
    assert same
    for fact, before in same:
        assert (fact.prompt, fact.question, fact.paraphrases) == (
            before.prompt, before.question, before.paraphrases,
        )  # fmt: skip
    assert graph.aliases(SCHOOL) == base.aliases(SCHOOL)


def test_it_is_scored_and_shown_without_a_further_step(
    runtime: Runtime, organism: RuntimeModel, grown: Grown, server: dict[str, str]
) -> None:
    [rewrite, *_] = datasets.list_rewrites(runtime.db, grown.graph)
    request = ScoreRequest.of(
        rewrite, graph=grown.graph, model=organism.source, method="rome", samples=0
    )
    score = score_edit(runtime, request)
    ifr = score.get("ifr", "likelihood")
    assert ifr is not None
    assert ifr.n >= 1
    assert require_run(runtime.db, grown.run).graph == score.dataset
    settings = settings_of(server)
    with TestClient(create_app(settings, workers=0), base_url=BASE) as client:
        until(lambda: client.get("/ready").status_code == 200)
        page = client.get(f"/edits/{score.edit}")
    assert page.status_code == 200
    assert rewrite.target_new in page.text


def test_a_stored_graph_begins_a_run_with_all_its_facts(
    runtime: Runtime, hogwarts: str, server: dict[str, str], tmp_path: Path
) -> None:
    args = ("--endpoint", "http://127.0.0.1:9/v1", "-m", "any", "--samples", "3", "--dry-run")
    told = Cli(server, tmp_path)("graph", "grow", "augment", hogwarts, *args, "--json").json[
        "calls"
    ]
    facts = datasets.stored_graph(runtime.db, hogwarts).facts
    assert told[0] == {"what": "validation of the graph's facts", "answers": 3 * len(facts)}


def test_a_grown_graph_is_exported_and_imported_again(
    runtime: Runtime, grown: Grown, server: dict[str, str], tmp_path: Path
) -> None:
    """The run's name is its graph's; chains are the same under both layouts."""
    here = Cli(server, tmp_path)
    before = chains(runtime, grown.graph)
    assert before
    for layout in ("knowgic", "csv"):
        here("graph", "grow", "export", grown.run, "--format", layout, "-o", tmp_path / layout)
        name = f"{grown.graph}-{layout}"
        here("import", tmp_path / layout, "--name", name)
        try:
            assert chains(runtime, name) == before
        finally:
            runtime.db.autocommit(int, "graph/delete_graph", graph=name)


def chains(runtime: Runtime, graph: str) -> set[tuple[str, ...]]:
    [first, *_] = datasets.list_rewrites(runtime.db, graph)
    case = {k: v for k, v in datasets.case(graph, first).items() if k != "id"}
    return {row.entities for row in runtime.db.read(rows.ChainRow, "chains/enumerate", **case)}
