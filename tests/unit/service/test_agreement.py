"""Agreement of annotators against values computed by hand from the definitions."""

from __future__ import annotations

from itertools import permutations

import pytest

from thinkeval.service.base.statistics import (
    ac1,
    agreement,
    alpha,
    pairwise,
    unanimous,
)


def test_two_raters_two_categories_by_hand() -> None:
    # 40 both yes, 5 + 5 apart, 50 both no: p_a = .9; π(yes) = .45, so
    # p_e = 2 · .45 · .55 = .495 and AC1 = .405 / .505.
    items = [["y", "y"]] * 40 + [["y", "n"]] * 5 + [["n", "y"]] * 5 + [["n", "n"]] * 50
    assert pairwise(items) == (pytest.approx(0.9), 100)
    assert ac1(items, ["y", "n"]) == pytest.approx(0.405 / 0.505)


def test_high_agreement_on_one_category_is_not_punished() -> None:
    # Cohen's kappa is below 0 here (−.0101); π = .99, p_e = 2 · .99 · .01 = .0198.
    items = [["y", "y"]] * 98 + [["y", "n"], ["n", "y"]]
    assert ac1(items, ["y", "n"]) == pytest.approx((0.98 - 0.0198) / (1 - 0.0198))


def test_five_categories_by_hand() -> None:
    # p_a = 2/4; π = (a 3/8, b 3/8, c 1/8, d 0, e 1/8);
    # Σ π(1 − π) = 2 · 15/64 + 2 · 7/64 = 44/64; p_e = 11/64; AC1 = (1/2 − 11/64) / (53/64) = 21/53.
    items = [["a", "a"], ["b", "b"], ["a", "b"], ["c", "e"]]
    assert ac1(items, "abcde") == pytest.approx(21 / 53)


def test_three_raters_by_hand() -> None:
    # Pairs that agree: 1, 1/3; p_a = 2/3. π(y) = (1 + 2/3)/2 = 5/6; p_e = 2 · 5/6 · 1/6 = 5/18.
    items = [["y", "y", "y"], ["y", "y", "n"]]
    assert ac1(items, ["y", "n"]) == pytest.approx((2 / 3 - 5 / 18) / (13 / 18))


def test_over_nothing_it_is_undefined() -> None:
    found = agreement([["a"], []], ["a", "b"])
    assert found.n == 0
    assert (found.pairwise, found.unanimous, found.ac1, found.alpha) == (None,) * 4
    with pytest.raises(ValueError, match="two categories"):
        ac1([["a", "a"]], ["a"])


def test_three_annotators_nearly_all_yes() -> None:
    """97 of 100 items unanimous, one no of three in the others, so yes has a prevalence of .99."""
    items = [["yes"] * 3] * 97 + [["yes", "yes", "no"]] * 3
    found = agreement(items, ["yes", "no"])
    assert (found.n, found.unanimous) == (100, 0.97)
    assert found.pairwise == pytest.approx(0.98)
    assert found.ac1 == pytest.approx((0.98 - 0.0198) / (1 - 0.0198))
    assert f"{found.ac1:.3f}" == "0.980"
    # Alpha is near 0 where almost all ratings are equal: 1 − observed / expected disagreement,
    # .02 against 2 · 297 · 3 / (300 · 299).
    assert found.alpha == pytest.approx(1 - 0.02 / (2 * 297 * 3 / (300 * 299)))


def test_alpha_is_nominal_alpha_by_pairs() -> None:
    """Against the definition: disagreeing pairs within items and over all ratings."""
    items = [["a", "a", "b"], ["b", "b"], ["a", "c"], ["c", "c", "c"], ["a"]]
    rated = [each for each in items if len(each) > 1]
    within = sum(sum(x != y for x, y in permutations(each, 2)) / (len(each) - 1) for each in rated)
    pooled = [x for each in rated for x in each]
    among = sum(x != y for x, y in permutations(pooled, 2)) / (len(pooled) - 1)
    assert alpha(items) == pytest.approx(1 - within / among)


def test_alpha_of_equal_ratings_is_undefined() -> None:
    assert alpha([["a", "a"], ["a", "a", "a"]]) is None
    assert unanimous([["a", "a"], ["a", "a", "a"]]) == 1.0
