"""The verdict on the model's own texts: its lines, and that a collapse outranks the edit."""

from __future__ import annotations

import pytest

from thinkeval.service.models.edit import DriftLine, KnownDrift, MetricValue, Score, SideEffects
from thinkeval.service.reports.gate import Limit, check
from thinkeval.service.reports.verdict import best_method, known_facts, unrelated, verdict


def score(method: str = "rome", ifr: float = 0.3, **effects: float | int | str | None) -> Score:
    values = {"efficacy": 0.98, "ifr": ifr}
    return Score(
        edit="e", dataset="d", rewrite="r", subject="Harry", relation="in", prompt="{} in",
        target_true="a", target_new="b", model="m", method=method, n_facts=9,
        values=[
            MetricValue(metric=name, measure="likelihood", value=value, n=3)
            for name, value in values.items()
        ],
        side_effects=SideEffects.model_validate(effects),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kl", "ratio", "word", "grade"),
    [
        (0.0199, 1.02, "as before", "good"),
        (0.02, 1.02, "changed", "fair"),
        (0.05, 1.05, "damaged", "bad"),
        (0.01, 1.1, "damaged", "bad"),
        (0.299, 1.3, "damaged", "bad"),
        (0.3, 1.3, "collapsed", "bad"),
    ],
)
def test_a_word_begins_at_its_line(kl: float, ratio: float, word: str, grade: str) -> None:
    part = unrelated(SideEffects(kl=kl, perplexity_ratio=ratio, texts=16))
    assert (part.word, part.grade, part.value) == (word, grade, kl)
    assert part.rule == (
        "KL per token: from 0.3 “collapsed”, from 0.05 “damaged” (or from perplexity ratio 1.1),"
        " from 0.02 “changed”, below “as before”; median change of known facts at 2 steps and more:"
        " below 0.5 “collapsed”, below 0.9 “damaged”; below 90 % of these kept “changed”, from"
        " that on (of 20 or more) at worst “damaged”"
    )


def drifted(median: float, n: int, unasked: int = 0) -> KnownDrift:
    """Ten known facts, of which n are far from the subject."""

    def line(label: str, n: int) -> DriftLine:
        return DriftLine(
            label=label, n=n, missing=0, kept=n - 3, weakened=2, lost=1, added=0, unknown=0,
            mean_moved=0.1, mean_shift=-0.1, median_change=median,
        )  # fmt: skip

    return KnownDrift(total=line("all facts", 10), far=line("far", n), excluded=4, unasked=unasked)


@pytest.mark.parametrize(
    ("median", "n", "kl", "word"),
    [
        (0.9, 5, 0.0, "as before"),
        (0.9, 5, 0.02, "changed"),
        (0.899, 5, 0.0, "damaged"),
        (0.5, 5, 0.02, "damaged"),
        (0.499, 5, 0.0, "collapsed"),
        (0.1, 4, 0.0, "as before"),
        (0.99, 5, 0.3, "collapsed"),
        (0.899, 5, None, "damaged"),
        (0.9, 5, None, "undefined"),
        (1.0, 19, 0.0, "as before"),
        (1.0, 20, 0.0, "changed"),  # 17 of 20 kept
        (1.0, 30, 0.0, "as before"),  # 27 of 30
        (1.0, 20, None, "changed"),
        (1.0, 20, 0.05, "damaged"),
    ],
)
def test_known_facts_and_own_texts_give_the_worse_word(
    median: float, n: int, kl: float | None, word: str
) -> None:
    found = SideEffects(
        kl=kl, perplexity_ratio=None if kl is None else 1.0, texts=16, reason="no text",
        drift=drifted(median, n), drift_reason=None,
    )  # fmt: skip
    assert unrelated(found).word == word


def test_known_facts_are_counted_in_a_sentence() -> None:
    found = SideEffects(kl=0.01, texts=16, drift=drifted(0.97, 6))
    assert known_facts(found) == (
        "Known facts (n = 10): 7 kept, 2 weakened, 0 replaced, 1 lost; median change at 2"
        " steps and more from the subject 0.970 (n = 6)."
    )
    assert unrelated(found).sentence.endswith(known_facts(found))
    few = SideEffects(kl=0.01, texts=16, drift=drifted(0.97, 4, unasked=6))
    assert known_facts(few) == (
        "Known facts (n = 10, 14 of 20 facts drawn): 7 kept, 2 weakened, 0 replaced, 1 lost;"
        " median change at 2 steps and more from the subject 0.970 (n = 4, too few to judge by)."
    )
    assert known_facts(SideEffects(kl=0.01)) == ""


def test_the_headline_of_a_collapse_names_the_number_that_says_so() -> None:
    ruined = score(kl=0.01, perplexity_ratio=1.0, texts=16)
    effects = ruined.side_effects.model_copy(update={"drift": drifted(0.31, 6)})
    ruined = ruined.model_copy(update={"side_effects": effects})
    assert verdict(ruined, "likelihood", []).headline == (
        "The edit took, but broke the model: known facts away from the subject keep 31 %."
    )
    assert not best_method([ruined], "likelihood").kept


def test_a_sentence_has_the_number_with_its_interval_and_n() -> None:
    found = SideEffects(
        kl=0.0004,
        kl_low=0.0003,
        kl_high=0.0005,
        perplexity_ratio=1.001,
        update_norm=0.035,
        texts=16,
    )
    assert unrelated(found).sentence == (
        "Side effects: as before. Own texts: KL 0.0004 [0.0003, 0.0005] a token over 16 texts,"
        " perplexity ratio 1.001; update 4 % of the weights."
    )


def test_a_collapse_outranks_that_the_edit_took() -> None:
    found = verdict(score(kl=1.13, perplexity_ratio=3.1, texts=16), "likelihood", [])
    assert found.headline == (
        "The edit took, but broke the model: KL 1.130 a token on its own texts."
    )
    damaged = verdict(score(kl=0.06, perplexity_ratio=1.06, texts=16), "likelihood", [])
    assert damaged.headline.startswith(
        "The edit took, but broke the model: KL 0.060 a token on its own texts"
    )
    changed = verdict(score(kl=0.03, perplexity_ratio=1.03, texts=16), "likelihood", [])
    assert changed.headline.startswith("The edit took, but changed unrelated text; ")
    moved = score(kl=0.001, perplexity_ratio=1.0, texts=16)
    moved.side_effects.drift = drifted(1.0, 20)
    found = verdict(moved, "likelihood", [])
    assert found.headline.startswith("The edit took, but changed unrelated facts; ")
    assert "1.000 (n = 20, 85 % of them kept)." in found.unrelated.sentence


def test_what_was_not_measured_has_no_word_and_its_reason() -> None:
    found = verdict(score(reason="no texts"), "likelihood", [])
    assert (found.unrelated.word, found.unrelated.value) == ("undefined", None)
    assert "is undefined: no texts." in found.unrelated.sentence
    assert found.headline.startswith("The edit took; ")
    none = unrelated(SideEffects(kl=0, perplexity_ratio=1))
    assert none.sentence == "The edit changes nothing, so texts of its own stay."


def test_a_collapsed_model_is_never_the_best() -> None:
    ruined, whole = score("rome", 0.01, kl=2.0), score("memit", 0.4, kl=0.001)
    assert best_method([ruined, whole], "likelihood").score == whole
    assert not best_method([ruined], "likelihood").kept


def test_a_gate_fails_above_its_limit_and_where_nothing_was_measured() -> None:
    limits = [Limit("kl", "<=", 0.02)]

    def told(found: Score) -> tuple[bool, str]:
        (checked,) = check(found, limits, "likelihood")
        return checked.met, checked.line

    assert told(score(kl=0.02, texts=16))[0]
    assert told(score(kl=0.5, texts=16)) == (False, "gate: e: KL 0.5000 > 0.02 over 16 texts")
    assert told(score(reason="left out")) == (False, "gate: e: KL is undefined: left out")
