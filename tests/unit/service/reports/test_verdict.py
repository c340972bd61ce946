"""Graded words on a score, with the thresholds that they were given by."""

from __future__ import annotations

import pytest
from tests.unit.service.reports.test_chain_tree import chain

from thinkeval.service.models.edit import MetricValue, Score, SideEffects
from thinkeval.service.reports.verdict import LEFT, Verdict, in_a_word, verdict

VALUES = {"efficacy": 0.98, "ifr": 0.284, "preservation": 0.92, "subject_retention": 0.85}


def scored(n: int = 3, **values: float | None) -> Score:
    return Score(
        edit="e", dataset="d", rewrite="r", subject="Harry", relation="studied_at",
        prompt="{} studied at", target_true="Hogwarts", target_new="Ilvermorny", model="m",
        method="rome", n_facts=9,
        values=[
            MetricValue(metric=name, measure="likelihood", value=value, n=n)
            for name, value in (VALUES | values).items()
        ],
    )  # fmt: skip


def judged(n: int = 3, chains: int = 3, **values: float | None) -> Verdict:
    rows = [chain("SAO", ratio=0.9), chain("SBO", ratio=0.7), chain("SCO", ratio=0.1)][:chains]
    return verdict(scored(n, **values), "likelihood", rows)


def test_the_verdict_says_what_took_what_is_left_and_what_was_kept() -> None:
    found = judged()
    assert found.headline == (
        "The edit took; much of the old fact can still be deduced (asked in one wording only;"
        " --forms all asks in others)."
    )
    assert (
        found.left.sentence
        == "28 % of the old fact can still be deduced; 3 of 3 chains beside it survive,"
        " and 1 of these keeps more than 70 %."
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
    assert "the model knows 0 of 3 chains" in none.left.sentence
    assert none.installed.sentence == "The edited fact was not probed."
    assert "undefined" in none.headline


def test_little_left_of_the_subject_is_told_with_the_ifr_beyond_it() -> None:
    found = judged(subject_retention=0.3, ifr_beyond_subject=0.69)
    assert (found.subject.word, found.kind) == ("damaged", "broke")
    assert "the other facts about Harry keep 30 % of their probability; much of" in found.headline
    assert "had those facts been kept, it would be 0.690" in found.subject.sentence


@pytest.mark.parametrize(
    ("values", "word", "kind"),
    [
        ({"ifr": 0.1}, "deep", "worked"),
        ({"ifr": 0.2}, "leaky", "leaks"),
        ({"ifr": 0.5}, "shallow", "leaks"),
        ({"ifr": 0.0, "efficacy": 0.05}, "missed", "nothing"),
        ({"ifr": 0.0, "efficacy": 0.3}, "partial", "leaks"),
        ({"ifr": 0.0, "subject_retention": 0.1}, "damaged", "broke"),
        ({"ifr": 0.0, "preservation_symmetric": 0.5}, "damaged", "broke"),
        ({"ifr": 0.0, "efficacy": None}, "undefined", "nothing"),
    ],
)
def test_one_word_says_that_an_edit_worked_only_where_it_took_and_kept_the_model(
    values: dict[str, float | None], word: str, kind: str
) -> None:
    found = in_a_word(scored(**values), "likelihood")
    assert (found.word, found.kind) == (word, kind)
    assert found.sentence


def test_one_word_says_that_the_model_collapsed_or_never_knew() -> None:
    ruined = scored(ifr=0.0).model_copy(
        update={"side_effects": SideEffects(kl=9.0, texts=3, perplexity_ratio=50.0)}
    )
    found = in_a_word(ruined, "likelihood")
    assert (found.word, found.kind) == ("collapsed", "broke")
    never = MetricValue(metric="ifr", measure="likelihood", value=None, n=0, excluded=3)
    values = [each for each in ruined.values if each.metric != "ifr"]
    unknown = ruined.model_copy(update={"values": [*values, never]})
    assert in_a_word(unknown, "likelihood").word == "unknown"


def test_an_update_larger_than_its_layer_is_said_before_the_damage() -> None:
    finding = {"finding": "update larger than the layer's own scale", "weight": "w", "norm": 7.2}
    score = scored().model_copy(update={"provenance": {"findings": [finding]}})
    said = "update larger than the layer's own scale (‖ΔW‖/‖W‖ 7.200, w)"
    assert said not in verdict(score, "likelihood", []).text
    ruined = score.model_copy(
        update={"side_effects": SideEffects(kl=9.0, texts=3, perplexity_ratio=50.0)}
    )
    found = verdict(ruined, "likelihood", [])
    assert f"broke the model: {said}; KL" in found.headline
    assert found.text.index(said) < found.text.index("collapsed")
    assert in_a_word(ruined, "likelihood").sentence.startswith(f"The model broke: {said}; KL")


def unknown(before: float | None, n: int = 3) -> Verdict:
    """The verdict where the model knew none of n chains."""
    rows = [chain(f"S{middle}O", pre=0.02, ratio=3.0) for middle in "ABC"[:n]]
    assert not any(row.known for row in rows)
    reason = f"the model knows 0 of {n} chains"
    values = [
        MetricValue(metric="efficacy", measure="likelihood", value=0.9, n=1),
        MetricValue(metric="ifr", measure="likelihood", value=None, n=0, excluded=n, reason=reason),
        MetricValue(metric="preservation", measure="likelihood", value=None, n=0, excluded=4),
        MetricValue(metric="known_before", measure="likelihood", value=before, n=1),
    ]
    score = Score(
        edit="e", dataset="d", rewrite="r", subject="Harry", relation="studied_at",
        prompt="{} studied at", target_true="Hogwarts", target_new="Ilvermorny", model="m",
        method="rome", n_facts=9, values=values,
    )  # fmt: skip
    return verdict(score, "likelihood", rows)


def test_what_the_model_never_knew_gets_a_headline_and_no_verdict() -> None:
    found = unknown(0.0003)
    assert found.headline == found.nothing == found.text
    assert found.nothing == (
        "Nothing to measure: the model knows 0 of 3 chains, and gives the edited fact p = 0.0003."
    )
    assert unknown(None, 1).nothing == "Nothing to measure: the model knows 0 of 1 chain."
    assert unknown(0.0003, 0).nothing == (
        "Nothing to measure: the model gives the edited fact p = 0.0003, and no chain leads to the"
        " old object."
    )
    assert unknown(0.8, 0).nothing == unknown(None, 0).nothing == ""


def test_a_known_fact_without_a_known_chain_is_still_judged_by_its_efficacy() -> None:
    found = unknown(0.8)
    assert found.nothing == ""
    assert found.headline.startswith("The edit took; what is left of the old fact is undefined")
    assert found.left.sentence == "IFR is undefined: the model knows 0 of 3 chains."
    assert "the model knows 0 of 4 facts" in found.kept.sentence
    assert {part.grade for part in (found.left, found.kept)} == {"none"}


def test_values_say_over_how_many_known_items_they_are() -> None:
    found = judged()
    assert "of 3 chains beside it survive" in found.left.sentence
    score = Score(
        edit="e", dataset="d", rewrite="r", subject="Harry", relation="r", prompt="{} r",
        target_true="a", target_new="b", model="m", method="rome", n_facts=9,
        values=[
            MetricValue(metric="ifr", measure="likelihood", value=0.3, n=1, excluded=2),
            MetricValue(metric="preservation", measure="likelihood", value=0.9, n=2, excluded=5),
        ],
    )  # fmt: skip
    rows = [chain("SAO", ratio=0.3), chain("SBO", pre=0.01), chain("SCO", pre=0.01)]
    partly = verdict(score, "likelihood", rows)
    assert "of 1 known of 3 chains beside it survive" in partly.left.sentence
    assert "2 known of 7 facts around it keep" in partly.kept.sentence


def test_preservation_over_few_facts_says_so() -> None:
    assert judged(n=4).kept.sentence.endswith("it rests on 4 facts and says little.")
    assert "rests on" not in judged(n=5).kept.sentence
