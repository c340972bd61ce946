"""CounterFact's numbers over several edits, as the paper's tables have them.

Meng et al. 2022, section 3.3: every score is the mean over the data set's records (the mean over a
record's prompts first), and S is the harmonic mean of the three means, not the mean of the edits'
own S.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, harmonic_mean

from thinkeval.service.schemas import Score

PARTS = ("efficacy_score", "generalization_score", "specificity_score")
MAGNITUDES = ("efficacy_magnitude", "generalization_magnitude", "specificity_magnitude")


@dataclass(frozen=True, slots=True)
class Pooled:
    """Means over edits; NaN where no edit has the metric with n > 0.

    Attributes:
        values: by metric, ES, PS, NS, EM, PM, NM under the names of their queries.
        counts: by metric, over how many edits its mean was taken.
        score: S, NaN unless all three scores are there.
    """

    values: dict[str, float]
    counts: dict[str, int]
    score: float


def pooled(scores: Sequence[Score], measure: str) -> Pooled:
    """The table's row for these edits of one model by one method."""
    values: dict[str, float] = {}
    counts: dict[str, int] = {}
    for metric in (*PARTS, *MAGNITUDES):
        found = [v.value for s in scores if (v := s.get(metric, measure)) is not None and v.n]
        values[metric], counts[metric] = (fmean(found) if found else math.nan), len(found)
    parts = [values[metric] for metric in PARTS]
    whole = math.nan if any(math.isnan(part) for part in parts) else harmonic_mean(parts)
    return Pooled(values, counts, whole)
