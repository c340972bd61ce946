"""The metrics by brute force, written from the papers' definitions, without any database.

A graph is a plain list of Edge. Everything is found by trying all sequences of entities, so it is
only for graphs of a handful of entities (and for the small scopes of KnowGIC's rewrites through
`chains(..., walk=True)`, which walks instead of trying everything).

Sources: ThinkEval (Baser et al., TMLR 2026), section 5 and appendix D; KnowGIC's README.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, permutations, product
from statistics import fmean, harmonic_mean


@dataclass(frozen=True)
class Edge:
    """One fact: who, what, whom, and what the model made of it before and after the edit."""

    id: str
    subject: str
    object: str
    pre: float = 1.0
    post: float = 1.0
    relation: str = "r"
    cases: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    role: str = "fact"
    listed: bool = True
    paraphrases_post: tuple[float, ...] = ()
    neighborhood_post: tuple[float, ...] = ()


@dataclass(frozen=True)
class Case:
    """One rewrite: its subject s0, its old object o0, its id and relation (None: not given)."""

    subject: str
    object: str
    rewrite: str | None = None
    relation: str | None = None


@dataclass(frozen=True)
class Value:
    """A metric's value (None: undefined), what it was taken over, and what was left out for 0."""

    value: float | None
    n: int
    excluded: int = 0


Chain = tuple[Edge, ...]


def usable(edges: Iterable[Edge], case: Case) -> list[Edge]:
    """The facts a chain of this rewrite may use at all."""
    return [
        e
        for e in edges
        if e.role != "target_new"
        and (case.rewrite is None or not e.cases or case.rewrite in e.cases)
    ]


def is_bare(edge: Edge, case: Case) -> bool:
    """Whether the fact is the edited fact itself."""
    return (edge.subject, edge.object) == (case.subject, case.object) and (
        edge.role == "target_true" or (case.relation is not None and edge.relation == case.relation)
    )


def entity_sequences(edges: Sequence[Edge], case: Case, max_steps: int) -> Iterator[list[str]]:
    """Every way to go from s0 to o0 over 0 to max_steps - 1 other, distinct entities."""
    if case.subject == case.object:
        return
    others = sorted({n for e in edges for n in (e.subject, e.object)})
    others = [n for n in others if n not in (case.subject, case.object)]
    for between in range(max_steps):
        for inner in permutations(others, between):
            yield [case.subject, *inner, case.object]


def walked_sequences(edges: Sequence[Edge], case: Case, max_steps: int) -> Iterator[list[str]]:
    """The same, but only along facts, for graphs with more entities."""
    after: dict[str, set[str]] = {}
    for edge in edges:
        after.setdefault(edge.subject, set()).add(edge.object)
    going = [[case.subject]] if case.subject != case.object else []
    for _ in range(max_steps):
        longer = [[*s, n] for s in going for n in sorted(after.get(s[-1], ())) if n not in s]
        yield from (s for s in longer if s[-1] == case.object)
        going = [s for s in longer if s[-1] != case.object]


def alternatives(
    edges: Sequence[Edge], case: Case, max_steps: int, bare: str, *, walk: bool = False
) -> Iterator[list[list[Edge]]]:
    """For each chain the parallel facts on each of its ordered pairs, any of which would do."""
    allowed = usable(edges, case)
    find = walked_sequences if walk else entity_sequences
    for entities in find(allowed, case, max_steps):
        pairs = list(pairwise(entities))
        on_pair = [[e for e in allowed if (e.subject, e.object) == pair] for pair in pairs]
        if len(pairs) == 1:
            on_pair[0] = [
                e
                for e in on_pair[0]
                if not is_bare(e, case) or bare == "include" or (bare == "listed" and e.listed)
            ]
        if all(on_pair):
            yield on_pair


def chains(
    edges: Sequence[Edge],
    case: Case,
    max_steps: int = 5,
    bare: str = "listed",
    *,
    walk: bool = False,
    parallel: str = "before",
) -> list[Chain]:
    """The chains: simple paths from s0 to o0, one an entity sequence, over the likeliest facts.

    Args:
        parallel: `after`: of parallel facts, the one that is the likeliest after the edit gives
            the probability after it.
    """

    def counted(options: list[Edge]) -> Edge:
        first = min(options, key=lambda e: (-e.pre, e.id))
        if parallel == "before":
            return first
        return replace(first, post=max(e.post for e in options))

    return [
        tuple(counted(options) for options in on_pair)
        for on_pair in alternatives(edges, case, max_steps, bare, walk=walk)
    ]


def scope(
    edges: Sequence[Edge], case: Case, max_steps: int, bare: str, *, walk: bool = False
) -> list[Edge]:
    """All facts on the chains, parallel ones too."""
    found = {
        edge
        for on_pair in alternatives(edges, case, max_steps, bare, walk=walk)
        for path in product(*on_pair)
        for edge in path
    }
    return sorted(found, key=lambda e: e.id)


def reliability(chain: Chain) -> tuple[float, float]:
    """R before and R' after: the products of the links' probabilities."""
    return math.prod(e.pre for e in chain), math.prod(e.post for e in chain)


def known(of: Sequence[Chain], least: float) -> list[Chain]:
    """The chains that the model knows before the edit: R ≥ least."""
    return [chain for chain in of if reliability(chain)[0] >= least]


def survives(chain: Chain, threshold: float = 0.0) -> bool:
    """Whether the old object can still be deduced by this chain."""
    before, after = reliability(chain)
    return after > threshold * before and after > 0


def ifr(of: Sequence[Chain]) -> Value:
    """Definition 3, Eq. 6."""
    known = [c for c in of if reliability(c)[0] != 0]
    if not known:
        return Value(0.0, 0, len(of))
    numerator = sum(reliability(c)[1] / reliability(c)[0] / math.sqrt(len(c)) for c in known)
    denominator = sum(1 / math.sqrt(len(c)) for c in known)
    return Value(numerator / denominator, len(known), len(of) - len(known))


def ifr_by_steps(of: Sequence[Chain], max_steps: int) -> dict[int, Value]:
    """Definition 3 over the chains of each length alone."""
    return {n: ifr([c for c in of if len(c) == n]) for n in range(1, max_steps + 1)}


def ifr_published(of: Sequence[Chain], max_steps: int) -> Value:
    """The recombination that gives the published overall values: full counts as weights."""
    if not of:
        return Value(0.0, 0)
    counts = {n: sum(len(c) == n for c in of) for n in range(1, max_steps + 1)}
    steps = ifr_by_steps(of, max_steps)
    weights = {n: counts[n] / math.sqrt(n) for n in counts}
    total = sum(weights[n] * steps[n].value for n in counts)
    return Value(total / sum(weights.values()), len(of))


def mean_ratio(edges: Iterable[Edge]) -> float:
    """Mean of p_post / p_pre over the facts with p_pre <> 0, 1 if there is none."""
    ratios = [e.post / e.pre for e in edges if e.pre != 0]
    return fmean(ratios) if ratios else 1.0


def preservation(edges: Sequence[Edge], case: Case, max_steps: int, bare: str, unit: str) -> Value:
    """Definition 4, Eq. 7, over the broader context of the rewrite, or of each record."""
    context = [e for e in scope(edges, case, max_steps, bare) if e.subject != case.subject]
    excluded = sum(e.pre == 0 for e in context)
    if unit == "rewrite":
        return Value(mean_ratio(context), len(context) - excluded, excluded)
    records = chains(edges, case, max_steps, bare)
    terms = []
    for chain in records:
        links = [e for e in chain if e.subject != case.subject]
        asked = {q for link in links for q in link.questions}
        terms.append(mean_ratio(e for e in context if e in links or asked & set(e.questions)))
    return Value(fmean(terms) if terms else 1.0, len(records), excluded)


def kept_subject(edge: Edge, case: Case) -> bool:
    """Whether the fact is about s0 and not one that the edit is meant to change."""
    asked_for = edge.object == case.object or edge.relation == case.relation
    return edge.subject == case.subject and not asked_for


def subject_retention(found: Iterable[Edge], case: Case) -> Value:
    """Mean of p_post / p_pre over the facts on the chains that are about s0 and to be kept.

    Args:
        found: the facts on the chains, parallel ones too.
    """
    about = [e for e in found if kept_subject(e, case)]
    ratios = [e.post / e.pre for e in about if e.pre != 0]
    return Value(fmean(ratios) if ratios else None, len(ratios), len(about) - len(ratios))


def ifr_beyond_subject(of: Sequence[Chain], case: Case) -> Value:
    """Definition 3 where the facts about s0 that are to be kept have p_post = p_pre."""
    return ifr(
        [tuple(replace(e, post=e.pre) if kept_subject(e, case) else e for e in c) for c in of]
    )


def active(of: Sequence[Chain], max_steps: int, threshold: float) -> dict[int | None, Value]:
    """How many chains survive, in all (None) and of each length."""
    steps: list[int | None] = [None, *range(1, max_steps + 1)]
    counted = {n: [c for c in of if n is None or len(c) == n] for n in steps}
    return {
        n: Value(sum(survives(c, threshold) for c in found), len(found))
        for n, found in counted.items()
    }


def deep_edited(of: Sequence[Chain], max_steps: int, threshold: float) -> dict[int | None, Value]:
    """Definition 2, up to n steps: 1 if no chain of at most n facts survives."""
    verdicts: dict[int | None, Value] = {}
    for n in [None, *range(1, max_steps + 1)]:
        found = [c for c in of if n is None or len(c) <= n]
        verdicts[n] = Value(float(not any(survives(c, threshold) for c in found)), len(found))
    return verdicts


@dataclass(frozen=True)
class Leak:
    """How many surviving chains a fact is part of, their share of all, and of IFR's numerator."""

    chains: int
    share: float
    ifr_share: float


def leakage(of: Sequence[Chain], threshold: float) -> dict[str, Leak]:
    """By fact id, for the facts on surviving chains."""

    def weight(chain: Chain) -> float:
        before, after = reliability(chain)
        return after / before / math.sqrt(len(chain)) if before else 0.0

    alive = [c for c in of if survives(c, threshold)]
    whole = sum(weight(c) for c in alive)
    leaks = {}
    for fact in {e.id for c in alive for e in c}:
        through = [c for c in alive if fact in {e.id for e in c}]
        part = sum(weight(c) for c in through)
        leaks[fact] = Leak(len(through), len(through) / len(alive), part / whole if whole else 0.0)
    return leaks


def target_edge(edges: Sequence[Edge], case: Case, role: str) -> Edge | None:
    """The fact of the edit itself that has this role."""
    found = [
        e
        for e in edges
        if e.role == role
        and e.subject == case.subject
        and (role == "target_new" or e.object == case.object)
        and (case.rewrite is None or not e.cases or case.rewrite in e.cases)
    ]
    return found[0] if found else None


def efficacy(edges: Sequence[Edge], case: Case) -> Value:
    """The probability of target_new after the edit."""
    new = target_edge(edges, case, "target_new")
    return Value(new.post, 1) if new else Value(0.0, 0)


def efficacy_score(edges: Sequence[Edge], case: Case) -> Value:
    """Eq. 8: whether target_new is likelier than target_true after the edit."""
    new, old = (target_edge(edges, case, role) for role in ("target_new", "target_true"))
    return Value(float(new.post > old.post), 1) if new and old else Value(0.0, 0)


def generalization(edges: Sequence[Edge], case: Case) -> Value:
    """The mean probability of target_new over the paraphrases."""
    new = target_edge(edges, case, "target_new")
    if not new or not new.paraphrases_post:
        return Value(0.0, 0)
    return Value(fmean(new.paraphrases_post), len(new.paraphrases_post))


def generalization_score(edges: Sequence[Edge], case: Case) -> Value:
    """Eq. 9: over how many paraphrases target_new is likelier than target_true."""
    new, old = (target_edge(edges, case, role) for role in ("target_new", "target_true"))
    if not new or not old or not new.paraphrases_post:
        return Value(0.0, 0)
    won = [n > o for n, o in zip(new.paraphrases_post, old.paraphrases_post, strict=True)]
    return Value(sum(won) / len(won), len(won))


def targets(edges: Sequence[Edge], case: Case) -> tuple[Edge, Edge] | None:
    """The edited fact with target_new and with target_true; None unless both are there."""
    new, old = (target_edge(edges, case, role) for role in ("target_new", "target_true"))
    return (new, old) if new and old else None


def margin(better: Sequence[float], worse: Sequence[float]) -> Value:
    """Mean difference over prompts; CounterFact's magnitudes."""
    differences = [b - w for b, w in zip(better, worse, strict=True)]
    return Value(fmean(differences) if differences else 0.0, len(differences))


def efficacy_magnitude(edges: Sequence[Edge], case: Case) -> Value:
    """EM of Meng et al. 2022, section 3.3."""
    both = targets(edges, case)
    return margin([both[0].post], [both[1].post]) if both else Value(0.0, 0)


def generalization_magnitude(edges: Sequence[Edge], case: Case) -> Value:
    """PM of Meng et al. 2022, section 3.3."""
    both = targets(edges, case)
    if not both:
        return Value(0.0, 0)
    return margin(both[0].paraphrases_post, both[1].paraphrases_post)


def specificity(edges: Sequence[Edge], case: Case) -> Value:
    """The mean probability of the right answers over the neighborhood."""
    old = target_edge(edges, case, "target_true")
    near = old.neighborhood_post if old else ()
    return Value(fmean(near) if near else 0.0, len(near))


def specificity_score(edges: Sequence[Edge], case: Case) -> Value:
    """NS of Meng et al. 2022, section 3.3."""
    both = targets(edges, case)
    if not both or not both[0].neighborhood_post:
        return Value(0.0, 0)
    pairs = zip(both[0].neighborhood_post, both[1].neighborhood_post, strict=True)
    kept = [true > new for new, true in pairs]
    return Value(sum(kept) / len(kept), len(kept))


def specificity_magnitude(edges: Sequence[Edge], case: Case) -> Value:
    """NM of Meng et al. 2022, section 3.3."""
    both = targets(edges, case)
    if not both:
        return Value(0.0, 0)
    return margin(both[1].neighborhood_post, both[0].neighborhood_post)


def counterfact_score(edges: Sequence[Edge], case: Case) -> Value:
    """S of Meng et al. 2022, section 3.3: the harmonic mean of ES, PS and NS."""
    parts = [f(edges, case) for f in (efficacy_score, generalization_score, specificity_score)]
    if not all(part.n for part in parts):
        return Value(0.0, 0)
    return Value(harmonic_mean([part.value for part in parts]), sum(part.n for part in parts))


COUNTERFACT = {
    "efficacy_magnitude": efficacy_magnitude,
    "generalization_magnitude": generalization_magnitude,
    "specificity": specificity,
    "specificity_score": specificity_score,
    "specificity_magnitude": specificity_magnitude,
    "counterfact_score": counterfact_score,
}
"""CounterFact's metrics by the name of their query."""


KNOWN = 0.05
"""Probability before the edit from which a fact counts as known."""


def forgetting(edges: Sequence[Edge], case: Case) -> Value:
    """Which part of the fact's probability is gone; of a fact that was not known, nothing."""
    old = target_edge(edges, case, "target_true")
    if old is None:
        return Value(None, 0)
    if old.pre < KNOWN:
        return Value(None, 0, 1)
    return Value((old.pre - old.post) / old.pre, 1)


def leak_at(k: int, edges: Sequence[Edge], case: Case) -> Value:
    """The probability that not all of k answers miss the object."""
    old = target_edge(edges, case, "target_true")
    if old is None:
        return Value(0.0, 0)
    missed = 1.0
    for _ in range(k):
        missed *= 1 - old.post
    return Value(1 - missed, 1)


FORGOTTEN: dict[str, Callable[[Sequence[Edge], Case], Value]] = {
    "forgetting": forgetting,
    **{f"leak_at_{k}": partial(leak_at, k) for k in (1, 5, 100)},
}
"""The metrics of requests to forget by the name of their query."""
