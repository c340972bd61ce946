"""Inference on paired differences, against SciPy, values by hand, and simulated data."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from thinkeval.service.base import inference


def _families(seed: int, families: int, mean: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """Sums and sizes of differences of families of 1 to 4, half of the variance between them."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, families)
    sums = [
        (mean + 0.3 * np.sqrt(0.5) * (rng.normal() + rng.normal(size=size))).sum() for size in sizes
    ]
    return np.array(sums), sizes.astype(float)


def test_the_cluster_interval_of_single_rewrites_is_that_of_the_t_test() -> None:
    values = np.random.default_rng(0).normal(0.1, 0.3, 9)
    mean, error, bounds = inference.cluster_t(values, np.ones(9))
    expected = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert mean == pytest.approx(values.mean())
    assert error == pytest.approx(stats.sem(values))
    assert bounds == pytest.approx((expected.low, expected.high))


def test_the_cluster_interval_follows_its_formula() -> None:
    sums, sizes = _families(3, 7)
    whole = sum(sizes)
    mean = sum(sums) / whole
    spread = 7 / 6 * sum((s - mean * m) ** 2 for s, m in zip(sums, sizes, strict=True)) / whole**2
    half = stats.t.ppf(0.975, 6) * spread**0.5
    found = inference.cluster_t(sums, sizes)
    assert found[:2] == pytest.approx((mean, spread**0.5))
    assert found[2] == pytest.approx((mean - half, mean + half))


def test_the_cluster_interval_covers_with_eight_families() -> None:
    """Simulated: half of the variance is between families of 1 to 4 rewrites."""
    covered = [
        low <= 0.1 <= high
        for seed in range(2000)
        for low, high in [inference.cluster_t(*_families(seed, 8))[2]]
    ]
    assert 0.92 <= np.mean(covered) <= 0.98


@pytest.mark.parametrize("families", [1, 2, 5, 6, 11])
def test_the_sign_flip_test_is_that_of_scipy(families: int) -> None:
    sums, _ = _families(families, families, mean=0.2)
    flips = list(product((1, -1), repeat=families))
    reached = [abs(np.dot(signs, sums)) >= abs(sums.sum()) - 1e-12 for signs in flips]
    found = inference.sign_flip(sums)
    assert found == pytest.approx(np.mean(reached))
    if families > 1:  # SciPy refuses a sample of one
        expected = stats.permutation_test(
            (sums,), np.sum, permutation_type="samples", n_resamples=np.inf
        )
        assert found == pytest.approx(expected.pvalue)


def test_many_families_are_drawn_and_agree_with_all_exchanges() -> None:
    sums, _ = _families(4, 16)
    every = (1 - 2 * ((np.arange(2**16)[:, None] >> np.arange(16)) & 1)) @ sums
    exact = (np.abs(every) >= abs(sums.sum()) - 1e-12).mean()
    assert inference.sign_flip(sums) == pytest.approx(exact, abs=0.01)
    assert inference.sign_flip(sums) == inference.sign_flip(sums), "seeded"
    assert inference.sign_flip(np.full(16, 0.1)) == pytest.approx(1 / 10_001, rel=2)


@pytest.mark.parametrize(("families", "p"), [(5, 0.0625), (6, 0.03125), (14, 2 / 2**14)])
def test_the_least_p_is_that_of_families_that_all_agree(families: int, p: float) -> None:
    assert inference.least_p(families) == p
    assert inference.sign_flip(np.arange(1.0, families + 1)) == pytest.approx(p)


def test_without_any_difference_p_is_one() -> None:
    assert inference.sign_flip(np.zeros(9)) == 1
    assert inference.cluster_t(np.zeros(9), np.ones(9)) == (0, 0, (0, 0))
    assert inference.mcnemar(0, 0) == 1


def test_mcnemar_is_the_binomial_test_of_flips() -> None:
    for gained, lost in [(8, 1), (1, 8), (6, 0), (5, 0), (10, 2), (15, 5), (3, 3), (0, 1)]:
        expected = stats.binomtest(gained, gained + lost, 0.5).pvalue
        assert inference.mcnemar(gained, lost) == pytest.approx(expected)
    assert inference.mcnemar(8, 1) == pytest.approx(0.0390625)  # 2 · (1 + 9) / 2⁹
    below = [(6, 0), (8, 1), (10, 2), (15, 5)]
    assert all(inference.mcnemar(*each) < 0.05 for each in below)
    assert all(inference.mcnemar(b - 1, c) > 0.05 for b, c in below)


def test_holm_by_hand() -> None:
    # Sorted .01, .02, .03, .04: times 4, 3, 2, 1 is .04, .06, .06, .04; running maximum.
    assert inference.holm([0.03, 0.01, 0.04, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert inference.holm([0.5, 0.6]) == pytest.approx([1, 1]), "cut at 1"
    assert inference.holm([0.02]) == [0.02]
    assert inference.holm([]) == []


def test_holm_keeps_the_level_over_all_hypotheses() -> None:
    """Its step-down rule: reject in order while p ≤ .05 / (m − i)."""
    rng = np.random.default_rng(2)
    for _ in range(200):
        p = rng.beta(0.5, 3, 8).tolist()
        order, rejected = sorted(range(8), key=p.__getitem__), set()
        for rank, place in enumerate(order):
            if p[place] * (8 - rank) >= 0.05:
                break
            rejected.add(place)
        found = {place for place, each in enumerate(inference.holm(p)) if each < 0.05}
        assert found == rejected


def test_a_bootstrap_over_families_is_that_of_scipy() -> None:
    """SciPy knows no families: it draws their indices, and the statistic sums by index."""
    sums, sizes = _families(5, 12)
    counts = inference.resamples(12)
    found = inference.percentiles((counts @ sums) / (counts @ sizes))

    def ratio(drawn: np.ndarray, axis: int) -> np.ndarray:
        return sums[drawn].sum(axis=axis) / sizes[drawn].sum(axis=axis)

    expected = stats.bootstrap(
        (np.arange(12),), ratio, method="percentile", n_resamples=20_000, vectorized=True,
        rng=np.random.default_rng(0),
    ).confidence_interval  # fmt: skip
    assert found == pytest.approx((expected.low, expected.high), abs=0.02)
    assert inference.percentiles(np.full(100, np.nan)) is None
