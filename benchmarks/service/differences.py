"""The statistics of a comparison: 26 rewrites in 21 families, 11 methods, all metrics.

Every method against the best one as `report` compares them (50 differences with intervals, exact or
drawn exchanges, flips, Holm), and all 55 pairs as a sweep does. Processor time; the first run of a
process has the import of `scipy.special` and the drawing of the exchanges. Beside it: the same p
by `scipy.stats.permutation_test` for the differences of one metric, which must agree.
"""

from __future__ import annotations

import sys
import time
from itertools import combinations
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench
import numpy as np
from scipy import stats

from thinkeval.service.reports.paired import Curve, adjusted, differences
from thinkeval.service.reports.pooling import POOLED

METHODS, REWRITES, FAMILIES = 11, 26, 21


def main() -> int:
    """Time both, compare p, print; 0 if the table of a report takes 2 s at most."""
    options = bench.parser(__doc__).parse_args()
    rng = np.random.default_rng(0)
    families = tuple(str(i % FAMILIES) for i in range(REWRITES))
    ids = tuple(map(str, range(REWRITES)))
    chains = rng.integers(1, 120, REWRITES)
    curves = {}
    for method in range(METHODS):
        rows = rng.uniform(0.1, 0.9, (REWRITES, 6))
        rows[:, 3] = chains
        rows[:, [2, 5]] *= chains[:, None]
        curves[str(method)] = Curve((1.0,), ids, families, rows[None])
    best = [(name, "0") for name in curves if name != "0"]
    start = time.process_time()
    found = adjusted(differences([curves], best))
    report = time.process_time() - start
    start = time.process_time()
    adjusted(differences([curves], list(combinations(curves, 2))))
    sweep = time.process_time() - start
    start = time.process_time()
    agree = [_agrees(curves[row.first], curves["0"], row.p) for row in found
             if row.metric == "efficacy"]  # fmt: skip
    instead = (time.process_time() - start) * len(POOLED)
    bench.agree(all(agree), "p by exchange of families")
    lines = [
        bench.Line("26 rewrites x 11 methods, each against the best", "s", report, instead,
                   "scipy.stats.permutation_test", bench.Goal("value", "<=", 2.0)),
        bench.Line("all 55 pairs", "s", sweep),
    ]  # fmt: skip
    notes = [
        "Processor time. SciPy's is p alone, of 10,000 draws: measured for one metric, times five."
    ]
    return bench.show("differences", lines, notes, as_json=options.json)


def _agrees(one: Curve, other: Curve, p: float) -> bool:
    gaps = one.terms[0, :, 0] - other.terms[0, :, 0]
    sums = np.bincount([int(family) for family in one.families], gaps)
    found = stats.permutation_test(
        (sums,), np.sum, permutation_type="samples", n_resamples=10_000,
        rng=np.random.default_rng(1),
    )  # fmt: skip
    return abs(float(found.pvalue) - p) < 0.03


if __name__ == "__main__":
    raise SystemExit(main())
