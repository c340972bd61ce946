"""Requests to append that are built from a graph: what they hold, what is refused and stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from support.own_graphs import own_graphs
from support.references import append_reference as reference
from support.references.append_reference import Links
from thinkeval.cypher.run import Database
from thinkeval.loaders import formats, graphs
from thinkeval.loaders.assembly import GraphAssembly
from thinkeval.loaders.records import Fact, KnowledgeGraph
from thinkeval.service.base.errors import ConflictError
from thinkeval.service.graphs import datasets, requests
from thinkeval.service.graphs.requests import Requests


@pytest.fixture(scope="module")
def inkwell(db: Database) -> Iterator[KnowledgeGraph]:
    with own_graphs(db) as prefix:
        loaded = formats.load(graphs.path("inkwell"), name=prefix)
        datasets.store(db, loaded)
        yield loaded.graph


def built(db: Database, graph: KnowledgeGraph) -> Requests:
    return requests.build(db, graph, requests.keys(db, graph.name), None)


def test_every_key_of_inkwell_gives_a_request(db: Database, inkwell: KnowledgeGraph) -> None:
    found = built(db, inkwell)
    assert (found.keys, found.stored, len(found.built), found.refused) == (21, 0, 21, ())
    assert min(len(r.hard) for r in found.built) >= 5
    assert {len(r.random) for r in found.built} == {10}
    assert {len(r.neighborhood) for r in found.built} == {10}
    assert found == built(db, inkwell), "the same graph gives the same requests"


def test_a_request_is_what_brute_force_says(db: Database, inkwell: KnowledgeGraph) -> None:
    links = Links.of(inkwell)
    for request in built(db, inkwell).built:
        subject, relation, new = request.subject, request.relation, request.target_new
        correct = links.objects[subject, relation]
        assert request.kind == "append"
        assert (set(request.correct), request.target_true) == (correct, sorted(correct)[0])
        kinds, names = reference.range_of(links, relation)
        assert new in names
        assert new not in correct
        assert list(request.hard) == reference.hard(links, subject, relation, new)[:10]
        assert all(links.kinds[name] in kinds for name in request.hard)
        assert all(links.distance(new, name) >= 2 for name in request.random)
        everyone = (new, *request.correct, *request.hard, *request.random)
        assert len(set(everyone)) == len(everyone)
        most = max(
            len(reference.hard(links, subject, relation, n)[:10])
            for n in names
            if n not in correct and n != subject
        )
        assert len(request.hard) == most, "the new answer with the most hard false answers"


def test_new_answers_vary_over_subjects(db: Database, inkwell: KnowledgeGraph) -> None:
    per_relation = Counter((r.relation, r.target_new) for r in built(db, inkwell).built)
    assert max(per_relation.values()) <= 3


def small(name: str, *facts: tuple[str, str, str]) -> KnowledgeGraph:
    made = GraphAssembly(name)
    made.facts += [Fact(s, r, o, f"{{}} {r}") for s, r, o in facts]
    return made.finish("small", "made").graph


def test_keys_without_enough_false_answers_are_refused_with_reasons(
    db: Database, graph_id: str
) -> None:
    prints = [("A", "prints", f"b{i}") for i in range(3)]
    graph = small(graph_id, *prints, ("B", "prints", "b3"), ("b3", "follows", "b0"))
    write(db, graph)
    (refused,) = built(db, graph).refused
    assert (refused.subject, refused.relation) == ("A", "prints")
    assert refused.reason.startswith("at most 0 hard false answers with 1 new answer tried")
    alone = small(f"{graph_id}-alone", *prints)
    write(db, alone)
    (refused,) = built(db, alone).refused
    assert "no entity of the range is left" in refused.reason
    pair = [("B", "prints", f"b{i}") for i in (4, 5)]
    near = small(f"{graph_id}-near", *prints, *pair, ("b4", "follows", "b5"))
    write(db, near)
    (refused,) = built(db, near).refused
    assert refused.reason == (
        "at most 1 hard false answer with 2 new answers tried; at least 2 are needed"
    )
    # Everything is one or two facts away from the new answer, and no kind tells it apart.
    three = [("B", "prints", f"b{i}") for i in (4, 5, 6)]
    ring = [("b4", "follows", "b5"), ("b5", "follows", "b6"), ("b6", "follows", "b4")]
    joined = [("b4", "meets", "b0"), ("b5", "meets", "b1"), ("b6", "meets", "b2")]
    close = small(f"{graph_id}-close", *prints, *three, *ring, *joined)
    write(db, close)
    reasons = {each.subject: each.reason for each in built(db, close).refused}
    assert "there is no random false answer" in reasons["A"]


def write(db: Database, graph: KnowledgeGraph) -> None:
    loaded = formats.load(graphs.path("inkwell"), name=graph.name)
    datasets.store(db, replace(loaded, graph=graph))


def test_requests_are_stored_beside_those_of_the_graph(db: Database, graph_id: str) -> None:
    plain = formats.load(graphs.path("hogwarts"), name=graph_id)
    datasets.store(db, plain)
    graph = plain.graph
    found = built(db, graph)
    assert found.built
    requests.store(db, graph, found.built)
    after = datasets.stored_graph(db, graph_id)
    assert set(after.rewrites) == {*graph.rewrites, *found.built}
    assert {fact.id for fact in after.facts} == {fact.id for fact in graph.facts}
    assert datasets.graph_digest(db, graph_id) == after.content_digest != graph.content_digest
    assert datasets.store(db, replace(plain, graph=after)).status == "unchanged"
    again = built(db, after)
    assert (again.built, again.stored) == ((), len(found.built))
    with pytest.raises(ConflictError, match="has changed"):
        requests.store(db, graph, found.built)


def test_an_id_that_is_taken_is_not_reused(db: Database, inkwell: KnowledgeGraph) -> None:
    first = built(db, inkwell).built[0]
    other = replace(first, correct=(), hard=(), random=())
    found = built(db, replace(inkwell, rewrites=(other,)))
    ids = {request.id for request in found.built}
    assert f"{first.id}--append" in ids
    assert first.id not in ids
    assert len(found.built) == 21
