"""Rewrites and samples that a run needs, against the specification's table and simulation."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from thinkeval.service.base import inference
from thinkeval.service.base.errors import UsageError
from thinkeval.service.models.edit import MetricValue, Score
from thinkeval.service.reports.comparison import Comparison, common
from thinkeval.service.reports.paired import paired
from thinkeval.service.reports.sample_size import (
    SampleSize,
    rewrites_for_difference,
    rewrites_for_width,
    sample_size,
    samples_for_width,
    table,
    upper,
)


def _scores(gaps: dict[str, list[float]]) -> Comparison:
    """Efficacies of two methods that differ by the gaps, {family: one a rewrite}."""
    scores, families = [], {}
    for family, of in gaps.items():
        for i, gap in enumerate(of):
            for method, value in (("a", 0.5 + gap), ("b", 0.5)):
                edit, rewrite = f"{method}-{family}-{i}", f"{family}-{i}"
                metric = MetricValue(metric="efficacy", measure="likelihood", value=value, n=1)
                scores.append(
                    Score(
                        edit=edit,
                        dataset="d",
                        rewrite=rewrite,
                        subject=family,
                        relation="r",
                        prompt="{} r",
                        target_true="o",
                        target_new="n",
                        model="m",
                        method=method,
                        values=[metric],
                        n_facts=1,
                    )
                )
                families[edit] = family
    return replace(common(scores, "likelihood"), families=families)


def _plan(found: Comparison | None, methods: list[str], rewrites: int = 26) -> SampleSize:
    return sample_size(found, "d", rewrites, methods, "likelihood", 0.1, 0.1)


@pytest.mark.parametrize(
    ("sd", "seen"),
    [
        (0.3, {5: 0.38, 12: 0.24, 26: 0.17, 66: 0.10, 100: 0.08, 400: 0.04, 1000: 0.03}),
        (0.5, {5: 0.63, 12: 0.40, 26: 0.28, 66: 0.17, 100: 0.14, 400: 0.07, 1000: 0.04}),
    ],
)
def test_what_so_many_rewrites_can_show(sd: float, seen: dict[int, float]) -> None:
    for n, difference in seen.items():
        exact = inference.POWERED * sd / math.sqrt(n)
        assert exact == pytest.approx(difference, abs=0.006)
        assert rewrites_for_difference(sd, exact) == n


def test_a_share_by_hand() -> None:
    # 1.96² · .25 / .05² = 384.1, and / .1² = 96.04.
    assert samples_for_width(0.1) == 385
    assert samples_for_width(0.2) == 97
    assert rewrites_for_width(0.5, 0.1) == 385


def test_the_upper_limit_of_an_sd_holds_the_truth_in_four_of_five_pilots() -> None:
    rng = np.random.default_rng(0)
    held = [upper(rng.normal(size=12).std(ddof=1), 12) >= 1 for _ in range(3000)]
    assert np.mean(held) == pytest.approx(0.8, abs=0.02)
    assert upper(1.0, 12) == pytest.approx(math.sqrt(11 / stats.chi2.ppf(0.2, 11)))


@pytest.mark.parametrize(("difference", "n", "power"), [(0.1, 71, 0.79), (0.2, 18, 0.75)])
def test_the_number_of_rewrites_has_its_power(difference: float, n: int, power: float) -> None:
    """Simulated, by the t-test; few rewrites have a little less than .8."""
    assert rewrites_for_difference(0.3, difference) == n
    gaps = np.random.default_rng(1).normal(difference, 0.3, (4000, n))
    assert (stats.ttest_1samp(gaps, 0, axis=1).pvalue < 0.05).mean() == pytest.approx(
        power, abs=0.02
    )


def test_two_methods_have_the_spread_of_their_paired_difference() -> None:
    rng = np.random.default_rng(2)
    gaps = {f"f{i}": [float(rng.normal(0, 0.2))] for i in range(14)}
    found = _scores(gaps)
    (row,) = _plan(found, ["a", "b"]).rows
    sd = np.std([gap for of in gaps.values() for gap in of], ddof=1)
    assert (row.metric, row.pilot, row.families) == ("efficacy", 14, 14)
    assert row.sd == pytest.approx(sd)
    assert row.sd_upper == pytest.approx(upper(float(sd), 14))
    assert row.for_difference == math.ceil((2.8 * row.sd_upper / 0.1) ** 2)
    assert row.detectable == pytest.approx(2.8 * row.sd_upper / math.sqrt(26))
    (against,) = paired(found, "likelihood", best="b", metrics=["efficacy"])
    assert against.rows[0].detectable == pytest.approx(2.8 * sd / math.sqrt(14))


def test_families_cost_rewrites_by_their_design_effect() -> None:
    """Families of three whose members are alike by ICC .5: n_eff = n / (1 + 2 · .5)."""
    rng = np.random.default_rng(3)
    gaps = {}
    for i in range(400):
        shared = rng.normal()
        gaps[f"f{i}"] = [float(0.2 * math.sqrt(0.5) * (shared + rng.normal())) for _ in range(3)]
    (row,) = _plan(_scores(gaps), ["a", "b"]).rows
    assert row.sd == pytest.approx(0.2 * math.sqrt(1 + 2 * 0.5), rel=0.07)


def test_one_method_has_a_width_and_no_difference() -> None:
    rng = np.random.default_rng(4)
    gaps = {f"f{i}": [float(rng.normal(0, 0.2))] for i in range(14)}
    found = _scores(gaps)
    of_a = replace(found, scores=[s for s in found.scores if s.method == "a"])
    (row,) = _plan(of_a, ["a"]).rows
    assert row.sd == pytest.approx(np.std([gap for (gap,) in gaps.values()], ddof=1))
    assert row.for_width == rewrites_for_width(row.sd_upper, 0.1)
    assert (row.for_difference, row.detectable) == (None, None)


def test_without_a_pilot_the_spread_is_assumed_and_said() -> None:
    few = _scores({f"f{i}": [0.1 * i] for i in range(11)})
    one = _scores({"f": [0.01 * i for i in range(20)]})
    for found, methods, stored in (
        (None, [], "0 in 0"), (few, ["a", "b"], "11 in 11"), (one, ["a", "b"], "20 in 1"),
    ):  # fmt: skip
        plan = _plan(found, methods)
        assert [(row.metric, row.sd, row.pilot) for row in plan.rows] == [
            (None, 0.3, 0), (None, 0.5, 0),
        ]  # fmt: skip
        assert plan.reason == (
            "sd is assumed, .30 to .50: a pilot of 12 rewrites in two families or more would give"
            f" it (stored: {stored})."
        )
        assert plan.families == 6
        assert "fewer than 6 families cannot reach p = .05" in table(plan).note


def test_runs_that_are_no_pair_give_no_spread() -> None:
    found = _scores({f"f{i}": [0.1 * (i % 3)] for i in range(14)})
    seeds = [s.model_copy(update={"provenance": {"seed": s.method}}) for s in found.scores]
    plan = _plan(replace(found, scores=seeds), ["a", "b"])
    assert plan.rows[0].pilot == 0
    assert plan.reason.endswith("a is not paired with b: seed a and b (14 rewrites).")


def test_a_graph_without_rewrites_shows_nothing() -> None:
    assert [row.detectable for row in _plan(None, [], rewrites=0).rows] == [None, None]


def test_values_out_of_range_are_refused() -> None:
    with pytest.raises(UsageError, match="for one method, or for two"):
        _plan(None, ["a", "b", "c"])
    with pytest.raises(UsageError, match=r"--difference 0 is out of range"):
        sample_size(None, "d", 6, [], "likelihood", 0.0, 0.1)
    with pytest.raises(UsageError, match=r"--width 1.5 is out of range"):
        sample_size(None, "d", 6, [], "likelihood", 0.1, 1.5)
