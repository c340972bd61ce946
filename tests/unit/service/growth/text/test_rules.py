"""Triplets of simple sentences by rules: what is read, and what is left unparsed."""

from __future__ import annotations

import pytest

from thinkeval.loaders import graphs
from thinkeval.loaders.records import KnowledgeGraph
from thinkeval.service.graphs import datasets
from thinkeval.service.growth.text.rules import Reader

HOGWARTS = "Hogwarts School of Witchcraft and Wizardry"


@pytest.fixture(scope="module")
def hogwarts() -> KnowledgeGraph:
    return datasets.read(graphs.path("hogwarts")).graph


@pytest.fixture(scope="module")
def reader(hogwarts: KnowledgeGraph) -> Reader:
    return Reader(hogwarts)


def test_every_sentence_of_a_graphs_own_wording_is_its_fact(
    hogwarts: KnowledgeGraph, reader: Reader
) -> None:
    """Prompt and paraphrases of each fact, with its object and a full stop."""
    wrong = []
    for fact in hogwarts.facts:
        for cloze in (fact.prompt, *fact.paraphrases):
            sentence = f"{cloze.replace('{}', fact.subject)} {fact.object}."
            if reader.read(sentence).triplets != ((fact.subject, fact.relation, fact.object),):
                wrong.append((sentence, reader.read(sentence).triplets))
    assert wrong == []


@pytest.mark.parametrize(
    ("sentence", "triplet"),
    [
        ("Marie Curie was born in Warsaw.", ("Marie Curie", "was born in", "Warsaw")),
        ("Paris is the capital of France.", ("Paris", "is the capital of", "France")),
        ("Ada Byron works at the Analytical Society.",
         ("Ada Byron", "works at", "Analytical Society")),
        ("Moreover, Jan van Eyck worked for Philip of Burgundy.",
         ("Jan van Eyck", "works for", "Philip of Burgundy")),
        ("Lise Meitner lived in Berlin from 1907 to 1938.", ("Lise Meitner", "lives in", "Berlin")),
        ("J. R. R. Tolkien wrote The Hobbit in 1937!",
         ("J. R. R. Tolkien", "wrote", "The Hobbit")),
    ],
)  # fmt: skip
def test_general_patterns_need_no_base_graph(sentence: str, triplet: tuple[str, str, str]) -> None:
    found = Reader().read(sentence).triplets
    assert found == (triplet,)


@pytest.mark.parametrize(
    "sentence",
    [
        "Did Harry Potter study at Hogwarts?",
        "Where Harry Potter studied at Hogwarts?",
        "He studied at Hogwarts.",
        "Harry Potter never studied at Hogwarts.",
        "Harry Potter did not study at Hogwarts.",
        "If Harry Potter studied at Hogwarts, he knows Dumbledore.",
        "Harry Potter, who studied at Hogwarts, is kind.",
        "Paris is the capital of fashion.",
        "Everyone studied at Hogwarts.",
        "The weather was fine.",
        "",
    ],
)
def test_what_is_no_simple_statement_is_not_read(reader: Reader, sentence: str) -> None:
    assert reader.read(sentence).triplets == ()


def test_a_list_of_objects_gives_a_triplet_each(reader: Reader) -> None:
    found = reader.read("Harry Potter was friends with Ron Weasley, Hermione Granger and Luna.")
    assert [o for _, _, o in found.triplets] == [
        "Ron Weasley", "Hermione Granger", found.triplets[2][2],
    ]  # fmt: skip
    assert found.triplets[2][2].startswith("Luna")


def test_a_known_name_is_found_before_more_about_it(reader: Reader) -> None:
    for tail in ("", " in Scotland", ", a school in Scotland", " from 1991 to 1997"):
        found = reader.read(f"Harry Potter studied at {HOGWARTS}{tail}.")
        assert found.triplets == (("Harry Potter", "studied at", HOGWARTS),), tail


def test_an_alias_in_the_text_is_reported(reader: Reader) -> None:
    found = reader.read("Harry Potter (also known as the Chosen One) studied at Eton.")
    assert found.triplets == (("Harry Potter", "studied at", "Eton"),)
    assert found.aliases == (("Harry Potter", "the Chosen One"),)


def test_a_base_graphs_relation_takes_precedence_over_a_general_one(reader: Reader) -> None:
    [(_, relation, _)] = reader.read("Rubeus Hagrid worked as a teacher at Durmstrang.").triplets
    assert relation == "taught at"
