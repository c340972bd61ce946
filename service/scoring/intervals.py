"""Intervals on sampled scores: what five answers a prompt can and cannot tell.

A sampled probability is a fraction of k answers, so every number derived from it is uncertain even
when the model is not. Pre and post are asked with the same random numbers
(`editing.probe.sampled`), so a fact's answers come in pairs: right both times, before only, after
only, never. The four shares get the Dirichlet(¼, ¼, ¼, ¼) posterior, whose margins are the Jeffreys
posterior Beta(½, ½) of each side; metrics are computed on draws of it, and the 2.5 % and 97.5 %
quantiles are the interval.

It is the uncertainty of sampling alone: not of the rewrite, the seed of the edit, or the graph.
Which chains count (R ≠ 0) stays as observed, so the upward bias of an IFR of few samples stays too.
Facts that share a prompt share its answers, and are drawn as if they did not. Exact likelihoods
have no such interval.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from thinkeval.service.schemas import MetricValue, Score
from thinkeval.service.scoring.metrics import chain_rows
from thinkeval.service.scoring.probe import Answer, ProbedFact

if TYPE_CHECKING:
    from thinkeval.cypher.rows import ScoredChainRow
    from thinkeval.cypher.run import Database

MEASURE = "p"
DRAWS = 2000
PRIOR = 0.25
NEW = "target_new"
QUANTILES = (0.025, 0.975)
_NUMBERS = 20_000_000
"""Draws times links at most; very many chains get fewer draws instead of more memory."""

Pair = tuple[np.ndarray, np.ndarray]
"""Draws of p_pre and p_post of one fact, each [draws]."""


def with_intervals(
    db: Database, score: Score, probed: Sequence[ProbedFact], seed: int = 0
) -> list[MetricValue]:
    """The score's values; those of the sampled measure get `low` and `high`.

    Covered are ifr, ifr_by_steps, preservation, efficacy. The others keep None, and so do the first
    two where of parallel facts the likeliest after the edit counts.
    """
    if MEASURE not in score.measures:
        return score.values
    every = chain_rows(db, score, MEASURE)
    # Which parallel fact is the likeliest after the edit may differ from draw to draw.
    counted = score.options.parallel == "before"
    chains = [row for row in every if row.r_pre and counted]
    links = sum(row.steps for row in chains)
    n_draws = max(200, min(DRAWS, _NUMBERS // max(1, links)))
    draws = posterior(probed, n_draws, np.random.default_rng(seed))
    pairs = {f"{score.edit}|{fact}": pair for (fact, role), pair in draws.items() if role != NEW}
    news = [pair for (_, role), pair in draws.items() if role == NEW]
    drawn: dict[tuple[str, int | None], np.ndarray] = {
        ("ifr_by_steps", step): ifr_draws([r for r in chains if r.steps == step], pairs)
        for step in sorted({row.steps for row in chains})
    }
    if chains:
        drawn["ifr", None] = ifr_draws(chains, pairs)
    if score.options.unit == "rewrite":
        context = _context(every, score.subject)
        if context:
            ratios = [pairs[i][1] / pairs[i][0] for i in context]
            drawn["preservation", None] = np.mean(ratios, axis=0)
    if news:
        drawn["efficacy", None] = news[0][1]
    return [_bounded(value, drawn) for value in score.values]


def posterior(
    probed: Sequence[ProbedFact], n_draws: int, rng: np.random.Generator
) -> dict[tuple[str, str], Pair]:
    """{(fact id, role): draws of its p_pre and p_post}, for facts that were sampled both times."""
    out = {}
    for fact in probed:
        if fact.post is None or not fact.pre.n_samples or not fact.post.n_samples:
            continue
        counts = np.array(pairs_of(fact), dtype=float) + PRIOR
        both, before, after, _ = rng.dirichlet(counts, size=n_draws).T
        out[fact.question.fact.id, fact.question.role] = (both + before, both + after)
    return out


def pairs_of(fact: ProbedFact) -> tuple[int, int, int, int]:
    """How many pairs of answers were right both times, before only, after only, never."""
    names = (fact.question.fact.object, *fact.question.aliases)
    assert fact.post is not None
    pre, post = _right(fact.pre, names), _right(fact.post, names)
    cells = [0, 0, 0, 0]
    for before, after in zip(pre, post, strict=True):
        cells[(0 if after else 1) if before else (2 if after else 3)] += 1
    return cells[0], cells[1], cells[2], cells[3]


def _right(answer: Answer, names: Sequence[str]) -> list[bool]:
    from thinkeval.editing.probe.matching import (
        contains,  # importing `editing` late keeps `--help` quick
    )

    return [contains(text, names) for text in answer.answers]


def ifr_draws(chains: Sequence[ScoredChainRow], pairs: Mapping[str, Pair]) -> np.ndarray:
    """IFR (Definition 3) of the chains on each draw, [draws]."""
    total, weights = 0.0, 0.0
    for row in chains:
        retention: np.ndarray | float = 1.0
        for link in row.links:
            pre, post = pairs[link.id]
            retention = retention * (post / pre)
        weight = row.steps**-0.5
        total, weights = total + weight * retention, weights + weight
    return np.asarray(total / weights)


def _context(chains: Sequence[ScoredChainRow], subject: str) -> list[str]:
    """Ids of the facts that Preservation is the mean of: on the chains, not about the subject."""
    return list(
        {
            link.id: None
            for row in chains
            for link in row.links
            if link.subject != subject and link.pre
        }
    )


def _bounded(value: MetricValue, drawn: Mapping[tuple[str, int | None], np.ndarray]) -> MetricValue:
    if value.measure != MEASURE or (value.metric, value.step) not in drawn or not value.n:
        return value
    low, high = np.quantile(drawn[value.metric, value.step], QUANTILES)
    # The posterior leans towards ½; what was observed belongs to its own interval all the same.
    low, high = min(low, value.value), max(high, value.value)
    return value.model_copy(update={"low": float(low), "high": float(high)})


def bootstrap(
    statistic: Callable[[Sequence[int]], float], n: int, *, seed: int = 0, draws: int = DRAWS
) -> tuple[float, float] | None:
    """95 % percentile interval of a statistic over n exchangeable items.

    None below 3 items, or where the statistic is undefined (NaN) on more than 1 draw in 20.

    Args:
        statistic: takes indices 0..n-1, drawn with replacement.
    """
    if n < 3:
        return None
    rng = np.random.default_rng(seed)
    values = np.array([statistic(rng.integers(0, n, n).tolist()) for _ in range(draws)])
    if np.isnan(values).mean() > 0.05:
        return None
    low, high = np.nanquantile(values, QUANTILES)
    return float(low), float(high)
