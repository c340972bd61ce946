"""Triplets as lines: prompts with examples from the graph, and how an answer is read."""

from __future__ import annotations

import pytest

from thinkeval.loaders.records import Entity, Fact, KnowledgeGraph
from thinkeval.service.growth.lines import Lines, read

NAMES = ("Paris", "France", "Madrid", "Spain", "Seine")
GRAPH = KnowledgeGraph(
    "g",
    tuple(map(Entity, NAMES)),
    (
        Fact("Paris", "is a city in", "France", "The city of {} is located in the country of"),
        Fact("Madrid", "is a city in", "Spain", "The city of {} is located in the country of"),
        Fact("Seine", "flows in", "France", "The river {} flows through the country of"),
    ),
)


@pytest.mark.parametrize(
    ("answer", "triplet"),
    [
        (" Paris | is a city in | France\n\nSentence: x", ("Paris", "is a city in", "France")),
        ("Rome | is the capital of Italy.", ("Rome", "is the capital of", "Italy")),
        (
            "Harry | studied at Hogwarts School of Witchcraft and Wizardry",
            ("Harry", "studied at", "Hogwarts School of Witchcraft and Wizardry"),
        ),
    ],
)
def test_a_line_is_a_triplet(answer: str, triplet: tuple[str, str, str]) -> None:
    found = read(answer)
    assert found is not None
    assert [(t.subject, t.relation, t.object) for t in found.triplets] == [triplet]


def test_none_is_no_triplet_and_other_text_is_not_read() -> None:
    nothing = read("None.")
    assert nothing is not None
    assert not nothing.triplets
    for text in ("", "France", "Paris | | France", "a | b | c | d", "X | was opened in 1793"):
        assert read(text) is None


def test_examples_are_of_the_graph_and_name_nothing_of_the_statement() -> None:
    text = Lines(GRAPH).prompt("Where is Paris?", "The city of Paris is located\nin France.")
    assert "Fact: Madrid | is a city in | Spain" in text
    assert "Paris | is" not in text
    assert "Seine" not in text
    assert text.endswith("Sentence: The city of Paris is located in France.\nFact:")


def test_without_a_graph_examples_are_shipped() -> None:
    assert "Oslo | is the capital of | Norway" in Lines(None).prompt("", "Rome is in Italy.")
