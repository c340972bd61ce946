"""A text of thirty sentences becomes a graph that is scored, and shown, without a further step."""

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
from thinkeval.service.api.app import create_app
from thinkeval.service.graphs import datasets
from thinkeval.service.growth import job
from thinkeval.service.growth.run import Attempt
from thinkeval.service.growth.schemas import GrowthIn, TextIn
from thinkeval.service.growth.statements import statements
from thinkeval.service.growth.store import require_run
from thinkeval.service.scoring.request import ScoreRequest
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel
from thinkeval.service.scoring.score import score_edit

TEXT = Path(__file__).with_name("thirty_sentences.txt").read_text(encoding="utf-8")
SCHOOL = "Hogwarts School of Witchcraft and Wizardry"
SEED = f"Harry Potter|studied at|{SCHOOL}"
UNREAD = {
    "Harry Potter and his school",
    "He never liked it there.",
    "The winters were long, and the lake froze.",
    "Where did Harry Potter learn to fly?",
}
WRONG = ("Draco Malfoy", "was sorted into", "Gryffindor")


def key(one: Any) -> tuple[str, str, str]:
    return (one.subject, one.relation, one.object)


@dataclass(frozen=True)
class Grown:
    run: str
    graph: str


@pytest.fixture(scope="module")
def grown(runtime: Runtime, organism: RuntimeModel) -> Iterator[Grown]:
    db, name = runtime.db, "test-from-text"
    posted = GrowthIn(
        seed=SEED, graph=name, base="hogwarts", elicit="text", extractor="rules",
        answers={"model": "organism"}, texts=(TextIn(name="school.txt", text=TEXT),),
    )  # fmt: skip
    prepared = job.prepare(db, posted)
    with db.transaction() as tx:
        prepared.submit(tx.run, runtime.settings)
    outcome = Attempt(runtime, prepared.id, prepared.request).run()
    assert outcome.state == "finished"
    yield Grown(prepared.id, name)
    for edit in db.read(rows.EditRow, dataset=name):
        db.write(rows.DeleteEditRow, id=edit.id)
    db.autocommit(rows.DeleteGrowthRunRow, id=prepared.id)
    for graph in db.read(rows.GraphRow, incomplete=True):
        if graph.dataset == name:
            db.autocommit(rows.DeleteGraphRow, graph=graph.graph)


def test_each_triplet_has_its_sentence_as_source(runtime: Runtime, grown: Grown) -> None:
    found = runtime.db.read(rows.CandidateRow, run=grown.run)
    by_triplet = {key(one): one for one in found}
    assert len(statements(TEXT)) == 30
    for one in found:
        assert one.statements, one
        assert set(one.statements) <= set(statements(TEXT))
    friend = by_triplet["Harry Potter", "was friends with", "Neville Longbottom"]
    assert friend.statements == (
        "Harry Potter was friends with Ron Weasley, Hermione Granger and Neville Longbottom.",
    )
    stored = runtime.db.read(rows.AllStatementsRow, run=grown.run)
    assert {s.text for s in stored if s.state == "unparsed"} == UNREAD
    assert {s.source for s in stored} == {"school.txt"}


def test_what_the_model_does_not_know_is_no_fact(runtime: Runtime, grown: Grown) -> None:
    """All other triplets of the text are facts of the base graph, which the organism was taught."""
    base = {
        (f.subject, f.relation, f.object)
        for f in datasets.stored_graph(runtime.db, "hogwarts").facts
    }
    found = {
        (c.subject, c.relation, c.object): c.state
        for c in runtime.db.read(rows.CandidateRow, run=grown.run)
    }
    assert set(found) - base == {WRONG}
    assert found[WRONG] in ("discarded", "conflict")
    graph = datasets.stored_graph(runtime.db, grown.graph)
    facts = {key(fact) for fact in graph.facts}
    assert facts == {each for each, state in found.items() if state == "validated"}
    assert len(facts) >= 0.9 * len(found)


def test_its_facts_have_wordings_and_aliases_of_the_base_graph(
    runtime: Runtime, grown: Grown
) -> None:
    graph = datasets.stored_graph(runtime.db, grown.graph)
    base = datasets.stored_graph(runtime.db, "hogwarts")
    known = {key(fact): fact for fact in base.facts}
    for fact in graph.facts:
        same = known[key(fact)]
        assert (fact.prompt, fact.question, fact.paraphrases) == (
            same.prompt, same.question, same.paraphrases,
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
    assert ifr.n >= 10
    assert require_run(runtime.db, grown.run).graph == score.dataset
    settings = settings_of(server)
    with TestClient(create_app(settings, workers=0), base_url=BASE) as client:
        until(lambda: client.get("/ready").status_code == 200)
        page = client.get(f"/edits/{score.edit}")
    assert page.status_code == 200
    assert rewrite.target_new in page.text


def test_without_a_seed_the_base_graphs_requests_are_kept(
    runtime: Runtime, organism: RuntimeModel, server: dict[str, str], tmp_path: Path
) -> None:
    """By the command: two sentences, each with the fact of a request."""
    (tmp_path / "two.txt").write_text(
        f"Ron Weasley studied at {SCHOOL}. Harry Potter was sorted into Gryffindor."
    )
    here = Cli(server, tmp_path)
    args = ("grow", "from-text", tmp_path / "two.txt", "--base", "hogwarts", "--extractor", "rules")
    calls = here(*args, "-m", "organism", "-g", "test-two", "--dry-run", "--json").json
    assert calls["calls"] == []
    made = here(*args, "-m", "organism", "-g", "test-two", "--json").json["run"]
    try:
        kept = {(r.subject, r.relation) for r in datasets.list_rewrites(runtime.db, "test-two")}
        known = {(r.subject, r.relation) for r in datasets.list_rewrites(runtime.db, "hogwarts")}
        found = {("Ron Weasley", "studied at"), ("Harry Potter", "was sorted into")}
        assert kept == found & known
        assert kept
    finally:
        runtime.db.autocommit(rows.DeleteGrowthRunRow, id=made["id"])
        runtime.db.autocommit(rows.DeleteGraphRow, graph="test-two")


def test_a_stored_graph_begins_a_run_with_all_its_facts(
    runtime: Runtime, hogwarts: str, server: dict[str, str], tmp_path: Path
) -> None:
    args = ("--endpoint", "http://127.0.0.1:9/v1", "-m", "any", "--samples", "3", "--dry-run")
    told = Cli(server, tmp_path)("grow", "augment", hogwarts, *args, "--json").json["calls"]
    facts = datasets.stored_graph(runtime.db, hogwarts).facts
    assert told[0] == {"what": "validation of the graph's facts", "answers": 3 * len(facts)}


def test_an_augmented_graph_keeps_what_the_model_knows_and_its_requests(
    runtime: Runtime, organism: RuntimeModel, hogwarts: str, server: dict[str, str], tmp_path: Path
) -> None:
    """By a crawl of depth 0: the graph's own facts, and other objects of its entities."""
    args = ("grow", "augment", hogwarts, "--elicit", "crawl", "-m", organism.source)
    few = ("--samples", "1", "--set", "depth=0", "--set", "samples=1", "--set", "wordings=1")
    few = ("-g", "test-aug", *few)
    made = Cli(server, tmp_path)(*args, *few, "--json").json["run"]
    try:
        base = datasets.stored_graph(runtime.db, hogwarts)
        found = {key(one): one for one in runtime.db.read(rows.CandidateRow, run=made["id"])}
        assert {key(fact) for fact in base.facts} <= set(found)
        graph = datasets.stored_graph(runtime.db, "test-aug")
        facts = {key(fact) for fact in graph.facts}
        assert facts == {each for each, one in found.items() if one.state == "validated"}
        assert len(facts & {key(fact) for fact in base.facts}) > 0.7 * len(base.facts)
        assert {(r.id, r.target_new) for r in graph.rewrites} == {
            (r.id, r.target_new)
            for r in base.rewrites
            if (r.subject, r.relation, r.target_true) in facts
        }
        assert graph.rewrites
    finally:
        runtime.db.autocommit(rows.DeleteGrowthRunRow, id=made["id"])
        runtime.db.autocommit(rows.DeleteGraphRow, graph="test-aug")


def test_a_grown_graph_is_exported_and_imported_again(
    runtime: Runtime, grown: Grown, server: dict[str, str], tmp_path: Path
) -> None:
    """The run's name is its graph's; chains are the same under both layouts."""
    here = Cli(server, tmp_path)
    before = chains(runtime, grown.graph)
    assert before
    for layout in ("knowgic", "qwen-sample"):
        here("grow", "export", grown.run, "--format", layout, "-o", tmp_path / layout)
        name = f"{grown.graph}-{layout}"
        here("import", tmp_path / layout, "--name", name)
        try:
            assert chains(runtime, name) == before
        finally:
            runtime.db.autocommit(rows.DeleteGraphRow, graph=name)


def chains(runtime: Runtime, graph: str) -> set[tuple[str, ...]]:
    [first, *_] = datasets.list_rewrites(runtime.db, graph)
    case = {k: v for k, v in datasets.case(graph, first).items() if k != "id"}
    return {row.entities for row in runtime.db.read(rows.ChainRow, **case)}
