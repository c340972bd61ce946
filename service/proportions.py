"""Intervals of a fraction of counted outcomes."""

from __future__ import annotations

import math
from collections.abc import Sequence

Z95 = 1.959963984540054
"""97.5 % quantile of the standard normal distribution."""


def wilson(share: float, n: float, z: float = Z95) -> tuple[float, float]:
    """Wilson's score interval of a fraction of n independent outcomes; 95 % by default.

    Wilson, "Probable inference, the law of succession, and statistical inference" (1927). It stays
    within 0 and 1, and has a width at a fraction of 0 or 1 too: 0 of 10 gives 0 to .28.

    Args:
        n: number of outcomes, above 0; an effective one need not be whole.
    """
    spread = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    middle, scale = share + z * z / (2 * n), 1 + z * z / n
    # Rounding must not put an end beyond the fraction itself.
    low, high = (middle - spread) / scale, (middle + spread) / scale
    return max(0.0, min(share, low)), min(1.0, max(share, high))


def effective(counts: Sequence[int]) -> float:
    """Outcomes whose plain fraction varies as much as the mean of several fractions does.

    k fractions of n_i outcomes, weighed alike: k² / Σ 1/n_i, at most Σ n_i.
    """
    return len(counts) ** 2 / sum(1 / n for n in counts)
