"""Intervals on sampled scores: of one score, and of the difference of two."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ...cypher import rows
from ..models.edit import MetricValue, Score
from .metrics import chain_facts, chain_rows
from .probe import ProbedFact

if TYPE_CHECKING:
    from ...cypher.rows import ScoredChainRow
    from ...cypher.run import Database


# Posterior of sampled probabilities: draws of p for all facts of a prompt, before and after
# edits.
#
# For each prompt the shares of the patterns of right answers (which objects before, which after)
# get a Dirichlet posterior. Its prior has four cells a fact: right both times, before only, after
# only, never. It is fitted to many facts at once, as five answers of one cannot show that most
# facts are answered alike both times, and is mixed with the symmetric prior of ¼ a cell, whose
# margins are the Jeffreys posterior Beta(½, ½). Answers of one index count where each of them is
# decided.

PRIOR = 0.25
"""Symmetric prior of a cell: right both times, before only, after only, never."""
SYMMETRIC, LOWERED = np.full(4, PRIOR), np.array([0.0, 1.0, 0.25, 0.25])
"""Counts that the fitted prior is mixed with, of the four cells; the second one is for the ends
of intervals that lie towards a change, as x and n − x + 1 are of Clopper and Pearson's."""
PRIOR_FACTS = 10
"""Facts that `SYMMETRIC` weighs as much as, beside those that the prior is fitted to."""
FLOOR, CEILING = 0.05, 20.0
"""Bounds of a fitted cell: no pattern is impossible because a few answers did not show it."""
CROSS = 0.02
"""Prior that an answer names one object of its prompt before the edit and another one after it."""
_ITERATIONS = 30

Pattern = tuple[frozenset[int], ...]
"""The objects that an answer names, on each side: before the edit, after it, after another one."""


@dataclass(frozen=True)
class Sampled:
    """A fact with its sampled answers.

    Attributes:
        key: names the fact.
        prompt: equal for facts that share a prompt, and so its answers.
        names: of the object, with aliases; an answer is right where it gives one.
        longer: names of other entities that contain one of these.
        sides: the k answers before the edit, then those after it (or after each of two edits);
            answers of one index were sampled with the same random numbers.
    """

    key: tuple[str, str]
    prompt: tuple[str, str]
    names: tuple[str, ...]
    sides: tuple[tuple[str, ...], ...]
    longer: tuple[str, ...] = ()

    @cached_property
    def right(self) -> list[list[bool | None]]:
        """For each answer, [sides][k]: True if it is right; None: undecided."""
        return [hits(side, self.names, self.longer) for side in self.sides]


def hits(
    answers: Sequence[str], names: Sequence[str], longer: Sequence[str] = ()
) -> list[bool | None]:
    """Return for each answer True if it gives one of the names; None: undecided."""
    from ...editing.probe.matching import gives

    return [gives(text, names, longer=longer) for text in answers]


def share(right: Sequence[bool | None]) -> float | None:
    """Proportion of right answers among the decided ones; None if none is decided."""
    from ...editing.probe import matching

    return matching.share(right)


def pairs_of(fact: Sampled, side: int = 1) -> tuple[int, int, int, int]:
    """Count the pairs of decided answers right both times, before only, after only, never."""
    cells = [0, 0, 0, 0]
    for before, after in zip(fact.right[0], fact.right[side], strict=True):
        if before is None or after is None:
            continue
        cells[(0 if after else 1) if before else (2 if after else 3)] += 1
    return cells[0], cells[1], cells[2], cells[3]


def prior_of(pairs: Iterable[Sequence[int]], base: np.ndarray = SYMMETRIC) -> np.ndarray:
    """The prior of the four cells, fitted to facts by maximum likelihood, [4].

    A Dirichlet-multinomial by Minka's fixed point ("Estimating a Dirichlet distribution", 2000,
    eq. 55), each cell between `FLOOR` and `CEILING`, then mixed with `base`.

    Args:
        pairs: counts of each fact (`pairs_of`); without any the prior is `base`.
        base: of the four cells, [4].
    """
    counts = np.array(list(pairs), dtype=float).reshape(-1, 4)
    prior = np.full(4, PRIOR)
    totals = counts.sum(axis=1)
    for _ in range(_ITERATIONS if len(counts) else 0):
        ratio = _excess(counts, prior).sum(axis=0) / _excess(totals, prior.sum()).sum()
        prior = np.clip(prior * ratio, FLOOR, CEILING)
    return (len(counts) * prior + PRIOR_FACTS * base) / (len(counts) + PRIOR_FACTS)


def _excess(counts: np.ndarray, prior: np.ndarray | float) -> np.ndarray:
    """digamma(counts + prior) − digamma(prior), exact for whole counts."""
    most = int(counts.max(initial=0))
    return np.sum([np.where(counts > i, 1 / (prior + i), 0.0) for i in range(most)], axis=0)


def joint_draws(
    facts: Sequence[Sampled], n_draws: int, rng: np.random.Generator, prior: np.ndarray
) -> dict[tuple[str, str], tuple[np.ndarray, ...]]:
    """{key: draws of the fact's p on each side, each [n_draws]}.

    Facts that share a prompt are drawn together.

    Args:
        prior: of the four cells, [4].
    """
    prompts: dict[tuple[object, ...], list[Sampled]] = defaultdict(list)
    for fact in facts:
        prompts[fact.prompt, fact.sides].append(fact)
    out = {}
    for group in prompts.values():
        objects = {fact.names: fact for fact in group}
        draws = _of_prompt(list(objects.values()), n_draws, rng, prior)
        places = {names: at for at, names in enumerate(objects)}
        for fact in group:
            at = places[fact.names]
            out[fact.key] = tuple(side[:, at] for side in draws)
    return out


def _of_prompt(
    facts: Sequence[Sampled], n_draws: int, rng: np.random.Generator, prior: np.ndarray
) -> list[np.ndarray]:
    """Draws of the facts' probabilities, for each side [n_draws, facts].

    Args:
        facts: of one prompt and its answers, each with an object of its own.
    """
    sides = facts[0].sides
    weights = _prior_weights(len(facts), len(sides), prior)
    for k in range(len(sides[0])):
        if any(right[k] is None for fact in facts for right in fact.right):
            continue
        pattern = tuple(
            frozenset(i for i, fact in enumerate(facts) if fact.right[side][k])
            for side in range(len(sides))
        )
        weights[pattern] = weights.get(pattern, 0.0) + 1
    drawn = rng.standard_gamma(list(weights.values()), size=(n_draws, len(weights)))
    drawn /= drawn.sum(axis=1, keepdims=True)
    return [
        drawn @ np.array([[i in p[side] for i in range(len(facts))] for p in weights], float)
        for side in range(len(sides))
    ]


def _prior_weights(n: int, n_sides: int, prior: np.ndarray) -> dict[Pattern, float]:
    """The prior of every pattern of at most one object a side.

    With two edits, their answers are independent given the answer before.
    """
    both, before, after, never = prior
    cells = np.full((n + 1, n + 1), CROSS)
    cells[range(n), range(n)], cells[:n, n], cells[n, :n] = both, before, after
    # That an answer does not name this object includes that it names another one.
    cells[n, n] = max(FLOOR, never - (n - 1) * (both + before + after))
    given = cells / cells.sum(axis=1, keepdims=True)
    out: dict[Pattern, float] = {}
    for first, *others in product(range(n + 1), repeat=n_sides):
        weight = cells[first].sum() * np.prod([given[first, other] for other in others])
        out[tuple(frozenset({i} - {n}) for i in (first, *others))] = float(weight)
    return out


# Intervals on sampled scores: the uncertainty of k answers a prompt.
#
# A sampled probability is a fraction of k answers, so every number derived from it is uncertain
# even when the model is not. Pre and post are probed with the same random numbers
# (`editing.probe.sampled`), so answers come in pairs; facts of one prompt share its answers. For
# each prompt the shares of the patterns of right answers (which objects before, which after) get
# a Dirichlet posterior; metrics are computed on draws of it, all facts of a prompt at once.
#
# The prior is fitted to the facts of the score: most are answered alike both times, which five
# answers of one fact cannot show but those of all facts can. It is mixed with the symmetric prior
# of ¼ a cell (right both times, before only, after only, never; its margins are the Jeffreys
# posterior Beta(½, ½)), which weighs as much as ten facts. A new target is drawn with the
# symmetric prior. Facts about the subject have a prior fitted to them alone: an edit may remove
# all of them and no other fact, and a prior of all facts would say that they are kept. They are
# drawn a second time with `LOWERED` in place of ¼, and an interval has the outer ends of both.
#
# A retention is a ratio and an IFR a mean of products of ratios, so the posterior leans upwards:
# its median lies above the observed value, which is nearly unbiased. Hence the interval is [low ·
# f, high] with f = observed value / median, or [low, high · f] where f > 1; the observed value is
# inside. It is conservative: over the chains of KnowGIC's rewrites, with 5, 10 and 20 answers and
# probabilities from .02 to .98, it contains the true value in 95 to 99 % of simulated runs, for
# IFR, IFR beyond the subject and subject retention; where all facts about the subject are nearly
# removed, in 94 to 96 %, and on real answers in 92 to 99 % of groups of five. Without common random
# numbers it is 81 to 98 %, which comparisons with an endpoint say in a note
# (docs/decisions/0012, benchmarks/graph/interval_coverage.py).
#
# It is the uncertainty of sampling alone: not of the rewrite, the seed of the edit, or the graph.
# The true value it is about is that of the facts and chains that count as known by what was
# observed before the edit (`ScoringOptions.rule`): that set is the same on every draw, so that a
# draw does not add or drop a chain whose ratio is noise. Exact likelihoods have no such interval.

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
    on_chains = chain_facts(db, score)
    drawn = [
        _metrics(score, chains, on_chains, probed, draws)
        for draws in posteriors(probed, n_draws, seed, score.subject)
    ]
    values = [_bounded(value, drawn) for value in score.values]
    return _same_efficacy(values)


def _metrics(
    score: Score,
    chains: Sequence[ScoredChainRow],
    on_chains: Container[str],
    probed: Sequence[ProbedFact],
    draws: Mapping[tuple[str, str], Pair],
) -> dict[tuple[str, int | None], np.ndarray]:
    """Draws of all metrics that have intervals, {(metric, step): [draws]}."""
    pairs = {f"{score.edit}|{fact}": pair for (fact, role), pair in draws.items() if role != NEW}
    # A chain with an undecided fact has no draws, and the metrics over it no value.
    chains = [row for row in chains if all(link.id in pairs for link in row.links)]
    drawn = _of_chains(score, chains, pairs) | _of_facts(score, on_chains, probed, draws)
    news = [pair for (_, role), pair in draws.items() if role == NEW]
    if news:
        drawn["efficacy", None] = news[0][1]
    elif score.kind == "forget":
        drawn |= _forgotten([pair for (_, role), pair in draws.items() if role == OLD])
    return drawn


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
    kept = {row.links[0].id: None for row in chains if row.links[0].object != score.target_true}
    drawn["ifr_beyond_subject", None] = ifr_draws(chains, pairs, kept)
    return drawn


def _of_facts(
    score: Score,
    on_chains: Container[str],
    probed: Sequence[ProbedFact],
    draws: Mapping[tuple[str, str], Pair],
) -> dict[tuple[str, int | None], np.ndarray]:
    """Draws of the means over facts on the chains, parallel ones too, [draws] each."""
    known = score.options.counted["known"]
    ratios: dict[str, dict[str, np.ndarray]] = {"preservation": {}, "subject_retention": {}}
    for each in probed:
        fact, key = each.question.fact, (each.question.fact.id, each.question.role)
        observed = each.pre.values.get(MEASURE)
        if fact.id not in on_chains or key not in draws or not observed or observed < known:
            continue
        pre, post = draws[key]
        if fact.subject != score.subject:
            ratios["preservation"][fact.id] = post / pre
        elif fact.object != score.target_true:  # as in metrics/subject_retention
            ratios["subject_retention"][fact.id] = post / pre
    if score.options.unit != "rewrite":
        del ratios["preservation"]
    return {
        (metric, None): np.mean(list(of.values()), axis=0) for metric, of in ratios.items() if of
    }


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
    (drawn,) = joint_draws([fact], DRAWS, np.random.default_rng(seed), SYMMETRIC)[fact.key]
    observed = share(fact.right[0])
    assert observed is not None
    return _proportion(drawn, observed)


def posteriors(
    probed: Sequence[ProbedFact], n_draws: int, seed: int, subject: str
) -> list[dict[tuple[str, str], Pair]]:
    """Two posteriors, whose intervals `hull` joins: mixed with `SYMMETRIC`, and with `LOWERED`."""
    return [
        posterior(probed, n_draws, np.random.default_rng(seed), subject=subject, base=base)
        for base in (SYMMETRIC, LOWERED)
    ]


def posterior(
    probed: Sequence[ProbedFact],
    n_draws: int,
    rng: np.random.Generator,
    prior: np.ndarray | None = None,
    *,
    subject: str = "",
    base: np.ndarray = SYMMETRIC,
) -> dict[tuple[str, str], Pair]:
    """{(fact id, role): draws of its p_pre and p_post}, for facts that were sampled both times.

    Args:
        prior: of the four cells, [4]; None: fitted to these facts.
        subject: facts about it have a prior that is fitted to them alone, as an edit may change
            all of them and no other.
        base: what the prior of the subject's facts is mixed with.
    """
    facts = [sampled(f) for f in probed if f.post and f.pre.n_samples and f.post.n_samples]
    # A new target is not like the facts that are known before the edit.
    news = [fact for fact in facts if fact.key[1] == NEW]
    drawn = joint_draws(news, n_draws, rng, SYMMETRIC)
    known = [fact for fact in facts if fact.key[1] != NEW]
    about = [fact for fact in known if fact.prompt[0] == subject]
    others = [fact for fact in known if fact.prompt[0] != subject]
    for group, fitted_to, mixed in ((about, about, base), (others, known, SYMMETRIC)):
        fitted = prior_of(map(pairs_of, fitted_to), mixed) if prior is None else prior
        drawn |= joint_draws(group, n_draws, rng, fitted)
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
        longer=question.longer,
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


def _bounded(
    value: MetricValue, drawn: Sequence[Mapping[tuple[str, int | None], np.ndarray]]
) -> MetricValue:
    key = (value.metric, value.step)
    if value.measure != MEASURE or key not in drawn[0] or not value.n or value.value is None:
        return value
    bounds = _proportion if value.metric in _OF_ONE_FACT else centred
    low, high = hull([bounds(each[key], value.value) for each in drawn])
    return value.model_copy(update={"low": low, "high": high})


_OF_ONE_FACT = ("efficacy", "forgetting", "leak_at_1", "leak_at_5", "leak_at_100")
"""Metrics that are functions of one probability after the edit."""


def _proportion(drawn: np.ndarray, observed: float) -> tuple[float, float]:
    """The interval of one probability: no ratio, no leaning; the observed value is inside."""
    low, high = (float(q) for q in np.quantile(drawn, QUANTILES))
    return min(low, observed), max(high, observed)


def hull(bounds: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The interval from the least lower end to the largest upper one."""
    return min(low for low, _ in bounds), max(high for _, high in bounds)


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


# Intervals of the difference between two sampled scores of one rewrite: their answers are paired.
#
# Two edits of one model that were scored with one seed have the very same answers before the
# edit, and answers after it that were sampled with the same random numbers. So a fact's p is
# drawn once before and jointly after both edits (`service.scoring.intervals`), for all facts of a
# prompt; what the edits have in common drops out of the difference, whose interval is narrower
# than the two intervals of the scores suggest.
#
# The draws are moved so that their median is the observed difference: the noise of ratios raises
# the draws of each score, and of the one with more left more.

Bounds = tuple[float, float]


def difference_intervals(
    db: Database, one: Score, other: Score
) -> dict[tuple[str, int | None], Bounds]:
    """95 % intervals of `other` − `one` in ifr and ifr_by_steps of the sampled measure.

    Returns:
        {(metric, step): bounds}; empty where the answers are not paired: other rewrites, models,
        seeds or numbers of samples, or chains that are counted in another way.
    """
    if not _comparable(one, other):
        return {}
    facts = _paired(db, one, other)
    chains = counted_chains(db, one)
    same = {row.entities for row in counted_chains(db, other)}
    if not facts or {row.entities for row in chains} != same:
        return {}
    drawn = {f"{one.edit}|{key[0]}": pair for key, pair in _drawn(facts).items()}
    out = {("ifr", None): chains} | {
        ("ifr_by_steps", step): [row for row in chains if row.steps == step]
        for step in sorted({row.steps for row in chains})
    }
    known = {f"{one.edit}|{fact.key[0]}": _observed(fact) for fact in facts}
    return {
        key: difference(of, drawn, known)
        for key, of in out.items()
        if all(link.id in drawn for row in of for link in row.links)
    }


def difference(
    chains: Sequence[ScoredChainRow],
    drawn: Mapping[str, Sequence[np.ndarray]],
    observed: Mapping[str, Sequence[np.ndarray]],
) -> Bounds:
    """The interval of the second edit's IFR minus the first's.

    Args:
        drawn: draws of each link's p before, after the first edit and after the second.
        observed: the same as it was observed, each of length 1.
    """
    sides = [
        [
            ifr_draws(chains, {key: (pair[0], pair[side]) for key, pair in of.items()})
            for side in (1, 2)
        ]
        for of in (drawn, observed)
    ]
    (first, second), (one, other) = sides
    delta = second - first
    delta = delta - np.median(delta) + float((other - one)[0])
    low, high = np.quantile(delta, QUANTILES)
    return float(low), float(high)


def _comparable(one: Score, other: Score) -> bool:
    of = [
        (
            s.dataset, s.rewrite, s.model, s.subject, s.target_true, s.options.max_steps,
            s.options.bare, s.options.parallel, s.options.counted,
        )
        for s in (one, other)
    ]  # fmt: skip
    sampled = one.edit != other.edit and all(MEASURE in s.measures for s in (one, other))
    return sampled and of[0] == of[1] and one.options.parallel == "before"


def _paired(db: Database, one: Score, other: Score) -> list[Sampled]:
    """The facts of both edits with their answers; none where those before the edit differ."""
    of = [
        {
            row.fact: row
            for row in db.read(rows.FactRow, "graph/facts", graph=score.edit)
            if row.role not in (NEW, "implication") and row.answers_pre and row.answers_post
        }
        for score in (one, other)
    ]
    from ...editing.probe.longer import longer_names

    entities = db.read(rows.EntityRow, "graph/entities", graph=one.dataset)
    names = {entity.name: entity.aliases for entity in entities}
    names |= {score.target_new: () for score in (one, other) if score.target_new not in names}
    longer = longer_names(names)
    found = []
    for name in of[0].keys() & of[1].keys():
        a, b = of[0][name], of[1][name]
        if a.answers_pre != b.answers_pre:
            return []
        sides = tuple(tuple(s or ()) for s in (a.answers_pre, a.answers_post, b.answers_post))
        if len({len(side) for side in sides}) > 1:
            return []
        named = (a.object, *a.object_aliases)
        own = longer.get(a.object, ())
        fact = Sampled((a.fact, a.role), (a.subject, a.prompt), named, sides, own)
        if all(share(right) is not None for right in fact.right):
            found.append(fact)
    return sorted(found, key=lambda fact: fact.key)


def _drawn(facts: Sequence[Sampled]) -> dict[tuple[str, str], tuple[np.ndarray, ...]]:
    prior = prior_of([pairs_of(fact, side) for fact in facts for side in (1, 2)])
    return joint_draws(facts, DRAWS, np.random.default_rng(0), prior)


def _observed(fact: Sampled) -> tuple[np.ndarray, ...]:
    return tuple(np.array([share(side)], dtype=float) for side in fact.right)
