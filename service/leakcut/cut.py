"""The leak cut of a scored edit or of a rewrite: read, solve, describe."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..base.errors import NotFoundError
from ..models.leakcut import CutFact, CutIn, CutOut, OpenPath
from . import budget, hitting_set
from .hitting_set import Chain, Cut, Problem, ProofProblem
from .keys import Keys, by_subject, collateral
from .leaks import Leaks

Kind = Literal["measured", "subject", "off"]


@dataclass(frozen=True)
class Constraints:
    """The limits of a choice, and the costs of its facts.

    Attributes:
        locked: facts that may not be edited, with the reason.
        groups: at most one fact of each may be.
        kind: how the groups were found.
    """

    locked: Mapping[str, str]
    groups: tuple[frozenset[str], ...]
    costs: Mapping[str, float]
    collateral: Mapping[str, float]
    near: Mapping[str, tuple[str, ...]]
    kind: Kind

    def problem(self, chains: Iterable[Chain], efficacy: float = 1.0) -> Problem:
        """The problem of closing these chains."""
        found = tuple(chains)
        facts = {fact for chain in found for fact in chain.facts}
        return Problem(
            found,
            costs=self.costs,
            locked=frozenset(self.locked),
            groups=self.groups,
            efficacy=dict.fromkeys(facts, efficacy),
        )


def leak_cut(
    leaks: Leaks,
    options: CutIn,
    *,
    keys: Keys | None = None,
    kind: Kind | None = None,
    proofs: ProofProblem | None = None,
) -> CutOut:
    """The cheapest facts whose change closes every leaking path, and breaks every proof.

    Args:
        proofs: by rules; their facts must be among those of `leaks`. Then no other cuts are listed.
        keys: measured keys; None: by subject, or none, as `kind` says.
        kind: None: off without keys, measured with them.

    Raises:
        NotFoundError: a locked fact that is on no path.
        UsageError: a time too short to find any cut.
    """
    begun = time.perf_counter()
    limits = constraints(leaks, options, keys=keys, kind=kind)
    chains = leaks.leaking(options.leak)
    problem = limits.problem(chains, options.efficacy)
    best, others = _solved(problem, options, proofs)
    seconds = time.perf_counter() - begun
    counted = limits.problem(leaks.counted, options.efficacy)
    score, measure = leaks.score, leaks.measure
    return CutOut(
        edit=score.edit if score else None,
        graph=leaks.dataset,
        rewrite=leaks.rewrite,
        subject=leaks.ends[0],
        relation=leaks.relation,
        target_true=leaks.ends[1],
        target_new=leaks.target_new,
        model=score.model if score else None,
        method=score.method if score else None,
        measure=measure,
        options=options,
        paths=len(leaks.further),
        known=len(leaks.known),
        leaking=len(chains),
        chains=len({path.entities for path in leaks.further}),
        chains_leaking=_n_chains(chains),
        surviving=_surviving(leaks),
        ifr=score.number("ifr", measure) if score and measure else None,
        expected=counted.leakage(best.facts) if score and counted.chains else None,
        facts=described(leaks, limits, chains, best, options.efficacy),
        cost=best.cost,
        bound=best.bound,
        optimal=best.complete and best.gap == 0,
        seconds=seconds,
        keys=limits.kind,
        open=_open(best, limits, leaks, restored=proofs is not None),
        alternatives=[list(other.facts) for other in others],
        more=len(others) == options.alternatives and options.alternatives > 0,
    )


def _n_chains(paths: Iterable[Chain]) -> int:
    """The number of chains that these paths are of: parallel facts make no chain of their own."""
    return len({path.name for path in paths})


def _surviving(leaks: Leaks) -> int | None:
    """The number of chains that survive, as the score counts them."""
    if leaks.score is None or leaks.measure is None:
        return None
    found = leaks.score.number("active_chains", leaks.measure)
    return None if found is None else round(found)


def _solved(problem: Problem, options: CutIn, proofs: ProofProblem | None) -> tuple[Cut, list[Cut]]:
    """The cut, and others of its cost."""
    if proofs is not None:
        return hitting_set.cut_with_rules(proofs.within(problem), limit_s=options.seconds), []
    best = hitting_set.cut(problem, limit_s=options.seconds)
    return best, list(hitting_set.alternatives(problem, best, most=options.alternatives))


def constraints(
    leaks: Leaks,
    options: CutIn,
    *,
    keys: Keys | None = None,
    kind: Kind | None = None,
    edited: Collection[str] = (),
) -> Constraints:
    """Locks, groups and costs of the facts on the paths.

    Args:
        edited: facts that were edited in earlier rounds: they are not chosen again, nor is another
            fact of their key.

    Raises:
        NotFoundError: as `leak_cut`.
    """
    kind = _kind(options, keys, kind)
    # Collateral is counted without a key constraint too, then by subject.
    shared = keys if keys is not None else by_subject(leaks.records)
    subject = leaks.ends[0]
    about = leaks.about(subject)
    locked = dict.fromkeys(leaks.edited, "it states the edited fact")
    locked |= dict.fromkeys(edited, "it was edited before")
    if options.only_subject:
        locked |= dict.fromkeys(leaks.facts.keys() - about, f"it is not about {subject}")
    if options.not_subject:
        locked |= dict.fromkeys(about, f"it is about {subject}")
    if kind != "off":
        taken = {*leaks.edited, *edited}
        closed = {g for group in shared.groups if group & taken for g in group}
        if not leaks.edited:
            closed |= about
        for fact in closed - locked.keys():
            locked[fact] = "it shares its key with an edited fact"
    for name in options.lock:
        locked |= dict.fromkeys(_named(leaks, name), "it is locked")
    pre = {fact: _known(leaks.pre(fact)) for fact in leaks.facts}
    beside = collateral(shared, pre)
    costs = {
        fact: (1 + options.collateral * beside.get(fact, 0.0)) / options.efficacy
        for fact in leaks.facts
    }
    groups = shared.groups if kind != "off" else ()
    return Constraints(locked, groups, costs, beside, shared.near, kind)


def _named(leaks: Leaks, name: str) -> Collection[str]:
    """The fact of an id, or all facts about an entity."""
    if name in leaks.facts:
        return (name,)
    about = leaks.about(name)
    if not about:
        known = {*leaks.facts, *(row.subject for row in leaks.facts.values())}
        place = f"thinkeval lab leakcut {leaks.rewrite} -g {leaks.dataset} --json"
        if leaks.score:
            place = f"thinkeval results chains {leaks.score.edit}"
        raise NotFoundError(
            "fact on the chains, or subject of one,", name, known, listing=place
        )  # fmt: skip
    return about


def _kind(options: CutIn, keys: Keys | None, kind: Kind | None) -> Kind:
    if options.keys == "off":
        return "off"
    if options.keys == "subject":
        return "subject"
    return kind or ("measured" if keys is not None else "off")


def _known(value: float | None) -> float:
    """A probability; of an unedited graph each fact counts as known."""
    return 1.0 if value is None else value


def described(
    leaks: Leaks, limits: Constraints, chains: Collection[Chain], best: Cut, efficacy: float
) -> list[CutFact]:
    """The facts of a cut: in turn the one that lowers IFR most after those above it.

    Of an unedited graph those that close most paths first.
    """
    whole = sum(chain.weight * chain.retention for chain in leaks.counted)
    chosen = set(best.facts)
    out = []
    for fact in best.facts:
        row = leaks.facts[fact]
        through = [chain for chain in chains if fact in chain.facts]
        share = sum(c.weight * c.retention for c in leaks.counted if fact in c.facts)
        out.append(
            CutFact(
                id=fact,
                subject=row.subject,
                relation=row.relation,
                object=row.object,
                prompt=row.prompt,
                pre=leaks.pre(fact),
                post=leaks.post(fact),
                says_pre=row.says_pre,
                says_post=row.says_post,
                closes=_n_chains(through),
                alone=_n_chains(c for c in through if c.facts & chosen == {fact}),
                share=share / whole if leaks.score and whole else None,
                collateral=limits.collateral.get(fact, 0.0),
                n_collateral=len(limits.near.get(fact, ())),
                cost=limits.costs[fact],
            )
        )
    out.sort(key=lambda one: (-one.closes, one.id))
    return _in_turn(out, limits.problem(leaks.counted, efficacy)) if leaks.score else out


def _in_turn(facts: Sequence[CutFact], problem: Problem) -> list[CutFact]:
    """The facts as they are to be edited, each with the IFR that is expected after it."""
    order = budget.greedy(_only(problem, [fact.id for fact in facts]), len(facts))
    place = {fact: number for number, fact in enumerate(order)}
    found = sorted(facts, key=lambda one: place.get(one.id, len(place)))
    names = [fact.id for fact in found]
    return [
        fact.model_copy(update={"expected": problem.leakage(names[:number])})
        for number, fact in enumerate(found, 1)
    ]


def _only(problem: Problem, facts: Collection[str]) -> Problem:
    """The same problem with these facts to choose from."""
    others = frozenset(problem.facts).difference(facts)
    return replace(problem, locked=problem.locked | others)


def _open(best: Cut, limits: Constraints, leaks: Leaks, *, restored: bool) -> list[OpenPath]:
    """Return the paths and proofs that stay, each with the reason why it cannot be closed.

    Args:
        restored: rules may restore facts.
    """
    out = []
    by_key = ["a fact of the same key is in the cut"] if limits.groups or not restored else []
    by_rules = ["rules restore its other facts"] if restored else []
    for chain in best.open:
        reasons = sorted({limits.locked.get(fact, "") for fact in chain.facts} - {""})
        free = chain.facts - limits.locked.keys()
        if free:
            reasons.append(" or ".join((*by_key, *by_rules)))
        path = next((p for p in leaks.further if frozenset(p.facts) == chain.facts), None)
        why = "; ".join(reasons)
        if path is None:
            out.append(OpenPath(entities=[], facts=sorted(chain.facts), why=f"{chain.name}: {why}"))
        else:
            out.append(OpenPath(entities=list(path.entities), facts=list(path.facts), why=why))
    return out
