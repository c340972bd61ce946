"""Digests of records: those that stored graphs and the caches of models were made under."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from typing import Any

import pytest

from thinkeval.loaders import formats, graphs
from thinkeval.loaders.records import Entity, Fact, KnowledgeGraph


def by_definition(value: Any) -> str:
    """SHA-256 of a JSON value with sorted keys and no spaces, cut."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def of_content(graph: KnowledgeGraph) -> str:
    """The digest of a graph without requests, by copies of its records."""
    parts = [sorted(by_definition(asdict(x)) for x in xs) for xs in (graph.entities, graph.facts)]
    return by_definition([*parts, []])


STORED = {"hogwarts": "42566d6d03816faa", "world": "48679451f721a77f"}


@pytest.mark.parametrize("name", sorted(STORED))
def test_the_digest_of_a_shipped_graph_stays(name: str) -> None:
    graph = formats.load(graphs.path(name)).graph
    assert graph.content_digest == STORED[name]
    bare = replace(graph, rewrites=())
    assert bare.content_digest == of_content(bare)


def test_every_field_counts_in_the_digest() -> None:
    entity = Entity("Zoë", ("Zoe",), "person")
    fact = Fact("Zoë", "knows", "😀", "{} knows", ("Who?",), ("{} has met",), ("a case",))
    whole = KnowledgeGraph("g", (entity, Entity("😀")), (fact,))
    assert whole.content_digest == of_content(whole)
    others = [
        replace(whole, entities=(replace(entity, **{name: value}), Entity("😀")))
        for name, value in {"name": "Zoe", "aliases": (), "kind": None}.items()
    ] + [
        replace(whole, facts=(replace(fact, **{name: value}),))
        for name, value in dict.fromkeys(asdict(fact), ()).items()
    ]
    digests = {each.content_digest for each in (whole, *others)}
    assert len(digests) == 1 + len(others)
    assert fact.id == by_definition([fact.subject, fact.relation, fact.object])
