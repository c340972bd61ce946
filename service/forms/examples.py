"""Examples in front of a prompt: facts of everyday knowledge that share no name with the graph.

They depend on the graph's names alone, so that all edits of a graph are asked behind the same
examples. The first of each list that fit are taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ...editing.probe.prompts import QUESTION
from .grammar import clause


class Example(NamedTuple):
    """An answered prompt; the names are those that the graph must not have."""

    prompt: str
    answer: str
    names: tuple[str, ...]


_FACTS = (
    ("Norway", "Oslo", "Helsinki", "What is the capital of {}?",
     "The capital of {} is the city of"),
    ("Brazil", "Portuguese", "Dutch", "What is the official language of {}?",
     "The official language of {} is"),
    ("Kenya", "Africa", "Asia", "On which continent is {}?",
     "{} is a country on the continent of"),
    ("Hamlet", "William Shakespeare", "Jane Austen", "Who wrote {}?", "{} was written by"),
    ("gold", "Au", "Fe", "What is the chemical symbol of {}?", "The chemical symbol of {} is"),
    ("penicillin", "Alexander Fleming", "Marie Curie", "Who discovered {}?",
     "{} was discovered by"),
    ("Toronto", "Canada", "Mexico", "In which country is the city of {}?",
     "The city of {} is located in the country of"),
    ("Mona Lisa", "Leonardo da Vinci", "Rembrandt", "Who painted the {}?",
     "The {} was painted by"),
    ("Titan", "Saturn", "Neptune", "Which planet does {} orbit?", "{} is a moon of the planet"),
    ("violin", "strings", "drums", "To which family of instruments does the {} belong?",
     "The {} belongs to the family of the"),
    ("Iceland", "Reykjavik", "Tallinn", "What is the capital of {}?",
     "The capital of {} is the city of"),
    ("table salt", "sodium chloride", "calcium carbonate", "What is the chemical name of {}?",
     "The chemical name of {} is"),
)  # fmt: skip
"""Subject, object, another object that is wrong, question and cloze."""

_CHAINS = (
    ("What is the capital of Norway?", "In which country is the city of {}?", "Norway",
     ("Norway", "Oslo")),
    ("In which country is the city of Toronto?", "On which continent is {}?", "North America",
     ("Toronto", "Canada", "North America")),
    ("Who wrote Hamlet?", "In which century was {} born?", "the sixteenth",
     ("Hamlet", "William Shakespeare")),
    ("What is the chemical symbol of gold?", "How many letters does {} have?", "two",
     ("gold", "Au")),
    ("Who painted the Mona Lisa?", "In which country was {} born?", "Italy",
     ("Mona Lisa", "Leonardo da Vinci", "Italy")),
    ("Which planet does Titan orbit?", "What is the most famous feature of {}?", "its rings",
     ("Titan", "Saturn")),
)  # fmt: skip
"""Question, question about its answer, the answer of both, and all names."""

_KINDS = (
    ("Norway", "country"), ("Alexander Fleming", "person"), ("Toronto", "city"),
    ("Mississippi", "river"), ("Portuguese", "language"), ("Hamlet", "play"), ("Titan", "moon"),
    ("violin", "instrument"),
)  # fmt: skip
"""Names and their kinds."""

BLANK = "____"
FILL = 'Fill in the blank: "{}" Answer:'
IS_IT = "Is it {} that {}?"
YES, NO = "Yes", "No"
VERDICTS = (("true", True, YES), ("true", False, NO), ("false", True, NO), ("false", False, YES))
"""Word of the question, True if the statement is right, and the answer."""
LET_X = 'Let X be the answer to the question "{}" {}'


def questions(taken: Iterable[str], count: int) -> list[str]:
    """Answered questions, at most `count`."""
    found = (
        Example(QUESTION.format(question=question.format(subject)), name, (subject, name))
        for subject, name, _, question, _ in _FACTS
    )
    return _first(found, taken, count)


def clozes(taken: Iterable[str], count: int) -> list[str]:
    """Sentences that the object completes, at most `count`."""
    found = (
        Example(cloze.format(subject), f"{name}.", (subject, name))
        for subject, name, _, _, cloze in _FACTS
    )
    return _first(found, taken, count)


def kinds(taken: Iterable[str], count: int) -> list[str]:
    """Sentences that name the kind of a subject, at most `count`."""
    found = (Example(f"{name} is a", f"{kind}.", (name,)) for name, kind in _KINDS)
    return _first(found, taken, count)


def blanks(taken: Iterable[str], count: int) -> list[str]:
    """Sentences whose blank is filled with the subject, at most `count`."""
    found = (
        Example(FILL.format(f"{cloze.format(BLANK)} {name}."), subject, (subject, name))
        for subject, name, _, _, cloze in _FACTS
    )
    return _first(found, taken, count)


def verdicts(taken: Iterable[str], count: int) -> list[str]:
    """Statements asked for their truth, at most `count`; as many Yes as No, in true and false."""
    known = _folded(taken)
    free = (each for each in _FACTS if known.isdisjoint(_folded(each[:3])))
    out = []
    for (subject, name, wrong, _, cloze), (word, is_right, answer) in zip(
        free, VERDICTS, strict=False
    ):
        said = f"{clause(cloze).format(subject)} {name if is_right else wrong}"
        out.append(f"{QUESTION.format(question=IS_IT.format(word, said))} {answer}")
    return out[:count]


def chains(taken: Iterable[str], count: int) -> list[str]:
    """Answered questions about the answer to a question, at most `count`."""
    found = (
        Example(QUESTION.format(question=LET_X.format(first, second.format("X"))), answer, names)
        for first, second, answer, names in _CHAINS
    )
    return _first(found, taken, count)


def _first(found: Iterable[Example], taken: Iterable[str], count: int) -> list[str]:
    known = _folded(taken)
    free = [each for each in found if known.isdisjoint(_folded(each.names))]
    return [f"{each.prompt} {each.answer}" for each in free[:count]]


def _folded(names: Iterable[str]) -> set[str]:
    return {name.casefold() for name in names}
