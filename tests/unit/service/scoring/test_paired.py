"""The interval of the difference of two sampled scores: what is common drops out of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from support import coverage
from thinkeval.service.scoring import intervals
from thinkeval.service.scoring.intervals import Sampled, joint_draws


def _fact(number: int, right: tuple[list[bool], list[bool], list[bool]]) -> Sampled:
    sides = tuple(tuple("in Oslo" if r else "nowhere" for r in side) for side in right)
    return Sampled((str(number), "fact"), (str(number), "{} is"), ("Oslo",), sides)


def test_what_both_edits_have_in_common_drops_out() -> None:
    """One edit changes one fact of twenty; the other nothing: the difference is known well."""
    same = [True] * 4 + [False]
    facts = [_fact(i, (same, same, same)) for i in range(20)]
    facts[0] = _fact(0, (same, same, [False] * 5))
    low, high = coverage.paired_bounds(facts, [(i,) for i in range(20)])
    assert low < -1 / 20 < high
    single = joint_draws(
        [Sampled(f.key, f.prompt, f.names, f.sides[:2]) for f in facts], 2000,
        np.random.default_rng(0), np.full(4, 0.25),
    )  # fmt: skip
    pairs: Any = {key: pair for (key, _), pair in single.items()}
    alone = intervals.ifr_draws(coverage.rows_of([(i,) for i in range(20)]), pairs)
    assert high - low < np.ptp(np.quantile(alone, intervals.QUANTILES))
