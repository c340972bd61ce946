"""Inference on paired differences over families of rewrites: interval, tests, numbers needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

# The unit is the rewrite, the cluster its family (`service.reports.comparison`): rewrites of one
# family are no independent measurements, so every spread here is one between families.
#
# Interval of a mean: the cluster-robust t interval. Simulated with 8 families whose members
# correlate by .5 it covers .94; a percentile bootstrap over families covers .91, one over rewrites
# .82. Statistics that are no means have the bootstrap over families.
#
# Test: the two sides of each family are exchanged at random, for a difference of means the sign of
# its sum. It assumes no distribution, only that the two methods are alike, and with G families its
# p is at least 2 / 2^G.
#
# `scipy.special` has the quantiles: `scipy.stats` takes longer to import than all of this takes.

LEVEL = 0.05
"""Level of every test, two-sided."""
RELIABLE = 8
"""Families below which an interval is called unreliable."""
EXACT = 14
"""Families up to which all exchanges are tried; beyond, `EXCHANGES` of them are drawn."""
EXCHANGES = 10_000
RESAMPLES = 2_000
"""Draws of families of a bootstrap."""
POWERED = 2.80
"""Standard errors of a difference that is found with a power of .8: 1.96 + .84."""

Bounds = tuple[float, float]


def cluster_t(sums: np.ndarray, sizes: np.ndarray) -> tuple[float, float, Bounds]:
    """Mean, its standard error, and its 95 % interval by the cluster-robust t.

    d = Σ S_g / Σ m_g, se² = G/(G−1) · Σ (S_g − d·m_g)² / (Σ m_g)², d ± t(.975, G−1) · se.

    Args:
        sums, sizes: of each family, [G]: sum of its differences, and their number (or weight).
    """
    from scipy.special import stdtrit

    families, whole = len(sums), sizes.sum()
    mean = float(sums.sum() / whole)
    if families < 2:
        return mean, math.inf, (-math.inf, math.inf)
    spread = ((sums - mean * sizes) ** 2).sum() * families / (families - 1)
    error = float(np.sqrt(spread) / whole)
    half = float(stdtrit(families - 1, 0.975)) * error
    return mean, error, (mean - half, mean + half)


@lru_cache(maxsize=32)
def exchanges(families: int, seed: int = 0) -> tuple[np.ndarray, bool]:
    """Families whose sides are exchanged, [draws, families] of 0 and 1, and True if all are there.

    Of all exchanges one half is listed: the other half exchanges the methods too, and gives the
    same sizes of a difference.
    """
    if families <= EXACT:
        numbers = np.arange(2 ** max(families - 1, 0))[:, None]
        return (numbers >> np.arange(families)[None]) & 1, True
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, (EXCHANGES, families)), False


def p_value(observed: float, exchanged: np.ndarray, exact: bool) -> float:
    """Two-sided p of a difference among those that `exchanges` gives; drawn ones with +1 / +1."""
    reached = int((np.abs(exchanged) >= abs(observed) * (1 - 1e-9) - 1e-12).sum())
    return reached / len(exchanged) if exact else (reached + 1) / (len(exchanged) + 1)


def sign_flip(sums: np.ndarray, seed: int = 0) -> float:
    """Two-sided p of the sign-flip permutation test on sums of differences, one a family, [G]."""
    exchanged, exact = exchanges(len(sums), seed)
    return p_value(float(sums.sum()), (1 - 2 * exchanged) @ sums, exact)


def least_p(families: int) -> float:
    """The smallest p that so many families can give: .0625 with 5."""
    return 2 / 2**families if families <= EXACT else 1 / (EXCHANGES + 1)


@lru_cache(maxsize=32)
def resamples(families: int, seed: int = 0) -> np.ndarray:
    """Draws of families with replacement: how often each is drawn, [draws, families]."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(families, np.full(families, 1 / families), size=RESAMPLES)


def percentiles(drawn: np.ndarray) -> Bounds | None:
    """95 % percentile interval of a bootstrap; None where over 1 draw in 20 is undefined (NaN)."""
    if np.isnan(drawn).mean() > 0.05:
        return None
    low, high = np.nanquantile(drawn, (0.025, 0.975))
    return float(low), float(high)


def t_test(mean: float, error: float, families: int) -> float:
    """Two-sided p of a mean against 0 by the t test; mean and its error as in `cluster_t`."""
    from scipy.special import stdtr

    return 2 * float(stdtr(families - 1, -abs(mean) / error)) if error else float(mean == 0)


def mcnemar(gained: int, lost: int) -> float:
    """Two-sided p of McNemar's exact test on flips: those one way, and those the other."""
    from scipy.special import bdtr

    n = gained + lost
    return min(1.0, 2 * float(bdtr(min(gained, lost), n, 0.5))) if n else 1.0


def holm(p: Sequence[float]) -> list[float]:
    """Holm's adjusted p of several comparisons, in their order (Holm 1979)."""
    adjusted, running = [0.0] * len(p), 0.0
    for rank, place in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        running = max(running, (len(p) - rank) * p[place])
        adjusted[place] = min(1.0, running)
    return adjusted
