"""False answers, ranges and prompts of locality in Cypher against brute force."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from support.own_graphs import own_graphs
from support.references import append_reference as reference
from support.references.append_reference import Links
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.loaders import formats, graphs
from thinkeval.loaders.assembly import GraphAssembly
from thinkeval.loaders.records import Fact, KnowledgeGraph, LoadedGraph
from thinkeval.service.graphs import datasets

NO_KIND = 0.3
"""Part of the entities of a random graph without a kind."""


def random_graph(seed: int, name: str) -> LoadedGraph:
    """14 entities, 3 relations, 30 facts; entities of two kinds, or without any."""
    rng = random.Random(seed)
    names = [f"e{i:02}" for i in range(14)]
    made = GraphAssembly(name)
    for _ in range(30):
        subject, object_ = rng.sample(names, 2)
        relation = rng.choice("qrs")
        made.facts.append(Fact(subject, relation, object_, f"{{}} {relation}"))
    made.kinds |= {n: rng.choice("KL") for n in names if rng.random() > NO_KIND}
    return made.finish("random", "made")


def other_graph(name: str) -> LoadedGraph:
    """A graph with the same names, whose id begins like that of another one."""
    return random_graph(99, name)


@pytest.fixture(scope="module", params=["inkwell", *range(4)])
def graph(request: pytest.FixtureRequest, db: Database) -> Iterator[KnowledgeGraph]:
    with own_graphs(db) as prefix:
        loaded = (
            formats.load(graphs.path("inkwell"), name=prefix)
            if request.param == "inkwell"
            else random_graph(request.param, prefix)
        )
        datasets.store(db, other_graph(f"{prefix}-other"))
        datasets.store(db, loaded)
        yield loaded.graph


def asked(links: Links, least: int, seed: int) -> list[dict[str, Any]]:
    """Every key with some new answers of its range."""
    rng = random.Random(seed)
    wanted: list[dict[str, Any]] = []
    for (relation, subject), correct in reference.pairs(links, least).items():
        _, names = reference.range_of(links, relation)
        free = [n for n in names if n not in correct and n != subject]
        for new in rng.sample(free, min(3, len(free))):
            turn = rng.randrange(10**6)
            key = {"subject": subject, "relation": relation, "new": new}
            wanted.append(key | {"turn": turn})
    return wanted


def test_keys_and_ranges(db: Database, graph: KnowledgeGraph) -> None:
    links = Links.of(graph)
    for least in (2, 3):
        found = db.read(rows.AppendKeyRow, "append/keys", graph=graph.name, least=least)
        assert {(r.relation, r.subject): list(r.correct) for r in found} == reference.pairs(
            links, least
        )
        assert [(r.relation, r.subject) for r in found] == list(reference.pairs(links, least))
    prompts = {(f.relation, f.subject, f.object): f.prompt for f in graph.facts}
    assert all(r.prompt == prompts[r.relation, r.subject, r.correct[0]] for r in found)
    relations = sorted({fact.relation for fact in graph.facts})
    ranges = db.read(
        rows.AppendRangeRow, "append/ranges", graph=graph.name, relations=[*relations, "none"]
    )
    assert [row.relation for row in ranges] == relations
    for row in ranges:
        assert (set(row.kinds), list(row.names)) == reference.range_of(links, row.relation)


def test_hard_false_answers(db: Database, graph: KnowledgeGraph) -> None:
    links = Links.of(graph)
    wanted = asked(links, 2, seed=1)
    sent = [
        {k: v for k, v in row.items() if k != "turn"}
        | {"kinds": sorted(reference.range_of(links, row["relation"])[0])}
        for row in wanted
    ]
    for limit in (2, 10):
        found = db.read(rows.NewAnswerRow, "append/hard", graph=graph.name, rows=sent, limit=limit)
        for row, key in zip(found, wanted, strict=True):
            assert (row.subject, row.relation, row.new) == tuple(key.values())[:3]
            every = reference.hard(links, row.subject, row.relation, row.new)
            assert (list(row.names), row.found) == (every[:limit], len(every))


def test_random_false_answers(db: Database, graph: KnowledgeGraph) -> None:
    links = Links.of(graph)
    wanted = asked(links, 2, seed=2)
    found = db.read(rows.NewAnswerRow, "append/random", graph=graph.name, rows=wanted, limit=10)
    for row, key in zip(found, wanted, strict=True):
        every = reference.random(links, *tuple(key.values()))
        assert (list(row.names), row.found) == (every[:10], len(every)), key


def test_prompts_of_locality(db: Database, graph: KnowledgeGraph) -> None:
    links = Links.of(graph)
    wanted = asked(links, 2, seed=3)
    found = db.read(
        rows.AppendLocalityRow, "append/locality", graph=graph.name, rows=wanted, limit=10
    )
    for row, key in zip(found, wanted, strict=True):
        every = reference.locality(links, graph, *tuple(key.values()))
        assert list(zip(row.prompts, row.answers, strict=True)) == every[:10], key


def test_the_random_graphs_reach_every_case() -> None:
    # Were the graphs too dense or too bare, comparing would say little.
    ranks: set[int] = set()
    hard: set[int] = set()
    for seed in range(4):
        links = Links.of(random_graph(seed, "x").graph)
        for row in asked(links, 2, seed=2):
            subject, relation, new = row["subject"], row["relation"], row["new"]
            hard.add(len(reference.hard(links, subject, relation, new)))
            for name in reference.random(links, subject, relation, new, 0):
                far = links.distance(new, name) >= 3
                kinds = (links.kinds[name], links.kinds[new])
                other = None not in kinds and kinds[0] != kinds[1]
                ranks.add(0 if far and other else 1 if far else 2)
    assert ranks == {0, 1, 2}
    assert min(hard) < 2 <= max(hard)
