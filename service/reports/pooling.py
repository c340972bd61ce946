"""Several edits as one: means of efficacy and Preservation, IFR over the chains of all of them.

Definition 3 on the union of chains: within one length the weights cancel, so each edit adds
Σ_n (N_n / √n) · IFR_n to the numerator and Σ_n N_n / √n to the denominator, N_n its chains with
R ≠ 0 of n steps. Terms are an array, so that intervals over rewrites (drawn anew with
replacement) cost one product.

CounterFact's metrics over several edits (`counterfact_means`) follow Meng et al. 2022, section 3.3:
every score is the mean over the data set's records (the mean over a
record's prompts first), and S is the harmonic mean of the three means, not the mean of the edits'
own S.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, harmonic_mean

import numpy as np

from thinkeval.service.schemas import Score
from thinkeval.service.scoring.intervals import QUANTILES

POOLED = ("efficacy", "ifr", "preservation")
"""What `pooled` gives, in order."""

DRAWS = 2000


def terms(scores: Sequence[Score], measure: str) -> np.ndarray:
    """[edits, 4]: efficacy, Preservation, numerator and denominator of IFR.

    NaN where a metric was not taken or has n = 0; the sums of IFR are 0 there.
    """
    return np.array([_terms(score, measure) for score in scores]).reshape(len(scores), 4)


def pooled(rows: np.ndarray) -> tuple[float, float, float]:
    """(efficacy, IFR, Preservation) of edits as `terms` gives them: [edits, 4].

    A mean over nothing is NaN; IFR without any chain is 0, as defined.
    """
    weight = rows[:, 3].sum()
    ifr = float(rows[:, 2].sum() / weight) if weight else 0.0
    return _mean(rows[:, 0]), ifr, _mean(rows[:, 1])


def interval_over_edits(
    rows: np.ndarray, *, seed: int = 0, draws: int = DRAWS
) -> dict[str, tuple[float, float]]:
    """95 % bootstrap interval over edits of each of POOLED; {} with fewer than three edits.

    Only metrics that every edit has get one.
    """
    n = len(rows)
    if n < 3:
        return {}
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(n, np.full(n, 1 / n), size=draws)
    out: dict[str, tuple[float, float]] = {}
    for name, column in (("efficacy", 0), ("preservation", 1)):
        if not np.isnan(rows[:, column]).any():
            out[name] = _quantiles(counts @ rows[:, column] / n)
    if (rows[:, 3] > 0).all():
        out["ifr"] = _quantiles((counts @ rows[:, 2]) / (counts @ rows[:, 3]))
    return out


def _terms(score: Score, measure: str) -> list[float]:
    def defined(metric: str) -> float:
        value = score.get(metric, measure)
        if value is None or value.value is None or not value.n:
            return math.nan
        return value.value

    steps = score.by_step("ifr_by_steps", measure).items()
    weights = {step: value.n / math.sqrt(step) for step, value in steps}
    total = sum((value.value or 0.0) * weights[step] for step, value in steps)
    return [defined("efficacy"), defined("preservation"), total, sum(weights.values())]


def _mean(values: np.ndarray) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else math.nan


def _quantiles(values: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(values, QUANTILES)
    return float(low), float(high)


PARTS = ("efficacy_score", "generalization_score", "specificity_score")
MAGNITUDES = ("efficacy_magnitude", "generalization_magnitude", "specificity_magnitude")


@dataclass(frozen=True, slots=True)
class CounterFactMeans:
    """Means over edits; NaN where no edit has the metric with n > 0.

    Attributes:
        values: by metric, ES, PS, NS, EM, PM, NM under the names of their queries.
        counts: by metric, over how many edits its mean was taken.
        score: S, NaN unless all three scores are there.
    """

    values: dict[str, float]
    counts: dict[str, int]
    score: float


def counterfact_means(scores: Sequence[Score], measure: str) -> CounterFactMeans:
    """The table's row for these edits of one model by one method."""
    values: dict[str, float] = {}
    counts: dict[str, int] = {}
    for metric in (*PARTS, *MAGNITUDES):
        taken = [v for s in scores if (v := s.get(metric, measure)) is not None and v.n]
        found = [v.value for v in taken if v.value is not None]
        values[metric], counts[metric] = (fmean(found) if found else math.nan), len(found)
    parts = [values[metric] for metric in PARTS]
    whole = math.nan if any(math.isnan(part) for part in parts) else harmonic_mean(parts)
    return CounterFactMeans(values, counts, whole)
