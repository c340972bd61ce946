"""Wilson's interval against the equation it solves, published values, and its coverage."""

from __future__ import annotations

import math

import pytest

from thinkeval.service.base.statistics import Z95, effective, wilson


@pytest.mark.parametrize(("k", "n"), [(0, 10), (1, 10), (5, 12), (84, 90), (12, 12), (2, 2)])
def test_the_ends_are_one_quantile_of_the_score_away(k: int, n: int) -> None:
    share = k / n
    low, high = wilson(share, n)
    assert 0 <= low <= share <= high <= 1
    for end in (low, high):
        if 0 < end < 1:
            assert abs(end - share) == pytest.approx(Z95 * math.sqrt(end * (1 - end) / n))


def test_known_values() -> None:
    assert wilson(0.0, 10) == pytest.approx((0.0, 0.27753), abs=1e-5)
    assert wilson(84 / 90, 90)[0] > wilson(2 / 2, 2)[0]


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_it_covers_the_fraction_that_the_outcomes_come_from(p: float) -> None:
    n = 40
    covered = 0.0
    for k in range(n + 1):
        low, high = wilson(k / n, n)
        covered += (low <= p <= high) * math.comb(n, k) * p**k * (1 - p) ** (n - k)
    assert covered == pytest.approx(0.95, abs=0.02)


def test_sets_of_few_answers_weigh_more_than_their_answers() -> None:
    assert effective([4, 4, 4]) == pytest.approx(12)
    assert effective([2, 8, 2]) == pytest.approx(8)
    assert effective([1]) == 1
