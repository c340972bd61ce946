"""Coverage of intervals: simulated answers on the chains of real rewrites.

The world is drawn first: for each prompt how likely its objects are before and after an edit. Then
k pairs of answers are drawn from it, pre and post with one random number, as the probe does; the
program makes its interval of them, and the truth is known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from types import SimpleNamespace
from typing import Any

import numpy as np

from support.references import reference
from thinkeval.loaders.records import Fact, KnowledgeGraph, RewriteRequest
from thinkeval.service.scoring import intervals
from thinkeval.service.scoring.intervals import Sampled
from thinkeval.service.scoring.probe import Answer, ProbedFact, Question

LEVELS = (0.02, 0.2, 0.5, 0.8, 0.98)
"""Of all facts before the edit, in the scenarios of one level."""
SCENARIOS = (*LEVELS, "organism", "language model")
"""Levels, and two mixtures: most facts known and few touched; all levels and all disturbed."""
LOST = tuple(("the subject's facts × .05", level) for level in (0.1, 0.3, 0.5, 0.7, 0.9))
"""An edit that nearly removes the facts about the subject and changes no other, as ROME does to
real subjects: all facts at one level before it."""
SUBJECT = "the edited subject"


@dataclass(frozen=True)
class Structure:
    """The chains of a rewrite, as lists of numbered facts, and the prompts, by their facts.

    Attributes:
        about: facts about the subject, among them the edited one.
        context: facts about the subject with another relation than the edited and another object.
    """

    rewrite: str
    prompts: tuple[tuple[int, ...], ...]
    chains: tuple[tuple[int, ...], ...]
    about: frozenset[int]
    context: frozenset[int]


def structure(graph: KnowledgeGraph, rewrite: RewriteRequest) -> Structure:
    """The structure of a rewrite of a graph, by walking."""
    edges = [
        reference.Edge(str(i), f.subject, f.object, relation=f.relation)
        for i, f in enumerate(graph.facts)
        if not f.cases or rewrite.id in f.cases
    ]
    case = reference.Case(rewrite.subject, rewrite.target_true, rewrite.id, rewrite.relation)
    found = [[int(edge.id) for edge in c] for c in reference.chains(edges, case, walk=True)]
    number = {old: new for new, old in enumerate(sorted({i for chain in found for i in chain}))}
    prompts: dict[tuple[str, str], list[int]] = defaultdict(list)
    for old, new in number.items():
        prompts[graph.facts[old].subject, graph.facts[old].prompt].append(new)
    return Structure(
        rewrite.id,
        tuple(map(tuple, prompts.values())),
        tuple(tuple(number[i] for i in chain) for chain in found),
        frozenset(
            new for old, new in number.items() if graph.facts[old].subject == rewrite.subject
        ),
        frozenset(
            new
            for old, new in number.items()
            if graph.facts[old].subject == rewrite.subject
            and graph.facts[old].object != rewrite.target_true
            and graph.facts[old].relation != rewrite.relation
        ),
    )


@dataclass(frozen=True)
class Run:
    """One simulated score: the true value of what was observed, the observed one, its interval."""

    truth: float
    observed: float
    low: float
    high: float

    @property
    def holds(self) -> bool:
        return self.low <= self.truth <= self.high


IFR, BEYOND, RETENTION = "ifr", "ifr_beyond_subject", "subject_retention"
METRICS = (IFR, BEYOND, RETENTION)


def runs(
    where: Structure,
    k: int,
    scenario: object,
    n: int,
    *,
    metric: str = IFR,
    seed: int = 0,
    draws: int = 300,
) -> Iterator[Run]:
    """n simulated scores with k answers a prompt; those without an observed value are left out."""
    for found in all_runs(where, k, scenario, n, seed=seed, draws=draws):
        if metric in found:
            yield found[metric]


def all_runs(
    where: Structure, k: int, scenario: object, n: int, *, seed: int = 0, draws: int = 300
) -> Iterator[dict[str, Run]]:
    """n simulated scores: the `METRICS` that each has."""
    place = (*SCENARIOS, *LOST).index(scenario)  # type: ignore[arg-type]
    rng = np.random.default_rng([seed, k, place, len(where.chains)])
    for _ in range(n):
        true: dict[int, tuple[float, float]] = {}
        probed: list[ProbedFact] = []
        for number, facts in enumerate(where.prompts):
            is_about = not where.about.isdisjoint(facts)
            pre, post = _world(scenario, len(facts), rng, is_about)
            true |= {fact: (pre[i], post[i]) for i, fact in enumerate(facts)}
            subject = SUBJECT if is_about else f"subject {number}"
            probed += _answered(subject, number, facts, pre, post, rng.random(k))
        yield _found(where, true, probed, draws, rng)


def _world(
    scenario: object, n: int, rng: np.random.Generator, is_about: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities of a prompt's n objects, before and after.

    Args:
        is_about: True if the prompt is about the edited subject.
    """
    if isinstance(scenario, tuple):
        pre, kept = np.full(n, scenario[1] / n), np.full(n, 0.05 if is_about else 1.0)
    elif isinstance(scenario, float):
        pre = np.full(n, scenario / n)
        kept = rng.choice([0, 0.25, 0.5, 0.75, 1.0, 1.0, 1.0], size=n)
    elif scenario == "organism":
        pre = rng.dirichlet(np.full(n, 5.0)) * rng.uniform(0.85, 0.98)
        kept = np.where(rng.random(n) < 0.6, rng.uniform(0.9, 1, n), rng.uniform(0, 0.6, n))
    else:
        level = np.clip(1 / (1 + np.exp(-rng.normal(0, 1.8))), 0.02, 0.98)
        pre = rng.dirichlet(np.ones(n)) * level
        kept = np.exp(rng.normal(-0.3, 0.7, n))
    post = pre * kept
    return pre, post * min(1.0, 0.98 / max(post.sum(), 1e-9))


def _answered(
    subject: str,
    number: int,
    facts: tuple[int, ...],
    pre: np.ndarray,
    post: np.ndarray,
    u: np.ndarray,
) -> list[ProbedFact]:
    """The facts of a prompt with their answers; one random number makes both of a pair."""
    texts = [
        tuple(
            f"object{facts[i]}x" if i < len(facts) else "nothing"
            for i in np.searchsorted(np.cumsum(side), u).tolist()
        )
        for side in (pre, post)
    ]
    out = []
    for fact in facts:
        name = f"object{fact}x"
        about = Fact(subject=subject, relation="r", object=name, prompt=f"{{}} is {number}")
        sides = [Answer({"p": t.count(name) / len(u)}, t, len(u)) for t in texts]
        question = Question(SimpleNamespace(**_fields(about), id=str(fact)))  # type: ignore[arg-type]
        out.append(ProbedFact(question, sides[0], sides[1]))
    return out


def _fields(fact: Fact) -> Mapping[str, Any]:
    return {"subject": fact.subject, "object": fact.object, "prompt": fact.prompt}


def _found(
    where: Structure,
    true: Mapping[int, tuple[float, float]],
    probed: list[ProbedFact],
    draws: int,
    rng: np.random.Generator,
) -> dict[str, Run]:
    observed = {
        int(f.question.fact.id): (f.pre.values["p"], f.post.values["p"])
        for f in probed
        if f.post is not None
    }
    chains = [c for c in where.chains if all(observed[fact][0] for fact in c)]
    about = sorted(fact for fact in where.context if observed[fact][0])
    seed = int(rng.integers(2**31))
    drawn = [
        {fact: pair for (fact, _), pair in each.items()}
        for each in intervals.posteriors(probed, draws, seed, SUBJECT)
    ]
    out = {}
    kept = {str(fact) for fact in where.context}
    for metric, held in ((IFR, frozenset()), (BEYOND, where.context)):
        if chains:
            values = [
                intervals.ifr_draws(rows_of(chains), each, kept if held else ()) for each in drawn
            ]
            out[metric] = _run(ifr(chains, true, held), ifr(chains, observed, held), values)
    if about:
        values = [
            np.mean([each[str(f)][1] / each[str(f)][0] for f in about], axis=0) for each in drawn
        ]
        means = [fmean(p[fact][1] / p[fact][0] for fact in about) for p in (true, observed)]
        out[RETENTION] = _run(*means, values)
    return out


def _run(truth: float, observed: float, drawn: Sequence[np.ndarray]) -> Run:
    bounds = [intervals.centred(draws, observed) for draws in drawn]
    return Run(truth, observed, *intervals.hull(bounds))


def ifr(
    chains: list[tuple[int, ...]],
    p: Mapping[int, tuple[float, float]],
    kept: frozenset[int] = frozenset(),
) -> float:
    """Definition 3 (ThinkEval, section 5); `kept` facts count with p_post = p_pre."""
    retained = [
        np.prod([p[fact][1] / p[fact][0] for fact in chain if fact not in kept]) for chain in chains
    ]
    return float(np.average(retained, weights=[len(chain) ** -0.5 for chain in chains]))


def rows_of(chains: list[tuple[int, ...]]) -> Any:
    """The chains as the database gives them, as far as intervals read them."""
    return [
        SimpleNamespace(links=[SimpleNamespace(id=str(f)) for f in c], steps=len(c)) for c in chains
    ]


def paired_bounds(facts: list[Sampled], chains: list[tuple[int, ...]]) -> tuple[float, float]:
    """The interval of the difference of two edits, by the program."""
    drawn = {key: pair for (key, _), pair in intervals._drawn(facts).items()}
    known = {fact.key[0]: intervals._observed(fact) for fact in facts}
    return intervals.difference(rows_of(chains), drawn, known)
