"""A crawl and a growth run of SmolLM2 on the graph world, which it knows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.endpoints.model_server import serving_model
from support.real_model import model_folder
from thinkeval.cypher import rows
from thinkeval.loaders import graphs
from thinkeval.loaders.records import KnowledgeGraph
from thinkeval.service.graphs import datasets
from thinkeval.service.growth import control
from thinkeval.service.growth.crawl_report import crawl_report
from thinkeval.service.growth.schemas import (
    CandidateOut,
    CrawlOptions,
    EndpointIn,
    GrowthIn,
    GrowthOut,
)
from thinkeval.service.scoring.runtime import Runtime

START, STEPS = "Paris", 2


@pytest.fixture(scope="module")
def world(runtime: Runtime) -> KnowledgeGraph:
    datasets.get_or_import(runtime.db, "world")
    return datasets.read(graphs.path("world")).graph


@pytest.fixture(scope="module")
def made(runtime: Runtime) -> Iterator[list[GrowthOut]]:
    """Runs that are deleted with their graphs at the end."""
    runs: list[GrowthOut] = []
    yield runs
    for run in runs:
        runtime.db.autocommit(int, "growth/delete_run", id=run.id)
        if runtime.db.read(rows.GraphRow, "graph/get_graph", graph=run.graph):
            runtime.db.autocommit(int, "graph/delete_graph", graph=run.graph)


def test_a_crawl_finds_what_the_model_knows(
    runtime: Runtime, world: KnowledgeGraph, made: list[GrowthOut]
) -> None:
    posted = GrowthIn(
        seed=START, base="world", graph="test-real-crawl", elicit="crawl", single_link=False,
        chains=10**9, iterations=1000, answers=EndpointIn(model=str(model_folder())),
        crawl=CrawlOptions(depth=STEPS),
    )  # fmt: skip
    made.append(control.grow(runtime, posted))
    told = crawl_report(runtime.db, made[-1].id)
    true = {(f.subject, f.relation, f.object) for f in world.facts}
    found = {
        (f.subject, f.relation, f.object)
        for f in runtime.db.read(rows.FactRow, "graph/facts", graph="test-real-crawl")
    }
    near = {object for subject, _, object in true if subject == START} | {START}
    reached = {fact for fact in true if fact[0] in near}
    assert told.confirmed == len(found & true) >= max(20, 0.8 * len(found))
    assert len(found & reached) >= 20
    assert (told.asked or "").endswith("Asked for the most likely answer behind 3 examples.")


SEED = ("Eiffel Tower", "stands in the city", "Paris")


def grown(
    runtime: Runtime, world: KnowledgeGraph, made: list[GrowthOut], name: str, answers: EndpointIn
) -> None:
    """Grow a graph from a fact of world, and check what came of it."""
    posted = GrowthIn(
        seed="|".join(SEED), base="world", graph=name, greedy=True, iterations=2, answers=answers
    )
    made.append(control.grow(runtime, posted))
    found = runtime.db.read(CandidateOut, "growth/candidates", run=made[-1].id)
    states = {(c.subject, c.relation, c.object): c.state for c in found if c.kind == "triplet"}
    assert states[SEED] == "validated"
    # A line with the graph's name of the relation; the model then confirms it.
    assert states["Paris", "is a city in", "France"] == "validated"
    assert "does not answer in JSON" in (made[-1].asked or "")
    # Whatever passed first, the model reasons about the graph's question.
    [paris] = [c for c in found if (c.subject, c.object) == ("Paris", "France")]
    questions = {f.question for f in world.facts if f.subject in ("Eiffel Tower", "Paris")}
    assert (paris.checks or {})["asked"] in questions
    stored = {
        (f.subject, f.object) for f in runtime.db.read(rows.FactRow, "graph/facts", graph=name)
    }
    assert stored >= {("Eiffel Tower", "Paris"), ("Paris", "France")}


def test_a_growth_run_reads_triplets_from_lines(
    runtime: Runtime, world: KnowledgeGraph, made: list[GrowthOut]
) -> None:
    grown(runtime, world, made, "test-real-growth", EndpointIn(model=str(model_folder())))


@pytest.mark.heavy
def test_so_does_one_behind_a_server(
    runtime: Runtime, world: KnowledgeGraph, made: list[GrowthOut], tmp_path: Path
) -> None:
    with serving_model(model_folder(), tmp_path) as server:
        answers = EndpointIn(model=server.model, url=server.url)
        grown(runtime, world, made, "test-served-growth", answers)
    stored = sum(
        row.calls for row in runtime.db.read(rows.UsageRow, "growth/usage", run=made[-1].id)
    )
    assert made[-1].calls == stored > 0
