"""Absent pairs: which are taught, which held out, and what stays as it was without any."""

from __future__ import annotations

import hashlib
import random
from dataclasses import asdict
from importlib.resources import files

import pytest

from thinkeval.editing.errors import OrganismError
from thinkeval.editing.organism.config import OrganismConfig
from thinkeval.editing.organism.corpus import Corpus
from thinkeval.editing.organism.keys import keys_of
from thinkeval.editing.organism.unknown import (
    UNKNOWN,
    AbsentPairs,
    absent_pairs,
    fitting_pairs,
    taught_keys,
)
from thinkeval.loaders import formats, graphs
from thinkeval.loaders.records import Entity, Fact, KnowledgeGraph, digest, fill


@pytest.fixture(scope="module")
def hogwarts() -> KnowledgeGraph:
    return formats.load(graphs.path("hogwarts")).graph


def test_the_fitting_pairs_of_hogwarts_by_brute_force(hogwarts: KnowledgeGraph) -> None:
    kind = {e.name: e.kind for e in hogwarts.entities}
    known = {(f.subject, f.relation) for f in hogwarts.facts}
    wanted = {
        (name, relation)
        for name in kind
        for relation in {f.relation for f in hogwarts.facts}
        if any(kind[f.subject] == kind[name] for f in hogwarts.facts if f.relation == relation)
    }
    assert set(fitting_pairs(hogwarts)) == wanted
    pairs = absent_pairs(hogwarts, 0.5, 0)
    assert set(pairs.taught) | set(pairs.held_out) == wanted - known
    assert not set(pairs.taught) & set(pairs.held_out)
    assert (len(known), len(pairs.taught), len(pairs.held_out)) == (89, 195, 196)


def test_the_seed_alone_draws_the_pairs(hogwarts: KnowledgeGraph) -> None:
    shuffled = KnowledgeGraph(
        "other", hogwarts.entities[::-1], hogwarts.facts[::-1], hogwarts.rewrites
    )
    pairs = absent_pairs(hogwarts, 0.5, 0)
    assert absent_pairs(shuffled, 0.5, 0) == pairs
    assert absent_pairs(hogwarts, 0.5, 1) != pairs
    assert AbsentPairs.from_dict(pairs.as_dict()) == pairs
    assert absent_pairs(hogwarts, 1.0, 0).held_out == ()
    assert absent_pairs(hogwarts, 0.001, 0).taught == ()


def test_taught_pairs_are_said_in_every_wording_and_held_out_ones_never(
    hogwarts: KnowledgeGraph,
) -> None:
    pairs = absent_pairs(hogwarts, 0.5, 0)
    keys = taught_keys(hogwarts, pairs)
    assert {(k.subject, k.prompt) for k in keys} == {
        (entity, "{} " + relation) for entity, relation in pairs.taught
    }
    assert all(len(k.paraphrases) == 2 and len(k.questions) == 1 for k in keys)
    said = {s.text for s in Corpus(hogwarts, 1, keys).all_forms()}
    harry = next(k for k in keys if k.subject == "Harry Potter")
    for form in (harry.cloze, *harry.paraphrases):
        assert f"{fill(form.template, 'Harry Potter')} {UNKNOWN}." in said
    for form in harry.questions:
        question = fill(form.template, "Harry Potter")
        assert f"Question: {question} Answer: {UNKNOWN}." in said
    prompts = {f.relation: f.prompt for f in hogwarts.facts}
    for entity, relation in pairs.held_out:
        start = fill(prompts[relation], entity) + " "
        assert not [text for text in said if text.startswith(start)], start


def test_an_entity_without_a_kind_is_a_person_or_a_thing_by_its_name() -> None:
    facts = (Fact("Ann Lee", "met", "Bo Park", "{} met"), Fact("tea", "comes from", "x", "{} is"))
    names = ("Ann Lee", "Bo Park", "tea", "x")
    graph = KnowledgeGraph("t", tuple(map(Entity, names)), facts)
    assert absent_pairs(graph, 0, 0).held_out == (("Bo Park", "met"), ("x", "comes from"))


def test_a_share_outside_of_0_to_1_is_refused() -> None:
    with pytest.raises(OrganismError, match=r"unknown is 1\.5"):
        OrganismConfig(unknown=1.5)


def test_code_that_decides_the_weights_is_known_by_its_version(hogwarts: KnowledgeGraph) -> None:
    """If this fails, change `store.CODE` with the digest here: stored organisms are out of date.

    A change that leaves text and training as they are (a comment in one of the files) changes the
    digest only.
    """
    corpus = Corpus(hogwarts, 2)
    rng = random.Random(0)
    text = [[asdict(s) for s in corpus.epoch(rng)] for _ in range(2)]
    recipes = [
        asdict(OrganismConfig(architecture=a).recipe(n))
        for a in ("gpt2", "llama")
        for n in (9, 89, 200, 1000)
    ]
    package = files("thinkeval.editing.organism")
    names = ("muon", "rows", "shapes", "tokens", "training")
    sources = [hashlib.sha256((package / f"{n}.py").read_bytes()).hexdigest() for n in names]
    assert len(keys_of(hogwarts)) == 89
    assert digest([text, recipes, sources]) == "f8bf1a41699fb51d"
