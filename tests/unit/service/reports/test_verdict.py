"""Graded words on a score, with the thresholds that they were given by."""

from __future__ import annotations

import pytest
from tests.unit.service.reports.test_chain_tree import chain

from thinkeval.service.reports.verdict import LEFT, Verdict, verdict
from thinkeval.service.schemas import MetricValue, Score

VALUES = {"efficacy": 0.98, "ifr": 0.284, "preservation": 0.92, "subject_retention": 0.85}


def judged(n: int = 3, chains: int = 3, **values: float | None) -> Verdict:
    score = Score(
        edit="e", dataset="d", rewrite="r", subject="Harry", relation="studied_at",
        prompt="{} studied at", target_true="Hogwarts", target_new="Ilvermorny", model="m",
        method="rome", n_facts=9,
        values=[
            MetricValue(metric=name, measure="likelihood", value=value, n=n)
            for name, value in (VALUES | values).items()
        ],
    )  # fmt: skip
    rows = [chain("SAO", ratio=0.9), chain("SBO", ratio=0.7), chain("SCO", ratio=0.1)][:chains]
    return verdict(score, "likelihood", rows)


def test_the_verdict_says_what_took_what_is_left_and_what_was_kept() -> None:
    found = judged()
    assert found.headline == "The edit took; much of the old fact can still be deduced."
    assert (
        found.left.sentence
        == "28 % of the old fact can still be deduced; 3 of 3 chains survive, and"
        " 1 of these keeps more than 70 %."
    )
    assert [part.word for part in found.parts] == ["took", "much", "kept", "mostly kept"]
    assert "with probability 0.980" in found.text
    assert found.left.rule.startswith("IFR: from 1.05 “more than before”, from 0.5 “most”")


@pytest.mark.parametrize(
    ("value", "word"),
    [(2.0, "more than before"), (0.5, "most"), (0.2, "much"), (0.05, "little"), (0.049, "none")],
)
def test_a_grade_begins_at_its_threshold(value: float, word: str) -> None:
    assert judged(ifr=value).left.word == word
    assert word in {each for _, each in LEFT}


def test_undefined_values_have_words_of_their_own() -> None:
    assert judged(chains=0).left.sentence.startswith("No chain of ≤ 5 facts")
    none = judged(n=0, preservation=None, subject_retention=None, efficacy=None)
    assert {part.word for part in none.parts} == {"undefined"}
    assert {part.grade for part in none.parts} == {"none"}
    assert "did not know" in none.left.sentence
    assert none.installed.sentence == "The edited fact was not probed."
    assert "undefined" in none.headline


def test_little_left_of_the_subject_is_told_with_the_ifr_beyond_it() -> None:
    found = judged(subject_retention=0.3, ifr_beyond_subject=0.69)
    assert found.subject.word == "damaged"
    assert found.headline.endswith("and the other facts about the subject keep 30 %.")
    assert "had those facts been kept, it would be 0.690" in found.subject.sentence


def test_preservation_over_few_facts_says_so() -> None:
    assert judged(n=4).kept.sentence.endswith("it rests on 4 facts and says little.")
    assert "rests on" not in judged(n=5).kept.sentence
