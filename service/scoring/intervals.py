"""Intervals on sampled scores: the uncertainty of k answers a prompt.

A sampled probability is a fraction of k answers, so every number derived from it is uncertain even
when the model is not. Pre and post are probed with the same random numbers
(`editing.probe.sampled`), so answers come in pairs; facts of one prompt share its answers. For each
prompt the shares of the patterns of right answers (which objects before, which after) get
a Dirichlet posterior; metrics are computed on draws of it, all facts of a prompt at once.

The prior is fitted to the facts of the score: most are answered alike both times, which five
answers of one fact cannot show but those of all facts can. It is mixed with the symmetric prior of
¼ a cell (right both times, before only, after only, never; its margins are the Jeffreys posterior
Beta(½, ½)), which weighs as much as ten facts. A new target is drawn with the symmetric prior.

A retention is a ratio and an IFR a mean of products of ratios, so the posterior leans upwards: its
median lies above the observed value, which is nearly unbiased. Hence the interval is
[low · f, high] with f = observed value / median, or [low, high · f] where f > 1; the observed
value is inside. It is conservative: over the chains of KnowGIC's rewrites, with 5, 10 and 20
answers and probabilities from .02 to .98, it contains the true value in 95 to 99 % of simulated
runs, for IFR, IFR beyond the subject and subject retention, and on real answers in 92 to 99 % of
groups of five (docs/decisions/0012, benchmarks/graph/interval_coverage.py).

It is the uncertainty of sampling alone: not of the rewrite, the seed of the edit, or the graph. The
true value it is about is that of the facts and chains that count as known by what was observed
before the edit (`ScoringOptions.rule`): that set is the same on every draw, so that a draw does not
add or drop a chain whose ratio is noise. Exact likelihoods have no such interval.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..schemas import MetricValue, Score
from .metrics import chain_facts, chain_rows
from .posterior import (
    PRIOR,
    Sampled,
    joint_draws,
    pairs_of,
    prior_of,
    share,
)
from .probe import ProbedFact

if TYPE_CHECKING:
    from ...cypher.rows import ScoredChainRow
    from ...cypher.run import Database

MEASURE = "p"
DRAWS = 2000
NEW, OLD = "target_new", "target_true"
QUANTILES = (0.025, 0.975)
_NUMBERS = 20_000_000
"""Draws times links at most; very many chains get fewer draws instead of more memory."""

Pair = tuple[np.ndarray, np.ndarray]
"""Draws of p_pre and p_post of one fact, each [draws]."""


def with_intervals(
    db: Database, score: Score, probed: Sequence[ProbedFact], seed: int = 0
) -> list[MetricValue]:
    """The score's values; those of the sampled measure get `low` and `high`.

    Covered are ifr, ifr_by_steps, ifr_beyond_subject, subject_retention, preservation, efficacy
    (also by chat and plain), forgetting and leak@k. The others keep None, and so do the first three
    where of parallel facts the likeliest after the edit counts, and preservation by records.
    """
    if MEASURE not in score.measures:
        return score.values
    # Which parallel fact is the likeliest after the edit may differ from draw to draw.
    counted = score.options.parallel == "before"
    chains = counted_chains(db, score) if counted else []
    links = sum(row.steps for row in chains)
    n_draws = max(200, min(DRAWS, _NUMBERS // max(1, links)))
    draws = posterior(probed, n_draws, np.random.default_rng(seed))
    pairs = {f"{score.edit}|{fact}": pair for (fact, role), pair in draws.items() if role != NEW}
    # A chain with an undecided fact has no draws, and the metrics over it no value.
    chains = [row for row in chains if all(link.id in pairs for link in row.links)]
    drawn = _of_chains(score, chains, pairs) | _of_facts(db, score, probed, draws)
    news = [pair for (_, role), pair in draws.items() if role == NEW]
    if news:
        drawn["efficacy", None] = news[0][1]
    elif score.kind == "forget":
        drawn |= _forgotten([pair for (_, role), pair in draws.items() if role == OLD])
    values = [_bounded(value, drawn) for value in score.values]
    return _same_efficacy(values)


def counted_chains(db: Database, score: Score) -> list[ScoredChainRow]:
    """The chains that IFR by samples is taken over: those that the model knew."""
    return [row for row in chain_rows(db, score, MEASURE) if row.known and row.r_pre]


def _forgotten(pairs: Sequence[Pair]) -> dict[tuple[str, int | None], np.ndarray]:
    """Draws of forgetting and leak@k, of the one fact that shall be forgotten."""
    if not pairs:
        return {}
    pre, post = pairs[0]
    leaks = {(f"leak_at_{k}", None): 1 - (1 - post) ** k for k in (1, 5, 100)}
    return {("forgetting", None): 1 - post / pre, **leaks}


def _of_chains(
    score: Score, chains: Sequence[ScoredChainRow], pairs: Mapping[str, Pair]
) -> dict[tuple[str, int | None], np.ndarray]:
    """Draws of the metrics over chains, {(metric, step): [draws]}."""
    if not chains:
        return {}
    drawn: dict[tuple[str, int | None], np.ndarray] = {
        ("ifr_by_steps", step): ifr_draws([r for r in chains if r.steps == step], pairs)
        for step in sorted({row.steps for row in chains})
    }
    drawn["ifr", None] = ifr_draws(chains, pairs)
    kept = {
        row.links[0].id: None
        for row in chains
        if _is_context(row.links[0].object, row.links[0].relation, score)
    }
    drawn["ifr_beyond_subject", None] = ifr_draws(chains, pairs, kept)
    return drawn


def _of_facts(
    db: Database,
    score: Score,
    probed: Sequence[ProbedFact],
    draws: Mapping[tuple[str, str], Pair],
) -> dict[tuple[str, int | None], np.ndarray]:
    """Draws of the means over facts on the chains, parallel ones too, [draws] each."""
    on_chains, known = chain_facts(db, score), score.options.counted["known"]
    ratios: dict[str, dict[str, np.ndarray]] = {"preservation": {}, "subject_retention": {}}
    for each in probed:
        fact, key = each.question.fact, (each.question.fact.id, each.question.role)
        observed = each.pre.values.get(MEASURE)
        if fact.id not in on_chains or key not in draws or not observed or observed < known:
            continue
        pre, post = draws[key]
        if fact.subject != score.subject:
            ratios["preservation"][fact.id] = post / pre
        elif _is_context(fact.object, fact.relation, score):
            ratios["subject_retention"][fact.id] = post / pre
    if score.options.unit != "rewrite":
        del ratios["preservation"]
    return {
        (metric, None): np.mean(list(of.values()), axis=0) for metric, of in ratios.items() if of
    }


def _is_context(object_: str, relation: str | None, score: Score) -> bool:
    """Return True if a fact about the subject is one that the edit shall not change.

    As in metrics/subject_retention: another object than the old one, and another relation.
    """
    same = relation is not None and relation == score.relation
    return object_ != score.target_true and not same


def _same_efficacy(values: Sequence[MetricValue]) -> list[MetricValue]:
    """The values; by chat or plain, that which is efficacy itself has its interval."""
    known = {(v.metric, v.measure): v for v in values}
    out = []
    for value in values:
        efficacy = known.get(("efficacy", value.measure))
        both = value.metric in ("efficacy_chat", "efficacy_plain")
        if both and value.n and value.low is None and efficacy is not None:
            value = value.model_copy(update={"low": efficacy.low, "high": efficacy.high})
        out.append(value)
    return out


def of_answers(answers: Sequence[str], names: Sequence[str], seed: int = 0) -> tuple[float, float]:
    """The interval of the fraction of decided answers with one of the names, as that of efficacy.

    Beta(½ + right, ½ + others), the Jeffreys posterior. One answer at least is decided.
    """
    fact = Sampled(("", NEW), ("", ""), tuple(names), (tuple(answers),))
    rng = np.random.default_rng(seed)
    (drawn,) = joint_draws([fact], DRAWS, rng, np.full(4, PRIOR))[fact.key]
    observed = share(fact.right[0])
    assert observed is not None
    return _proportion(drawn, observed)


def posterior(
    probed: Sequence[ProbedFact],
    n_draws: int,
    rng: np.random.Generator,
    prior: np.ndarray | None = None,
) -> dict[tuple[str, str], Pair]:
    """{(fact id, role): draws of its p_pre and p_post}, for facts that were sampled both times.

    Args:
        prior: of the four cells (`service.scoring.posterior`); None: fitted to these facts.
    """
    facts = [sampled(f) for f in probed if f.post and f.pre.n_samples and f.post.n_samples]
    known = [fact for fact in facts if fact.key[1] != NEW]
    if prior is None:
        prior = prior_of([pairs_of(fact) for fact in known])
    drawn = joint_draws(known, n_draws, rng, prior)
    # A new target is not like the facts that are known before the edit.
    news = [fact for fact in facts if fact.key[1] == NEW]
    drawn |= joint_draws(news, n_draws, rng, np.full(4, PRIOR))
    return {key: (pre, post) for key, (pre, post) in drawn.items()}


def sampled(probed: ProbedFact) -> Sampled:
    """The answers of a fact that was sampled both times."""
    question, post = probed.question, probed.post
    assert post is not None
    fact = question.fact
    return Sampled(
        key=(fact.id, question.role),
        prompt=(fact.subject, fact.prompt),
        names=(fact.object, *question.aliases),
        sides=(probed.pre.answers, post.answers),
    )


def ifr_draws(
    chains: Sequence[ScoredChainRow], pairs: Mapping[str, Pair], kept: Container[str] = ()
) -> np.ndarray:
    """IFR (Definition 3) of the chains on each draw, [draws].

    Args:
        kept: ids of facts that count with p_post = p_pre.
    """
    total: np.ndarray | float = 0.0
    weights = 0.0
    for row in chains:
        retention: np.ndarray | float = 1.0
        for link in row.links:
            if link.id not in kept:
                pre, post = pairs[link.id]
                retention = retention * (post / pre)
        weight = row.steps**-0.5
        total, weights = total + weight * retention, weights + weight
    return np.asarray(total / weights)


def _bounded(value: MetricValue, drawn: Mapping[tuple[str, int | None], np.ndarray]) -> MetricValue:
    if value.measure != MEASURE or (value.metric, value.step) not in drawn or not value.n:
        return value
    if value.value is None:
        return value
    draws = drawn[value.metric, value.step]
    bounds = _proportion if value.metric in _OF_ONE_FACT else centred
    low, high = bounds(draws, value.value)
    return value.model_copy(update={"low": low, "high": high})


_OF_ONE_FACT = ("efficacy", "forgetting", "leak_at_1", "leak_at_5", "leak_at_100")
"""Metrics that are functions of one probability after the edit."""


def _proportion(drawn: np.ndarray, observed: float) -> tuple[float, float]:
    """The interval of one probability: no ratio, no leaning; the observed value is inside."""
    low, high = (float(q) for q in np.quantile(drawn, QUANTILES))
    return min(low, observed), max(high, observed)


def centred(drawn: np.ndarray, observed: float) -> tuple[float, float]:
    """The interval of draws that lean away from the observed value, which is inside.

    Its lower end is scaled by observed / median where that is less than 1, else its upper end.
    """
    low, median, high = (float(q) for q in np.quantile(drawn, (QUANTILES[0], 0.5, QUANTILES[1])))
    f = observed / median if median else 1.0
    return min(low * min(f, 1), observed), max(high * max(f, 1), observed)


def bootstrap(
    statistics: Callable[[Sequence[int]], Sequence[float]],
    n: int,
    *,
    seed: int = 0,
    draws: int = DRAWS,
) -> list[tuple[float, float] | None]:
    """95 % percentile intervals of statistics over n exchangeable items, from the same draws.

    An empty list below 3 items. None where a statistic is undefined (NaN) on more than 1 draw in
    20.

    Args:
        statistics: their values on one draw; takes indices 0..n-1, drawn with replacement.
    """
    if n < 3:
        return []
    rng = np.random.default_rng(seed)
    drawn = np.array([statistics(rng.integers(0, n, n).tolist()) for _ in range(draws)])
    return [_percentiles(values) for values in drawn.T]


def _percentiles(values: np.ndarray) -> tuple[float, float] | None:
    if np.isnan(values).mean() > 0.05:
        return None
    low, high = np.nanquantile(values, QUANTILES)
    return float(low), float(high)
