"""The best method of a comparison against each other one, by paired differences."""

from __future__ import annotations

import math
import random
from statistics import fmean

import pytest

from thinkeval.service.models.edit import MetricValue, Score
from thinkeval.service.reports.comparison import Comparison, common
from thinkeval.service.reports.paired import by_row, notes, out, paired, sentences


def _score(method: str, rewrite: str, ifr: float, *, efficacy: float = 1.0, n: int = 4) -> Score:
    """One rewrite with `n` chains of two steps."""
    values = [
        MetricValue(metric="efficacy", measure="likelihood", value=efficacy, n=1),
        MetricValue(metric="ifr", measure="likelihood", value=ifr, n=n),
        MetricValue(metric="ifr_by_steps", measure="likelihood", step=2, value=ifr, n=n),
    ]
    return Score(
        edit=f"{method}-{rewrite}", dataset="d", rewrite=rewrite, subject="s", relation="r",
        prompt="{} r", target_true="o", target_new="n", model="m", method=method,
        values=values, n_facts=1,
    )  # fmt: skip


REWRITES = [f"r{i}" for i in range(12)]


def _compared() -> Comparison:
    """`low` is always .2 below `high`; `like` is above or below it by chance; `none` never took."""
    rng = random.Random(0)
    scores = []
    for i, rewrite in enumerate(REWRITES):
        level = rng.uniform(0.3, 0.7)
        scores += [
            _score("low", rewrite, level - 0.2),
            _score("high", rewrite, level),
            _score("like", rewrite, level - 0.2 + (0.1 if i % 2 else -0.09)),
            _score("none", rewrite, 0.0, efficacy=0.01),
        ]
    return common(scores, "likelihood")


def test_the_best_method_is_the_lowest_of_those_that_took() -> None:
    (against,) = paired(_compared(), "likelihood")
    assert against.best == "low", "`none` has a lower IFR, and installs nothing"
    assert [row.first for row in against.of("ifr")] == ["like", "high", "none"], (
        "by IFR, what did not take last"
    )


def test_differences_are_paired_by_rewrite_and_checked_against_chance() -> None:
    found = _compared()
    (against,) = paired(found, "likelihood")
    rows = {row.first: row for row in against.of("ifr")}
    of = {(s.method, s.rewrite): s.number("ifr", "likelihood") for s in found.scores}

    def mean(method: str) -> float:
        return fmean((of[method, r] or 0) - (of["low", r] or 0) for r in REWRITES)

    for method, row in rows.items():
        assert row.value == pytest.approx(mean(method)), "equal chains: a mean over rewrites"
    # The rewrites vary by far more than .2, the paired difference not at all.
    assert rows["high"].interval == pytest.approx((0.2, 0.2))
    assert rows["high"].beyond_rewrites
    assert rows["like"].interval is not None
    assert rows["like"].beyond_rewrites is False
    (text,) = sentences([against])
    assert "Lowest IFR among methods of efficacy above .5: low." in text
    assert "paired over 12 common rewrites" in text
    assert "high +0.200 [0.20, 0.20]" in text
    assert "exceeds chance for high, none; not for like." in text


def test_rows_of_rest_say_what_an_interval_says() -> None:
    rows = [row for row in out(paired(_compared(), "likelihood")) if row.metric == "ifr"]
    assert {(row.best, row.rewrites) for row in rows} == {("low", 12)}
    assert {row.method: row.exceeds_chance for row in rows} == {
        "none": True, "like": False, "high": True,
    }  # fmt: skip


def test_two_rewrites_are_too_few_for_an_interval() -> None:
    scores = [
        _score(method, rewrite, ifr)
        for method, ifr in (("low", 0.1), ("high", 0.9))
        for rewrite in ("r1", "r2")
    ]
    (against,) = paired(common(scores, "likelihood"), "likelihood")
    (row,) = against.of("ifr")
    assert row.value == pytest.approx(0.8)
    assert (row.interval, row.beyond_rewrites) == (None, None)
    (text,) = sentences([against], brief=True)
    assert "an interval needs 3 families" in text
    assert not math.isnan(out([against])[0].value)


def test_a_single_method_and_methods_that_did_not_take_are_not_compared() -> None:
    assert paired(common([_score("low", "r1", 0.1)], "likelihood"), "likelihood") == []
    weak = [_score(method, "r1", 0.1, efficacy=0.2) for method in ("low", "high")]
    assert paired(common(weak, "likelihood"), "likelihood") == []
    assert paired(Comparison([]), "likelihood") == []


def test_methods_on_different_rewrites_are_paired_over_those_both_have() -> None:
    scores = [_score("low", r, 0.1) for r in REWRITES]
    scores += [_score("high", r, 0.5) for r in REWRITES[:4]]
    for chosen in ("common", "all"):
        found = common(scores, "likelihood", chosen)
        (against,) = paired(found, "likelihood")
        assert {row.n for row in against.rows} == {4}
        assert notes(found, "likelihood")[0] == found.warnings[0]


def test_each_row_of_a_report_has_its_differences_to_the_best() -> None:
    found = _compared()
    rows = by_row([("m", "low"), ("m", "high"), ("other", "high")], paired(found, "likelihood"))
    assert rows[0] == rows[2] == [], "the best method, and a model without one"
    (ifr,) = (each for each in rows[1] if each["metric"] == "ifr")
    assert ifr["value"] == pytest.approx(0.2)
    assert (ifr["best"], ifr["rewrites"], ifr["exceeds_chance"]) == ("low", 12, True)
