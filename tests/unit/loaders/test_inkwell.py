"""The shipped graph inkwell has what requests to append an answer need."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from thinkeval.loaders import formats, graphs
from thinkeval.loaders.records import KnowledgeGraph

APPENDED = {"publishes": "novel", "invites": "author", "stages": "play"}
"""The relations with several answers, and the kind of these."""


@pytest.fixture(scope="module")
def inkwell() -> KnowledgeGraph:
    loaded = formats.load(graphs.path("inkwell"))
    assert loaded.report.notes == ()
    return loaded.graph


def test_keys_have_four_to_eight_answers_of_one_kind(inkwell: KnowledgeGraph) -> None:
    kinds = {entity.name: entity.kind for entity in inkwell.entities}
    answers: dict[tuple[str, str], list[str]] = defaultdict(list)
    for fact in inkwell.facts:
        answers[fact.subject, fact.relation].append(fact.object)
    several = {key: names for key, names in answers.items() if len(names) > 1}
    assert len(several) == 21
    assert Counter(relation for _, relation in several) == dict.fromkeys(APPENDED, 7)
    for (_, relation), names in several.items():
        assert 4 <= len(names) <= 8
        assert {kinds[name] for name in names} == {APPENDED[relation]}


def test_answers_are_linked_within_their_kind(inkwell: KnowledgeGraph) -> None:
    kinds = {entity.name: entity.kind for entity in inkwell.entities}
    answers = {name for name, kind in kinds.items() if kind in APPENDED.values()}
    assert len(answers) == 72
    assert None not in kinds.values()
    near: dict[str, set[str]] = defaultdict(set)
    for fact in inkwell.facts:
        if kinds[fact.subject] == kinds[fact.object]:
            near[fact.subject].add(fact.object)
            near[fact.object].add(fact.subject)
    assert all(len(near[name]) >= 5 for name in answers)


def test_names_of_a_kind_begin_with_different_words(inkwell: KnowledgeGraph) -> None:
    # A small model has chosen between names once it wrote the first token.
    first: dict[str | None, list[str]] = defaultdict(list)
    for entity in inkwell.entities:
        first[entity.kind].append(entity.name.split()[0])
    assert all(len(set(words)) == len(words) for words in first.values())
