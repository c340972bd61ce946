"""The leak cut over chains and proofs by If-Then rules: an AND-OR graph, cut exactly.

An atom holds if a fact states it or all premises of one of its inferences hold (OR over inferences,
AND over premises). A chain is an inference of the target from its facts. With x_f = 1 for a fact to
edit and d_a for "a can be derived":

    min Σ c_f x_f    d_a + x_f ≥ 1 for f stating a    d_a ≥ Σ_{p ∈ P} d_p − |P| + 1    d_target = 0

Cycles of rules need no care: every solution of the rows holds at least the derivable atoms. With a
limit on the facts of a proof each atom has one variable for each number of facts k:
d_{a, i + j} ≥ d_{p, i} + d_{q, j} − 1. A fact that a proof uses twice counts twice.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ..errors import UsageError
from .hitting_set import LIMIT_S, Cut
from .milp import TIGHT, Program, Solved
from .problem import Chain, Fact, Problem

Atom = Hashable
"""Statement of a fact or conclusion of a rule, as (subject, relation, object)."""


@dataclass(frozen=True, slots=True)
class Inference:
    """All premises together entail the conclusion: a grounding of a rule, or a chain.

    Attributes:
        premises: one or more.
        weight: of a proof of the target that ends with it, where not all can be broken.
        name: for messages.
    """

    premises: tuple[Atom, ...]
    conclusion: Atom
    weight: float = 1.0
    name: str = ""


@dataclass(frozen=True, slots=True)
class Derived:
    """The derivation of an atom from the fewest facts.

    Attributes:
        leaves: their number; a fact that is used twice counts twice.
        by: the last inference; None: a fact states it.
    """

    leaves: int
    by: Inference | None


@dataclass(frozen=True)
class ProofProblem:
    """The proofs to break, and the facts that may break them.

    Attributes:
        target: must not be derivable. Facts that state it are those edited anyway: left out.
        facts: {fact: the atom it states}; a fact of a chain that is absent states one of its own.
        groundings: of the rules.
        chains: to be cut too.
        most: facts of the largest proof that is to be broken; None: of any size.
        costs, locked, groups: as those of a `Problem`.
    """

    target: Atom
    facts: Mapping[Fact, Atom]
    groundings: tuple[Inference, ...]
    chains: tuple[Chain, ...] = ()
    most: int | None = None
    costs: Mapping[Fact, float] = field(default_factory=dict)
    locked: frozenset[Fact] = frozenset()
    groups: tuple[frozenset[Fact], ...] = ()

    def within(self, limits: Problem, *, most: int | None = None) -> ProofProblem:
        """Return the problem with the chains, costs, locks and groups of a choice of facts."""
        return replace(
            self,
            chains=limits.chains,
            most=most,
            costs=limits.costs,
            locked=limits.locked,
            groups=limits.groups,
        )

    @cached_property
    def stated(self) -> dict[Fact, Atom]:
        """The atom that each fact states, those of the chains too, without the target."""
        own = {fact: fact for chain in self.chains for fact in sorted(chain.facts)}
        return {f: atom for f, atom in {**own, **self.facts}.items() if atom != self.target}

    @cached_property
    def inferences(self) -> tuple[Inference, ...]:
        """The groundings, then the chains; circular ones left out.

        The smallest proof of the target does not pass the target.
        """
        found = [
            one
            for one in self.groundings
            if self.target not in one.premises and one.conclusion not in one.premises
        ]
        for chain in self.chains:
            atoms = [self.stated[fact] for fact in sorted(chain.facts) if fact in self.stated]
            # A chain through a fact that states the target is broken anyway.
            if len(atoms) == len(chain.facts):
                found.append(Inference(tuple(atoms), self.target, chain.weight, chain.name))
        return tuple(dict.fromkeys(found))

    @cached_property
    def atoms(self) -> frozenset[Atom]:
        """All atoms of the AND-OR graph, with the target."""
        used = {a for one in self.inferences for a in (*one.premises, one.conclusion)}
        return frozenset({*self.stated.values(), *used, self.target})

    @property
    def limit(self) -> float:
        """Facts of the largest proof that counts."""
        return math.inf if self.most is None else self.most

    def derive(self, edited: Collection[Fact] = ()) -> dict[Atom, Derived]:
        """All atoms that can be derived after editing facts, each from the fewest others.

        The limit does not hold here: compare `leaves` with it.
        """
        gone = frozenset(edited)
        start = [atom for fact, atom in self.stated.items() if fact not in gone]
        return derive(start, self.inferences)

    def survivors(self, edited: Collection[Fact]) -> list[Chain]:
        """The proofs of the target that stay after editing facts, the smallest by last inference.

        Of each chain or grounding of the target whose premises still hold, within the limit.
        """
        gone = frozenset(edited)
        known = self.derive(gone)
        facts: dict[Atom, Fact] = {}
        for fact, atom in self.stated.items():
            if fact not in gone:
                facts.setdefault(atom, fact)
        found = []
        for last in self.inferences:
            if last.conclusion == self.target and _holds(last, known, self.limit):
                leaves = frozenset(facts[atom] for atom in _leaves(last.premises, known))
                found.append(Chain(leaves, last.weight, name=last.name))
        return found

    def reduced(self) -> ProofProblem:
        """Return the problem reduced to the proofs of the target; chains are inferences too."""
        known = self.derive()
        into: dict[Atom, list[Inference]] = defaultdict(list)
        for one in self.inferences:
            if _holds(one, known, self.limit):
                into[one.conclusion].append(one)
        seen: set[Atom] = {self.target}
        level: list[Atom] = [self.target]
        while level:
            below = dict.fromkeys(p for a in level for one in into[a] for p in one.premises)
            level = [atom for atom in below if atom not in seen]
            seen |= set(level)
        kept = {one for atom in seen for one in into[atom]}
        return replace(
            self,
            facts={fact: atom for fact, atom in self.stated.items() if atom in seen},
            groundings=tuple(one for one in self.inferences if one in kept),
            chains=(),
        )


def derive(stated: Iterable[Atom], inferences: Sequence[Inference]) -> dict[Atom, Derived]:
    """Everything that follows from stated atoms, each by a proof of the fewest facts.

    The least number of facts is settled in increasing order (Knuth 1977).
    """
    needs: dict[Atom, list[int]] = defaultdict(list)
    missing = [len(set(one.premises)) for one in inferences]
    for i, one in enumerate(inferences):
        for premise in dict.fromkeys(one.premises):
            needs[premise].append(i)
    found: dict[Atom, Derived] = {}
    heap: list[tuple[int, int, int, Atom, Inference | None]] = []
    for order, atom in enumerate(dict.fromkeys(stated)):
        heap.append((1, 0, order, atom, None))
    heapq.heapify(heap)
    while heap:
        leaves, _, _, atom, by = heapq.heappop(heap)
        if atom in found:
            continue
        found[atom] = Derived(leaves, by)
        for i in needs[atom]:
            missing[i] -= 1
            if not missing[i] and inferences[i].conclusion not in found:
                one = inferences[i]
                size = sum(found[premise].leaves for premise in one.premises)
                heapq.heappush(heap, (size, 1, i, one.conclusion, one))
    return found


def cut(problem: ProofProblem, *, limit_s: float = LIMIT_S) -> Cut:
    """The cheapest facts without which the target has no proof; `open`: proofs that must stay.

    Where locks and groups leave some, the choice breaks as much weight of last inferences as
    possible, then at the lowest cost; the leaves of each open one are named.

    Raises:
        UsageError: the time was too short to find any, or a cost is not positive.
    """
    small = problem.reduced()
    if not small.survivors(()):
        return Cut((), 0.0, 0.0)
    model = _Model(small)
    return model.solve(limit_s) or model.solve_softly(limit_s)


class _Model:
    """Variables: a fact to edit, an atom (by number of facts), a last inference that may stay."""

    def __init__(self, problem: ProofProblem) -> None:
        self.problem = problem
        self.facts = sorted(problem.stated.keys() - problem.locked)
        self.place: dict[Hashable, int] = {("x", f): i for i, f in enumerate(self.facts)}
        self.costs = [problem.costs.get(fact, 1.0) for fact in self.facts]
        if any(cost <= 0 for cost in self.costs):
            raise UsageError("A fact's cost must be positive.", remedy="Use weights above 0.")
        self.known = problem.derive()
        self.last = [
            one
            for one in problem.inferences
            if one.conclusion == problem.target and _holds(one, self.known, problem.limit)
        ]

    def solve(self, limit_s: float) -> Cut | None:
        """Return the cheapest cut; None without one."""
        if self.problem.survivors(self.facts):
            return None  # a proof of locked facts
        program = self._program(soft=False)
        solved = program.solve(self._objective(self.costs), limit_s)
        return None if solved is None else self._cut(solved)

    def solve_softly(self, limit_s: float) -> Cut:
        """The cheapest of the choices that break most weight; each step takes half of the time."""
        program = self._program(soft=True)
        least = min(one.weight for one in self.last)
        weights = [one.weight / least for one in self.last]
        stays = {self.place["y", i]: weight for i, weight in enumerate(weights)}
        price = np.zeros(len(self.place))
        price[list(stays)] = weights
        first = program.solve(price, limit_s / 2)
        assert first is not None  # all proofs may stay
        open_ = self.problem.survivors(self._chosen(first))
        program.at_most(stays, sum(one.weight for one in open_) / least + TIGHT)
        try:
            second = program.solve(self._objective(self.costs), limit_s / 2)
        except UsageError:
            second = None
        if second is None:
            return self._cut(Solved(first.values, 0.0, False))
        return self._cut(replace(second, complete=first.complete and second.complete))

    def _program(self, *, soft: bool) -> Program:
        program = Program()
        for fact, atom in self.problem.stated.items():
            row = {self._of("d", atom, self._level(1)): 1.0}
            if fact not in self.problem.locked:
                row[self.place["x", fact]] = 1.0
            program.at_least(row, 1)
        place = {id(one): i for i, one in enumerate(self.last)}
        for one in self.problem.inferences:
            for levels in self._sizes(one.premises):
                parts = set(zip(one.premises, levels, strict=True))
                row = {self._of("d", *part): -1.0 for part in sorted(parts, key=repr)}
                if one.conclusion != self.problem.target:
                    row[self._of("d", one.conclusion, sum(levels))] = 1.0
                elif soft:
                    row[self._of("y", place[id(one)])] = 1.0
                program.at_least(row, 1 - len(parts))
        for group in self.problem.groups:
            row = {self.place["x", fact]: 1.0 for fact in group if ("x", fact) in self.place}
            if len(row) > 1:
                program.at_most(row, 1)
        program.integral = [i < len(self.facts) for i in range(len(self.place))]
        return program

    def _level(self, leaves: int) -> int:
        return 0 if self.problem.most is None else leaves

    def _sizes(self, premises: Sequence[Atom]) -> Iterator[tuple[int, ...]]:
        """Yield the possible numbers of facts a premise's proof has; 0 for all without a limit."""
        if any(premise not in self.known for premise in premises):
            return
        if self.problem.most is None:
            yield (0,) * len(premises)
            return
        fewest = [self.known[premise].leaves for premise in premises]
        yield from _compositions(fewest, self.problem.most)

    def _of(self, *name: Hashable) -> int:
        return self.place.setdefault(name, len(self.place))

    def _objective(self, costs: Sequence[float]) -> np.ndarray:
        return np.array([*costs, *np.zeros(len(self.place) - len(costs))])

    def _chosen(self, solved: Solved) -> tuple[Fact, ...]:
        values = zip(self.facts, solved.values, strict=False)
        return tuple(fact for fact, value in values if value > 0.5)

    def _cut(self, solved: Solved) -> Cut:
        chosen = self._chosen(solved)
        cost = sum(self.problem.costs.get(fact, 1.0) for fact in chosen)
        bound = cost if solved.complete else min(cost, solved.bound)
        return Cut(chosen, cost, bound, tuple(self.problem.survivors(chosen)), solved.complete)


def _compositions(fewest: Sequence[int], most: int) -> Iterator[tuple[int, ...]]:
    """Numbers of at least `fewest` each, and at most `most` together."""
    if not fewest:
        yield ()
        return
    spare = most - sum(fewest)
    for first in range(fewest[0], fewest[0] + spare + 1):
        for rest in _compositions(fewest[1:], most - first):
            yield (first, *rest)


def _holds(one: Inference, known: Mapping[Atom, Derived], limit: float) -> bool:
    """Return True if all premises can be derived, together from few enough facts."""
    if any(premise not in known for premise in one.premises):
        return False
    return sum(known[premise].leaves for premise in one.premises) <= limit


def _leaves(atoms: Iterable[Atom], known: Mapping[Atom, Derived]) -> list[Atom]:
    """The atoms that facts state in the smallest proofs."""
    seen = dict.fromkeys(atoms)
    todo = list(seen)
    found = []
    while todo:
        atom = todo.pop()
        by = known[atom].by
        if by is None:
            found.append(atom)
            continue
        below = [premise for premise in dict.fromkeys(by.premises) if premise not in seen]
        seen |= dict.fromkeys(below)
        todo += below
    return found
