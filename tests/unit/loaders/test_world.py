"""The shipped graph world: one object a fact, chains, families and rules, by brute force."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import product
from pathlib import Path
from typing import cast

import pytest

from support.references import reference as ref
from support.references.reference import Case, Edge
from thinkeval.loaders import formats, graphs, rules
from thinkeval.loaders.records import KnowledgeGraph, RewriteRequest
from thinkeval.loaders.rules_yaml import load_rules


@pytest.fixture(scope="module")
def world() -> KnowledgeGraph:
    loaded = formats.load(graphs.path("world"))
    copied = [(note.code, note.where.split("'")[1]) for note in loaded.report.notes]
    assert copied == [
        ("object-in-subject", name)
        for name in ("Cologne Cathedral", "Gateway of India", "India Gate", "Tokyo Tower",
                     "Tower of London")
    ]  # fmt: skip
    return loaded.graph


def edges_of(graph: KnowledgeGraph) -> list[Edge]:
    return [Edge(f.id, f.subject, f.object, relation=f.relation) for f in graph.facts]


def case_of(rewrite: RewriteRequest) -> Case:
    return Case(rewrite.subject, rewrite.target_true, relation=rewrite.relation)


def test_every_subject_of_a_relation_has_one_object(world: KnowledgeGraph) -> None:
    assert len(world.facts) == 429
    assert set(Counter((f.subject, f.relation) for f in world.facts).values()) == {1}


def test_relations_relate_one_kind_to_one_kind(world: KnowledgeGraph) -> None:
    kinds = {entity.name: entity.kind for entity in world.entities}
    assert None not in kinds.values()
    by_relation: dict[str, set[tuple[str | None, str | None]]] = defaultdict(set)
    for fact in world.facts:
        by_relation[fact.relation].add((kinds[fact.subject], kinds[fact.object]))
    assert {len(pairs) for pairs in by_relation.values()} == {1}


def test_facts_can_be_asked_four_ways_that_name_one_relation(world: KnowledgeGraph) -> None:
    relations: dict[str, set[str]] = defaultdict(set)
    for fact in world.facts:
        assert fact.question is not None
        assert fact.subject in fact.question
        clozes = (fact.prompt, *fact.paraphrases)
        assert len(set(clozes)) == 3
        for cloze in clozes:
            relations[cloze].add(fact.relation)
    assert all(len(of) == 1 for of in relations.values())


def test_names_and_aliases_tell_entities_apart(world: KnowledgeGraph) -> None:
    names = [n.casefold() for e in world.entities for n in (e.name, *e.aliases)]
    assert len(set(names)) == len(names)


def test_new_objects_are_of_the_old_ones_kind(world: KnowledgeGraph) -> None:
    kinds = {entity.name: entity.kind for entity in world.entities}
    facts = {(f.subject, f.relation, f.object) for f in world.facts}
    for r in world.rewrites:
        assert (r.subject, r.relation, r.target_true) in facts
        assert (r.subject, r.relation, r.target_new) not in facts
        assert kinds[r.target_new] == kinds[r.target_true]


def test_chains_of_two_to_four_facts(world: KnowledgeGraph) -> None:
    edges = edges_of(world)
    lengths = {r.id: [len(c) for c in ref.chains(edges, case_of(r), walk=True)]
               for r in world.rewrites}  # fmt: skip
    assert len(lengths) == 26
    assert all(1 in of and max(of) > 1 for of in lengths.values())
    assert sum(2 <= n <= 4 for of in lengths.values() for n in of) >= 170


def test_countries_are_families(world: KnowledgeGraph) -> None:
    edges = edges_of(world)
    families: list[tuple[set[str], set[str]]] = []
    for r in world.rewrites:
        facts, ids = {e.id for e in ref.scope(edges, case_of(r), 5, "listed", walk=True)}, {r.id}
        for family in [f for f in families if f[0] & facts]:
            families.remove(family)
            facts, ids = facts | family[0], ids | family[1]
        families.append((facts, ids))
    assert len(families) == 11
    assert all(len(ids) >= 2 for _, ids in families)


def test_rules_contradict_no_fact(world: KnowledgeGraph) -> None:
    """A conclusion is the fact of its subject, or the graph lists none (models know too little)."""
    listed = load_rules(cast("Path", rules.path("world")))
    assert len(listed) == 8
    facts = defaultdict(list)
    for fact in world.facts:
        facts[fact.relation].append((fact.subject, fact.object))
    for rule in listed:
        premises = [p for p in (rule.first, rule.second) if p is not None]
        found = set()
        for pairs in product(*(facts[p.relation] for p in premises)):
            bound: dict[str, set[str]] = defaultdict(set)
            for premise, (subject, object_) in zip(premises, pairs, strict=True):
                bound[premise.subject].add(subject)
                bound[premise.object].add(object_)
            if all(len(values) == 1 for values in bound.values()):
                end = rule.conclusion
                found.add((*bound[end.subject], *bound[end.object]))
        known = dict(facts[rule.conclusion.relation])
        assert all(known.get(subject, object_) == object_ for subject, object_ in found)
        assert sum(subject in known for subject, _ in found) >= 0.3 * len(found) >= 1
