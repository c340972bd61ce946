"""The leak cut of a scored edit or of a rewrite: read, solve, describe."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ...cypher import rows
from ...loaders.groundings import groundings as instances
from ..base.errors import NotFoundError, UsageError
from ..graphs.datasets import require_graph
from ..models.leakcut import CutFact, CutIn, CutOut, OpenPath
from ..rules.closure import HEIGHT_OF_PROOF, triple_of
from ..rules.groundings import rules_for
from ..rules.schemas import ClosureOptions, Triple, factors
from . import budget, hitting_set
from . import hitting_set as and_or
from .hitting_set import Chain, Cut, Fact, Inference, Problem, ProofProblem
from .keys import Keys, by_subject, collateral
from .leaks import Leaks

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..rules.store import StoredRule


# The groundings by which If-Then rules can prove an edited fact, as the AND-OR graph takes them.
#
# They are found backwards from the fact and from every fact of its chains, as rules may restore
# one of these. Groundings that rules make to the depth are all used, also in taller proofs.

Goal = tuple[str | None, str, str | None]
"""Subject, relation, object; None for any."""

ROLES = ("fact", "target_true")
"""Roles of facts that a proof of the old fact may use, as its chains do."""


@dataclass(frozen=True)
class RuleProofs:
    """The proofs of an edited fact by rules.

    Attributes:
        target: the edited fact.
        rules: number of rules.
        facts: {id within the data set: triple} of those that a proof may use, and of the chains'.
        groundings: of the rules; `weight` is the rule's confidence.
    """

    target: Triple
    rules: int
    facts: Mapping[Fact, Triple]
    groundings: tuple[Inference, ...]

    def problem(self, limits: Problem, *, most: int | None = None) -> ProofProblem:
        """The cut of chains and proofs together.

        Args:
            limits: the chains, with costs, locks and groups of all facts.
            most: facts of the largest proof that is to be broken; None: of any size.
        """
        return ProofProblem(
            self.target,
            self.facts,
            self.groundings,
            limits.chains,
            most,
            limits.costs,
            limits.locked,
            limits.groups,
        )


def read(
    db: Database,
    leaks: Leaks,
    *,
    depth: int = HEIGHT_OF_PROOF,
    ids: Sequence[str] | None = None,
) -> RuleProofs:
    """The proofs by the kept rules of a data set, in an edit's graph or in the unedited one.

    Args:
        depth: of the groundings: premises above each other.
        ids: only these rules, of any status.

    Raises:
        NotFoundError: no rule with one of the ids.
        NothingStoredError: the data set has no kept rules.
    """
    graph = leaks.score.edit if leaks.score else leaks.dataset
    rules = rules_for(db, graph, ids=ids)
    target = (leaks.ends[0], leaks.relation, leaks.ends[1])
    own = {
        id: (row.subject, row.relation, row.object)
        for id, row in leaks.facts.items()
        if id not in leaks.edited
    }
    header = require_graph(db, graph, kind=None)
    atoms = db.read(
        rows.AtomRow, "closure/atoms", graph=graph, pre="likelihood_pre", post="likelihood_post"
    )
    factor = factors(rules, ClosureOptions())
    used = [stored for stored in rules if stored.id in factor]
    goals = _goals([target, *own.values()], used, depth)
    facts = {
        atom.id.removeprefix(f"{graph}|"): triple_of(atom)
        for atom in atoms
        if atom.role in ROLES and not goals.isdisjoint(_matching(triple_of(atom)))
    }
    triples = [*own.values(), *facts.values()]
    found = _groundings(triples, used, _kinds(db, graph, header.dataset), depth)
    groundings = tuple(
        Inference(premises, conclusion, factor[stored.id], stored.rule.text())
        for stored, premises, conclusion in found
    )
    return RuleProofs(target, len(rules), {**own, **facts}, groundings)


def _goals(ends: Iterable[Triple], rules: Sequence[StoredRule], depth: int) -> set[Goal]:
    """Return the premises, open at one end, by which rules conclude the ends, to the depth."""
    by_relation: dict[str, list[StoredRule]] = defaultdict(list)
    for stored in rules:
        by_relation[stored.rule.conclusion.relation].append(stored)
    level: set[Goal] = set(ends)
    seen = set(level)
    out: set[Goal] = set()
    for _ in range(depth):
        level = {open_ for g in level for open_ in _premises(g, by_relation[g[1]])} - seen
        seen |= level
        out |= level
    return out


def _premises(goal: Goal, rules: Iterable[StoredRule]) -> Iterable[Goal]:
    for stored in rules:
        one, other, _ = stored.rule.relations
        inverse1, inverse2 = stored.rule.inverse
        x, z = goal[0], goal[2]
        if other is None:
            yield (z, one, x) if inverse1 else (x, one, z)
            continue
        yield (None, one, x) if inverse1 else (x, one, None)
        yield (z, other, None) if inverse2 else (None, other, z)


def _matching(fact: Triple) -> set[Goal]:
    """Return the goals that a fact matches."""
    subject, relation, object_ = fact
    return {(s, relation, o) for s in (subject, None) for o in (object_, None)}


def _kinds(db: Database, graph: str, dataset: str) -> dict[str, str | None]:
    """Return {entity: its kind}, by default its kind in the data set."""
    typed = {e.name: e.kind for e in db.read(rows.EntityRow, "graph/entities", graph=dataset)}
    mine = db.read(rows.EntityRow, "graph/entities", graph=graph)
    return {e.name: e.kind or typed.get(e.name) for e in mine}


def _groundings(
    facts: Iterable[Triple],
    rules: Sequence[StoredRule],
    kinds: Mapping[str, str | None],
    depth: int,
) -> Iterable[tuple[StoredRule, tuple[Triple, ...], Triple]]:
    """Return rule, premises and conclusion of all groundings, to the depth.

    The stored closure is not used: its strengths by number of facts take minutes where rules make
    large cycles, and a cut needs none of them.
    """
    known = set(facts)
    found: dict[tuple[str, tuple[Triple, ...], Triple], StoredRule] = {}
    for _ in range(depth):
        by_relation: dict[str, list[Triple]] = defaultdict(list)
        for triple in known:
            by_relation[triple[1]].append(triple)
        new = set()
        for stored in rules:
            premises = dict.fromkeys(atom.relation for atom in stored.rule.premises)
            near = [triple for name in premises for triple in by_relation.get(name, ())]
            for one in instances(stored.rule, near, kinds):
                parts = (one.first,) if one.second is None else (one.first, one.second)
                found[stored.id, parts, one.conclusion] = stored
                new.add(one.conclusion)
        if new <= known:
            break
        known |= new
    return [(stored, premises, conclusion) for (_, premises, conclusion), stored in found.items()]


# The leak cut of a scored edit or of a rewrite: read, solve, describe.
#
# Costs, locks and keys make a `Problem` of the leaking paths; `hitting_set` solves it. The result
# names for each fact the paths that it closes and its side effects, and the open paths with
# reasons.

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
    proofs: RuleProofs | None = None,
) -> CutOut:
    """The cheapest facts whose change closes every leaking path, and breaks every proof.

    Args:
        proofs: by rules; their facts must be among those of `leaks`. Then no other cuts are listed.
        keys: measured keys; None: by subject, or none, as `kind` says.
        kind: None: off without keys, measured with them.

    Raises:
        NotFoundError: a locked fact that is on no path.
        UsageError: options that leave nothing to choose from, or a time too short to find any cut.
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


def _solved(problem: Problem, options: CutIn, proofs: RuleProofs | None) -> tuple[Cut, list[Cut]]:
    """The cut, and others of its cost."""
    if proofs is not None:
        return and_or.cut_with_rules(proofs.problem(problem), limit_s=options.seconds), []
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
        NotFoundError, UsageError: as `leak_cut`.
    """
    if options.only_subject and options.not_subject:
        raise UsageError(
            "Only facts about the subject, and none about it: no fact is left.",
            remedy="Leave out only_subject or not_subject.",
        )
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
        place = f"thinkeval leakcut {leaks.rewrite} -g {leaks.dataset} --json"
        if leaks.score:
            place = f"thinkeval chains {leaks.score.edit}"
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
