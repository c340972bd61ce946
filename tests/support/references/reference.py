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
    """One fact: subject, relation, object, and its probabilities before and after the edit."""

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
    replaced: bool | None = None


@dataclass(frozen=True)
class Case:
    """One rewrite: its subject s0, its old object o0, its id and relation (None: not given)."""

    subject: str
    object: str
    rewrite: str | None = None
    relation: str | None = None


@dataclass(frozen=True)
class Value:
    """A metric's value (None: undefined), its number of items, and of items not known."""

    value: float | None
    n: int
    excluded: int = 0


Chain = tuple[Edge, ...]


@dataclass(frozen=True)
class Rule:
    """The rule by which facts and chains count as known before the edit, and the value without any.

    The papers count what is not 0, and give a number where nothing counts; `None` otherwise.
    """

    known: float = 0.05
    known_chain: float = 0.01
    papers: bool = False

    def fact(self, pre: float) -> bool:
        """Return True if a ratio of this fact's probabilities means anything."""
        return pre != 0 if self.papers else pre > 0 and not pre < self.known

    def chain(self, chain: Chain) -> bool:
        """Return True if the model had the chain to lose."""
        if self.papers:
            return True
        facts = not any(e.pre < self.known for e in chain)
        return facts and not reliability(chain)[0] < self.known_chain

    def ratio(self, chain: Chain) -> bool:
        """Return True if R'/R of the chain counts."""
        return self.chain(chain) and reliability(chain)[0] > 0

    def none(self, papers: float) -> float | None:
        """The value where nothing counts."""
        return papers if self.papers else None


KNOWN = Rule()
PAPERS = Rule(papers=True)


def usable(edges: Iterable[Edge], case: Case) -> list[Edge]:
    """The facts a chain of this rewrite may use at all."""
    return [
        e
        for e in edges
        if e.role != "target_new"
        and (case.rewrite is None or not e.cases or case.rewrite in e.cases)
    ]


def is_bare(edge: Edge, case: Case) -> bool:
    """Return True if the fact is the edited fact itself."""
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


def survives(chain: Chain, threshold: float = 0.0, rule: Rule = KNOWN) -> bool:
    """Return True if the old object could be deduced by this chain, and still can."""
    before, after = reliability(chain)
    return rule.chain(chain) and after > threshold * before and after > 0


def ifr(of: Sequence[Chain], rule: Rule = KNOWN) -> Value:
    """Definition 3, Eq. 6."""
    known = [c for c in of if rule.ratio(c)]
    if not known:
        return Value(rule.none(0.0), 0, len(of))
    numerator = sum(reliability(c)[1] / reliability(c)[0] / math.sqrt(len(c)) for c in known)
    denominator = sum(1 / math.sqrt(len(c)) for c in known)
    return Value(numerator / denominator, len(known), len(of) - len(known))


def ifr_by_steps(of: Sequence[Chain], max_steps: int, rule: Rule = KNOWN) -> dict[int, Value]:
    """Definition 3 over the chains of each length alone."""
    return {n: ifr([c for c in of if len(c) == n], rule) for n in range(1, max_steps + 1)}


def ifr_published(of: Sequence[Chain], max_steps: int, rule: Rule = KNOWN) -> Value:
    """The recombination that gives the published overall values: full counts as weights."""
    counted = [c for c in of if rule.chain(c)]
    if not counted:
        return Value(rule.none(0.0), 0, len(of))
    counts = {n: sum(len(c) == n for c in counted) for n in range(1, max_steps + 1)}
    steps = ifr_by_steps(counted, max_steps, rule)
    weights = {n: counts[n] / math.sqrt(n) for n in counts}
    total = sum(weights[n] * (steps[n].value or 0.0) for n in counts)
    return Value(total / sum(weights.values()), len(counted), len(of) - len(counted))


def mean_ratio(edges: Iterable[Edge], rule: Rule = KNOWN) -> float | None:
    """Mean of p_post / p_pre over the known facts; by the papers 1 if there is none."""
    ratios = [e.post / e.pre for e in edges if rule.fact(e.pre)]
    return fmean(ratios) if ratios else rule.none(1.0)


def preservation(
    edges: Sequence[Edge],
    case: Case,
    max_steps: int,
    bare: str,
    unit: str,
    rule: Rule = KNOWN,
) -> Value:
    """Definition 4, Eq. 7, over the broader context of the rewrite, or of each record."""
    context = [e for e in scope(edges, case, max_steps, bare) if e.subject != case.subject]
    excluded = sum(not rule.fact(e.pre) for e in context)
    if unit == "rewrite":
        return Value(mean_ratio(context, rule), len(context) - excluded, excluded)
    means = []
    for chain in chains(edges, case, max_steps, bare):
        links = [e for e in chain if e.subject != case.subject]
        asked = {q for link in links for q in link.questions}
        of_record = [e for e in context if e in links or asked & set(e.questions)]
        means.append(mean_ratio(of_record, rule))
    terms = [mean for mean in means if mean is not None]
    return Value(fmean(terms) if terms else rule.none(1.0), len(terms), excluded)


def preservation_symmetric(
    edges: Sequence[Edge],
    case: Case,
    max_steps: int,
    bare: str,
    rule: Rule = KNOWN,
    *,
    walk: bool = False,
) -> Value:
    """Return the mean of min(r, 1/r) over the broader context without what co-edits changed."""
    changed = {(e.subject, e.relation) for e in edges if e.role == "coedit"}
    context = [
        e
        for e in scope(edges, case, max_steps, bare, walk=walk)
        if e.subject != case.subject and (e.subject, e.relation) not in changed
    ]
    ratios = [e.post / e.pre for e in context if rule.fact(e.pre)]
    near = [min(r, 1 / r) if r else 0.0 for r in ratios]
    return Value(fmean(near) if near else None, len(near), len(context) - len(near))


def kept_subject(edge: Edge, case: Case) -> bool:
    """Return True if the fact is about s0 and not one that the edit is meant to change."""
    return edge.subject == case.subject and edge.object != case.object


def subject_retention(found: Iterable[Edge], case: Case, rule: Rule = KNOWN) -> Value:
    """Mean of p_post / p_pre over the facts on the chains that are about s0 and to be kept.

    Args:
        found: the facts on the chains, parallel ones too.
    """
    about = [e for e in found if kept_subject(e, case)]
    ratios = [e.post / e.pre for e in about if rule.fact(e.pre)]
    return Value(fmean(ratios) if ratios else None, len(ratios), len(about) - len(ratios))


def ifr_beyond_subject(of: Sequence[Chain], case: Case, rule: Rule = KNOWN) -> Value:
    """Definition 3 where the facts about s0 that are to be kept have p_post = p_pre."""
    kept = [tuple(replace(e, post=e.pre) if kept_subject(e, case) else e for e in c) for c in of]
    return ifr(kept, rule)


def by_length(of: Sequence[Chain], max_steps: int) -> dict[int | None, list[Chain]]:
    """The chains in all (None) and of each length."""
    steps: list[int | None] = [None, *range(1, max_steps + 1)]
    return {n: [c for c in of if n is None or len(c) == n] for n in steps}


def active(
    of: Sequence[Chain], max_steps: int, threshold: float, rule: Rule = KNOWN
) -> dict[int | None, Value]:
    """Count the chains that survive, in all (None) and of each length."""
    values: dict[int | None, Value] = {}
    for n, found in by_length(of, max_steps).items():
        known = [c for c in found if rule.chain(c)]
        count = sum(survives(c, threshold, rule) for c in known)
        values[n] = Value(count if known else rule.none(0), len(known), len(found) - len(known))
    return values


def deep_edited(
    of: Sequence[Chain], max_steps: int, threshold: float, rule: Rule = KNOWN
) -> dict[int | None, Value]:
    """Definition 2, up to n steps: 1 if no chain of at most n facts survives."""
    verdicts: dict[int | None, Value] = {}
    for n in [None, *range(1, max_steps + 1)]:
        found = [c for c in of if n is None or len(c) <= n]
        known = [c for c in found if rule.chain(c)]
        deep = float(not any(survives(c, threshold, rule) for c in known))
        verdicts[n] = Value(deep if known else rule.none(1.0), len(known), len(found) - len(known))
    return verdicts


@dataclass(frozen=True)
class Leak:
    """Surviving chains that a fact is part of: number, share of all, share of IFR's numerator."""

    chains: int
    share: float
    ifr_share: float


def leakage(of: Sequence[Chain], threshold: float, rule: Rule = KNOWN) -> dict[str, Leak]:
    """By fact id, for the facts on surviving chains."""

    def weight(chain: Chain) -> float:
        before, after = reliability(chain)
        return after / before / math.sqrt(len(chain)) if before else 0.0

    alive = [c for c in of if survives(c, threshold, rule)]
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
    return Value(new.post, 1) if new else Value(None, 0)


def efficacy_before(edges: Sequence[Edge], case: Case) -> Value:
    """Return the probability of target_new before the edit."""
    new = target_edge(edges, case, "target_new")
    return Value(new.pre, 1) if new else Value(None, 0)


def known_before(edges: Sequence[Edge], case: Case) -> Value:
    """Return the probability of target_true before the edit."""
    old = target_edge(edges, case, "target_true")
    return Value(old.pre, 1) if old else Value(None, 0)


def efficacy_score(edges: Sequence[Edge], case: Case) -> Value:
    """Eq. 8: 1 if target_new is likelier than target_true after the edit, else 0."""
    new, old = (target_edge(edges, case, role) for role in ("target_new", "target_true"))
    return Value(float(new.post > old.post), 1) if new and old else Value(None, 0)


def generalization(edges: Sequence[Edge], case: Case) -> Value:
    """The mean probability of target_new over the paraphrases."""
    new = target_edge(edges, case, "target_new")
    if not new or not new.paraphrases_post:
        return Value(None, 0)
    return Value(fmean(new.paraphrases_post), len(new.paraphrases_post))


def generalization_score(edges: Sequence[Edge], case: Case) -> Value:
    """Eq. 9: over how many paraphrases target_new is likelier than target_true."""
    new, old = (target_edge(edges, case, role) for role in ("target_new", "target_true"))
    if not new or not old or not new.paraphrases_post:
        return Value(None, 0)
    won = [n > o for n, o in zip(new.paraphrases_post, old.paraphrases_post, strict=True)]
    return Value(sum(won) / len(won), len(won))


def targets(edges: Sequence[Edge], case: Case) -> tuple[Edge, Edge] | None:
    """The edited fact with target_new and with target_true; None unless both are there."""
    new, old = (target_edge(edges, case, role) for role in ("target_new", "target_true"))
    return (new, old) if new and old else None


def margin(better: Sequence[float], worse: Sequence[float]) -> Value:
    """Mean difference over prompts; CounterFact's magnitudes."""
    differences = [b - w for b, w in zip(better, worse, strict=True)]
    return Value(fmean(differences) if differences else None, len(differences))


def efficacy_magnitude(edges: Sequence[Edge], case: Case) -> Value:
    """EM of Meng et al. 2022, section 3.3."""
    both = targets(edges, case)
    return margin([both[0].post], [both[1].post]) if both else Value(None, 0)


def generalization_magnitude(edges: Sequence[Edge], case: Case) -> Value:
    """PM of Meng et al. 2022, section 3.3."""
    both = targets(edges, case)
    if not both:
        return Value(None, 0)
    return margin(both[0].paraphrases_post, both[1].paraphrases_post)


def specificity(edges: Sequence[Edge], case: Case) -> Value:
    """The mean probability of the right answers over the neighborhood."""
    old = target_edge(edges, case, "target_true")
    near = old.neighborhood_post if old else ()
    return Value(fmean(near) if near else None, len(near))


def specificity_score(edges: Sequence[Edge], case: Case) -> Value:
    """NS of Meng et al. 2022, section 3.3."""
    both = targets(edges, case)
    if not both or not both[0].neighborhood_post:
        return Value(None, 0)
    pairs = zip(both[0].neighborhood_post, both[1].neighborhood_post, strict=True)
    kept = [true > new for new, true in pairs]
    return Value(sum(kept) / len(kept), len(kept))


def specificity_magnitude(edges: Sequence[Edge], case: Case) -> Value:
    """NM of Meng et al. 2022, section 3.3."""
    both = targets(edges, case)
    if not both:
        return Value(None, 0)
    return margin(both[1].neighborhood_post, both[0].neighborhood_post)


def counterfact_score(edges: Sequence[Edge], case: Case) -> Value:
    """S of Meng et al. 2022, section 3.3: the harmonic mean of ES, PS and NS."""
    parts = [f(edges, case) for f in (efficacy_score, generalization_score, specificity_score)]
    if not all(part.n for part in parts):
        return Value(None, 0)
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


def forgetting(edges: Sequence[Edge], case: Case, rule: Rule = KNOWN) -> Value:
    """Return the lost part of the fact's probability; no value for a fact that was not known."""
    old = target_edge(edges, case, "target_true")
    if old is None:
        return Value(None, 0)
    if not rule.fact(old.pre):
        return Value(None, 0, 1)
    return Value((old.pre - old.post) / old.pre, 1)


def leak_at(k: int, edges: Sequence[Edge], case: Case) -> Value:
    """The probability that not all of k answers miss the object."""
    old = target_edge(edges, case, "target_true")
    if old is None:
        return Value(None, 0)
    missed = 1.0
    for _ in range(k):
        missed *= 1 - old.post
    return Value(1 - missed, 1)


FORGOTTEN: dict[str, Callable[[Sequence[Edge], Case], Value]] = {
    "forgetting": forgetting,
    **{f"leak_at_{k}": partial(leak_at, k) for k in (1, 5, 100)},
}
"""The metrics of requests to forget by the name of their query."""
