"""Several edits as one, methods at equal efficacy, and differences, against hand-made curves."""

from __future__ import annotations

import math

import numpy as np
import pytest

from thinkeval.loaders.records import RewriteRequest
from thinkeval.service.models.edit import MetricValue, Score
from thinkeval.service.reports import paired, pooling
from thinkeval.service.reports.sweep import report
from thinkeval.service.scoring.sweep import Cell, Outcome

STRENGTHS = (0.25, 0.5, 0.75, 1.0)
IDS = tuple(f"r{i}" for i in range(8))


def _score(rewrite: str, method: str, efficacy: float, ifr: float, kept: float) -> Score:
    def value(metric: str, number: float, n: int, step: int | None = None) -> MetricValue:
        return MetricValue(metric=metric, measure="likelihood", step=step, value=number, n=n)

    values = [
        value("efficacy", efficacy, 1),
        value("ifr", ifr, 3),
        value("ifr_by_steps", ifr, 1, 1),
        value("ifr_by_steps", ifr, 2, 4),
        value("preservation", kept, 5),
    ]
    return Score(
        edit=f"{method}-{rewrite}", dataset="d", rewrite=rewrite, subject="s", relation="r",
        prompt="{} r", target_true="a", target_new="b", model="m", method=method, values=values,
        n_facts=5,
    )  # fmt: skip


def _outcome(method: str, rewrite: str, strength: float, seed: int, slope: float) -> Outcome:
    """Efficacy is the strength, IFR 1 − slope · strength: known at every efficacy."""
    request = RewriteRequest(
        id=rewrite, dataset="d", prompt="{} r", subject="s", relation="r", target_true="a",
        target_new="b",
    )  # fmt: skip
    shift = 0.01 * IDS.index(rewrite)
    score = _score(rewrite, method, strength, 1 - slope * strength + shift, 1 - strength / 10)
    return Outcome(Cell("m", seed, request, method, strength), score)


def _outcomes(slopes: dict[str, float], seeds: tuple[int, ...] = (0,)) -> list[Outcome]:
    return [
        _outcome(method, rewrite, strength, seed, slope + 0.02 * seed)
        for seed in seeds
        for method, slope in slopes.items()
        for strength in STRENGTHS
        for rewrite in IDS
    ]


def test_pooled_ifr_weights_chains_by_their_length() -> None:
    rows = pooling.terms([_score("r0", "a", 0.9, 0.4, 1.0)], "likelihood")
    assert rows[0, 3] == pytest.approx(1 + 2 / math.sqrt(4))
    assert pooling.pooled(rows)[:3] == pytest.approx((0.9, 0.4, 1.0))


def test_what_was_not_taken_is_nan_and_so_is_ifr_without_chains() -> None:
    empty = _score("r0", "a", 0.9, 0.4, 1.0).model_copy(update={"values": []})
    efficacy, ifr, preservation, *_ = pooling.pooled(pooling.terms([empty], "likelihood"))
    assert math.isnan(efficacy)
    assert math.isnan(ifr)
    assert math.isnan(preservation)


def test_intervals_over_edits_agree_with_drawing_them_one_by_one() -> None:
    scores = [_score(i, "a", 0.1 * k, 0.5 + 0.05 * k, 1.0) for k, i in enumerate(IDS)]
    rows = pooling.terms(scores, "likelihood")
    fast = pooling.interval_over_edits(rows, draws=20_000)
    rng = np.random.default_rng(5)
    slow = [pooling.pooled(rows[rng.integers(0, len(rows), len(rows))]) for _ in range(4000)]
    for place, name in ((0, "efficacy"), (1, "ifr")):
        expected = np.quantile([values[place] for values in slow], (0.025, 0.975))
        assert fast[name] == pytest.approx(expected, abs=0.02)
    assert pooling.interval_over_edits(rows[:2]) == {}


@pytest.mark.parametrize("level", paired.LEVELS)
def test_ifr_at_an_efficacy_is_read_between_the_strengths_around_it(level: float) -> None:
    methods = paired.curves(_outcomes({"a": 0.5}), "likelihood")["m", 0]
    row = next(r for r in paired.matched(methods) if r.efficacy == level)
    shift = 0.01 * np.mean(range(len(IDS)))
    assert row.ifr == pytest.approx(1 - 0.5 * level + shift)
    assert row.preservation == pytest.approx(1 - level / 10)
    assert row.n == len(IDS)
    assert row.ifr_interval is not None
    assert row.ifr_interval[0] <= row.ifr <= row.ifr_interval[1]


def test_an_efficacy_that_is_never_reached_has_no_value() -> None:
    outcomes = [o for o in _outcomes({"a": 0.5}) if o.cell.strength <= 0.5]
    methods = paired.curves(outcomes, "likelihood")["m", 0]
    by_level = {row.efficacy: row for row in paired.matched(methods)}
    assert by_level[0.9].ifr is None
    assert by_level[0.9].ifr_interval is None
    assert by_level[0.5].ifr is not None


def test_a_difference_counts_when_it_exceeds_rewrites_and_seeds() -> None:
    found = report(_outcomes({"a": 0.5, "b": 0.8}, seeds=(0, 1)), "likelihood")
    whole = [d for d in found.differences["m"] if d.efficacy is None and d.metric == "ifr"]
    assert [d.value for d in whole] == [pytest.approx(0.3)]
    assert whole[0].seeds == 2
    assert whole[0].spread == pytest.approx(0, abs=1e-12)
    assert whole[0].beyond_rewrites
    assert whole[0].beyond_seeds
    same = [d for d in found.differences["m"] if d.metric == "preservation"]
    assert not any(d.beyond_rewrites for d in same)


def test_one_seed_says_nothing_about_seeds() -> None:
    found = report(_outcomes({"a": 0.5, "b": 0.8}), "likelihood").differences["m"]
    assert all(d.beyond_seeds is None and d.spread is None for d in found)


def test_a_failed_cell_is_named_and_its_rewrite_left_out_of_the_comparison() -> None:
    outcomes = _outcomes({"a": 0.5, "b": 0.8})
    broken = Outcome(outcomes[0].cell, error="it broke → mend it")
    found = report([broken, *outcomes[1:]], "likelihood")
    assert found.failed == [broken]
    rows = {(r.method, r.n) for r in found.matched["m", 0]}
    assert rows == {("a", len(IDS) - 1), ("b", len(IDS) - 1)}
    told = found.as_dict()
    assert told["failed"][0]["reason"] == "it broke → mend it"
    assert "r0" in told["failed"][0]["cell"]


def test_rewrites_whose_ifr_is_undefined_are_left_out_and_not_counted() -> None:
    """One of five rewrites of two methods is about what the model never knew."""
    none = MetricValue(metric="ifr", measure="likelihood", value=None, n=0, excluded=9)
    scores = []
    for k, rewrite in enumerate(IDS):
        for method, ifr in (("a", 0.2), ("b", 0.5)):
            score = _score(rewrite, method, 0.9, ifr + 0.01 * k, 1.0)
            if k == 0:
                score = score.model_copy(update={"values": [score.values[0], none]})
            scores.append(score)
    of_a = [score for score in scores if score.method == "a"]
    rows = pooling.terms(of_a, "likelihood")
    assert pooling.defined(rows, "ifr").tolist() == [False] + [True] * (len(IDS) - 1)
    expected = sum(0.2 + 0.01 * k for k in range(1, len(IDS))) / (len(IDS) - 1)
    assert pooling.pooled(rows)[1] == pytest.approx(expected)
    low, high = pooling.interval_over_edits(rows)["ifr"]
    assert 0.21 <= low <= high <= 0.2 + 0.01 * len(IDS)
    by_method = {
        method: paired.Curve(
            (1.0,), tuple(IDS), tuple(IDS),
            pooling.terms([s for s in scores if s.method == method], "likelihood")[None],
        )
        for method in "ab"
    }  # fmt: skip
    (gap,) = [row for row in paired.differences([by_method], [("b", "a")]) if row.metric == "ifr"]
    assert (gap.n, gap.value) == (len(IDS) - 1, pytest.approx(0.3))
