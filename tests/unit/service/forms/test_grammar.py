"""Rules of English: negated clozes, noun phrases of questions, nested clozes, clauses."""

from __future__ import annotations

import pytest

from thinkeval.service.forms.grammar import clause, negated, nested, phrase, stem, third_person


@pytest.mark.parametrize(
    ("cloze", "expected"),
    [
        ("The capital of {} is the city of", "The capital of {} is not the city of"),
        ("{} was born in", "{} was not born in"),
        ("{}'s mother tongue is", "{}'s mother tongue is not"),
        ("The city of {} lies on the river", "The city of {} does not lie on the river"),
        ("The river {} flows through", "The river {} does not flow through"),
        ("{} carries the name", "{} does not carry the name"),
        ("{} watches", "{} does not watch"),
        ("{} has as its capital", "{} has not as its capital"),
        # The first auxiliary behind the subject, not one in front of it.
        ("What is known of {} is that it lies in", "What is known of {} is not that it lies in"),
        # No auxiliary, and no verb in the third person directly behind the subject.
        ("{} studied at", None),
        ("The writer of {} lived in", None),
        ("{} always wins against", None),
        # Negative already; no subject.
        ("{} is not the capital of", None),
        ("{} isn't the capital of", None),
        ("{} has never left", None),
        ("The capital is", None),
    ],
)
def test_a_cloze_is_negated_by_rule(cloze: str, expected: str | None) -> None:
    assert negated(cloze) == expected


@pytest.mark.parametrize(
    ("verb", "plain"),
    [("lies", "lie"), ("dies", "die"), ("flies", "fly"), ("plays", "play"), ("passes", "pass"),
     ("teaches", "teach"), ("goes", "go"), ("mixes", "mix"), ("uses", "use")],
)  # fmt: skip
def test_stems_of_verbs(verb: str, plain: str) -> None:
    assert stem(verb) == plain
    assert third_person(plain) == verb


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the capital of {}?", "the capital of {}"),
        ("Who was the father of {}?", "the father of {}"),
        ("In which city is the {}?", "the city in which the {} is"),
        ("On which continent is {}?", "the continent on which {} is"),
        ("In which country was {} born?", "the country in which {} was born"),
        (
            "In which country is the {} language mainly spoken?",
            "the country in which the {} language is mainly spoken",
        ),
        ("On which river does the city of {} lie?", "the river on which the city of {} lies"),
        ("Through which city does the river {} flow?", "the city through which the river {} flows"),
        (
            "Which language is mainly spoken in the city of {}?",
            "the language that is mainly spoken in the city of {}",
        ),
        ("Who wrote {}?", "the person who wrote {}"),
        # The past tense of an irregular verb is not known.
        ("In which city did {} live and work?", None),
        ("Where is {}?", None),
        ("What is it?", None),
        ("What is {} and what is {}?", None),
    ],
)
def test_a_question_gives_a_noun_phrase(question: str, expected: str | None) -> None:
    assert phrase(question) == expected


def test_a_noun_phrase_is_put_into_a_cloze_without_repeats() -> None:
    inner = "the river on which the city of Rome lies"
    assert nested("The river {} flows through", inner) == (
        "The river on which the city of Rome lies flows through"
    )
    assert nested("The {} is in", "the tower of Paris") == "The tower of Paris is in"
    assert nested("{} is in", "the tower of Paris") == "The tower of Paris is in"
    assert nested("The city of {} is in", "the capital of Italy") == (
        "The city of the capital of Italy is in"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [("The capital is", "the capital is"), ("A city is", "a city is"), ("UNO is", "UNO is"),
     ("I am", "I am"), ("", "")],
)  # fmt: skip
def test_a_clause_begins_with_a_small_letter(text: str, expected: str) -> None:
    assert clause(text) == expected
