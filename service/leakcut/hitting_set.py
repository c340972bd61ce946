"""The exact leak cut: a minimum weighted hitting set, and an AND-OR graph with proofs."""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..base.errors import UsageError

# The leak cut as a minimum weighted hitting set over chains of limited length.
#
# Given the chains of a rewrite that leak, choose facts such that each chain holds one of them, at
# the lowest cost. It is not a minimum cut: chains are limited to n facts, so that a long detour
# need not be cut. Constraints: locked facts are never chosen, and of facts that share a key
# (methods that write at the subject's last token cannot edit them together) at most one is.

Fact = str
"""Id of a fact."""


@dataclass(frozen=True)
class Chain:
    """A chain that leaks.

    Attributes:
        facts: ids of its facts.
        weight: w_c = 1 / √n for n facts (ThinkEval, Definition 3).
        retention: t_c = R'_c / R_c.
        name: for messages.
    """

    facts: frozenset[Fact]
    weight: float = 1.0
    retention: float = 1.0
    name: str = ""


@dataclass(frozen=True)
class Problem:
    """The chains to cut, and the facts that may cut them.

    Attributes:
        chains: to be cut.
        costs: {fact: (1 + λ · collateral) / expected efficacy}; 1 where a fact is absent.
        locked: facts that are not to be edited.
        groups: facts of one key; at most one of each is chosen.
        efficacy: {fact: expected efficacy of editing it}; 1 where a fact is absent.
    """

    chains: tuple[Chain, ...]
    costs: Mapping[Fact, float] = field(default_factory=dict)
    locked: frozenset[Fact] = frozenset()
    groups: tuple[frozenset[Fact], ...] = ()
    efficacy: Mapping[Fact, float] = field(default_factory=dict)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts that may be chosen, sorted."""
        return tuple(sorted(set().union(*(c.facts for c in self.chains)) - self.locked))

    def cost(self, facts: Iterable[Fact]) -> float:
        """The cost of choosing these facts."""
        return sum(self.costs.get(fact, 1.0) for fact in facts)

    def allowed(self, facts: Collection[Fact]) -> bool:
        """Return True if the facts keep to locks and groups."""
        chosen = set(facts)
        return not chosen & self.locked and all(len(chosen & group) <= 1 for group in self.groups)

    def survivors(self, facts: Collection[Fact]) -> list[Chain]:
        """The chains that hold none of the facts."""
        chosen = set(facts)
        return [chain for chain in self.chains if not chain.facts & chosen]

    def leakage(self, facts: Collection[Fact]) -> float:
        """The IFR that is expected after editing these facts.

        Σ_c w_c t_c Π_{f ∈ c ∩ S} (1 − e_f) / Σ_c w_c; 0 without chains.
        """
        chosen, whole = set(facts), sum(chain.weight for chain in self.chains)
        total = 0.0
        for chain in self.chains:
            kept = chain.weight * chain.retention
            for fact in chain.facts & chosen:
                kept *= 1 - self.efficacy.get(fact, 1.0)
            total += kept
        return total / whole if whole else 0.0


def minimal(chains: Sequence[Chain]) -> list[frozenset[Fact]]:
    """The chains' sets of facts without those that hold another one: cutting that cuts both."""
    kept: list[frozenset[Fact]] = []
    for facts in sorted({chain.facts for chain in chains}, key=lambda f: (len(f), sorted(f))):
        if not any(other <= facts for other in kept):
            kept.append(facts)
    return kept


# A mixed-integer program over variables between 0 and 1, solved by SciPy (HiGHS).

TIGHT = 1e-6
"""Values that differ by less are equal; the solver's own tolerance is of this size."""


@dataclass(frozen=True)
class Solved:
    """A solution.

    Attributes:
        values: of the variables.
        bound: no solution costs less.
        complete: True if it is proved optimal; else the time ended.
    """

    values: np.ndarray
    bound: float
    complete: bool


@dataclass
class Program:
    """Constraints lower ≤ Σ coefficient · variable ≤ upper, as sparse rows.

    Attributes:
        rows: {variable: coefficient} of each constraint.
        integral: True if a variable is 0 or 1; None: all are. Others may take any value between.
    """

    rows: list[Mapping[int, float]] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    integral: Sequence[bool] | None = None

    def at_least(self, row: Mapping[int, float], bound: float) -> None:
        """Add a lower bound."""
        self._add(row, bound, np.inf)

    def at_most(self, row: Mapping[int, float], bound: float) -> None:
        """Add an upper bound."""
        self._add(row, -np.inf, bound)

    def solve(self, costs: np.ndarray, limit_s: float) -> Solved | None:
        """The cheapest values; None where none keep to the constraints.

        Raises:
            UsageError: the time was too short to find any.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp  # slow to import
        from scipy.sparse import csr_array

        places = [place for row in self.rows for place in row]
        numbers = [number for row in self.rows for number in row.values()]
        starts = np.cumsum([0, *(len(row) for row in self.rows)])
        matrix = csr_array((numbers, places, starts), shape=(len(self.rows), len(costs)))
        constraint: Any = LinearConstraint  # SciPy's stubs take no array as a bound
        result: Any = milp(
            costs,
            constraints=constraint(matrix, np.array(self.lower), np.array(self.upper)),
            bounds=Bounds(0, 1),
            integrality=np.ones(len(costs)) if self.integral is None else np.array(self.integral),
            options={"time_limit": limit_s, "mip_rel_gap": 0.0},
        )
        if result.x is not None:
            # Without a variable that is 0 or 1 it is a linear program, which has no other bound.
            bound = result.fun if result.mip_dual_bound is None else result.mip_dual_bound
            return Solved(result.x, float(bound), result.status == 0)
        if result.status == 2:  # infeasible
            return None
        raise UsageError(
            f"No cut was found in {limit_s:g} s ({result.message}).",
            remedy="Give more time, or shorter chains.",
        )

    def _add(self, row: Mapping[int, float], lower: float, upper: float) -> None:
        self.rows.append(row)
        self.lower.append(lower)
        self.upper.append(upper)


# The exact leak cut, by SciPy's mixed-integer solver (HiGHS), with a proof or the gap.
#
#     min Σ c_f x_f    Σ_{f ∈ c} x_f ≥ 1 for every chain    Σ_{f ∈ group} x_f ≤ 1    x_f ∈ {0, 1}
#
# Where locks and groups make that infeasible, the soft form cuts as much weight as possible, then
# at the lowest cost, and the open chains are named.

LIMIT_S = 10.0
"""Seconds that a solution may take, unless more are given."""

MOST = 10
"""Alternatives of the same cost that are listed at most."""


@dataclass(frozen=True)
class Cut:
    """Facts to edit.

    Attributes:
        facts: sorted.
        cost: of them.
        bound: no cut costs less.
        open: chains that stay, as locks and groups forbid every one of their cuts.
        complete: False where the time ended before the cut was proved optimal.
    """

    facts: tuple[Fact, ...]
    cost: float
    bound: float
    open: tuple[Chain, ...] = ()
    complete: bool = True

    @property
    def gap(self) -> float:
        """Largest excess of the cost over the least cost, relative to it; 0: proved."""
        return max(0.0, self.cost - self.bound) / max(self.bound, TIGHT) if self.facts else 0.0


def cut(problem: Problem, *, limit_s: float = LIMIT_S) -> Cut:
    """The cheapest facts that every chain holds one of; of chains that no cut reaches, `open`.

    Raises:
        UsageError: the time was too short to find any.
    """
    if not problem.chains:
        return Cut((), 0.0, 0.0)
    model = _Model(problem)
    found = model.solve(limit_s)
    if found is not None:
        return found
    return model.solve_softly(limit_s)


def alternatives(problem: Problem, best: Cut, *, most: int = MOST) -> Iterator[Cut]:
    """Other cuts of the same cost, at most so many.

    A cut that is a superset of an earlier one is none: each is found with the earlier ones
    forbidden.
    """
    if best.open or not best.facts:
        return
    model = _Model(problem)
    known = [best.facts]
    while len(known) <= most:
        found = model.solve(LIMIT_S, forbidden=known)
        if found is None or found.cost > best.cost + TIGHT:
            return
        known.append(found.facts)
        yield found


class _Model:
    """The constraints as sparse rows: one variable a fact, then one a chain that may stay."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.facts = problem.facts
        self.place = {fact: i for i, fact in enumerate(self.facts)}
        self.costs = np.array([problem.costs.get(fact, 1.0) for fact in self.facts])
        if (self.costs <= 0).any():
            raise UsageError("A fact's cost must be positive.", remedy="Use weights above 0.")

    def solve(self, limit_s: float, forbidden: Sequence[Sequence[Fact]] = ()) -> Cut | None:
        """Return the cheapest cut; None without one."""
        program = self._groups()
        for facts in minimal(self.problem.chains):
            row = self._row(facts)
            if not row:
                return None  # all facts of a chain are locked
            program.at_least(row, 1)
        for facts in forbidden:
            program.at_most(self._row(facts), len(facts) - 1)
        solved = program.solve(self.costs, limit_s)
        return None if solved is None else self._cut(solved)

    def solve_softly(self, limit_s: float) -> Cut:
        """The cheapest of the choices that cut most weight; each step takes half of the time.

        One objective that prices a chain above all facts together would not do: chains may differ
        by less than the facts that cut them.
        """
        n, chains = len(self.facts), self.problem.chains
        least = min(chain.weight for chain in chains)
        stays = {n + i: chain.weight / least for i, chain in enumerate(chains)}
        program = self._groups()
        for i, chain in enumerate(chains):
            program.at_least({**self._row(chain.facts), n + i: 1.0}, 1)
        first = program.solve(np.array([*np.zeros(n), *stays.values()]), limit_s / 2)
        assert first is not None  # all chains may stay
        open_ = set(self.problem.survivors(self._chosen(first)))
        weight = sum(stays[n + i] for i, chain in enumerate(chains) if chain in open_)
        program.at_most(stays, weight + TIGHT)
        costs = np.array([*self.costs, *np.zeros(len(chains))])
        try:
            second = program.solve(costs, limit_s / 2)
        except UsageError:
            second = None
        if second is None:
            return self._cut(Solved(first.values, 0.0, False))
        return self._cut(Solved(second.values, second.bound, first.complete and second.complete))

    def _chosen(self, solved: Solved) -> tuple[Fact, ...]:
        values = zip(self.facts, solved.values, strict=False)
        return tuple(fact for fact, value in values if value > 0.5)

    def _cut(self, solved: Solved) -> Cut:
        chosen = self._chosen(solved)
        cost = self.problem.cost(chosen)
        bound = cost if solved.complete else min(cost, solved.bound)
        return Cut(chosen, cost, bound, tuple(self.problem.survivors(chosen)), solved.complete)

    def _row(self, facts: Iterable[Fact]) -> dict[int, float]:
        return {self.place[fact]: 1.0 for fact in facts if fact in self.place}

    def _groups(self) -> Program:
        program = Program()
        for row in map(self._row, self.problem.groups):
            if len(row) > 1:
                program.at_most(row, 1)
        return program


# The leak cut over chains and proofs by If-Then rules: an AND-OR graph, cut exactly.
#
# An atom holds if a fact states it or all premises of one of its inferences hold (OR over
# inferences, AND over premises). A chain is an inference of the target from its facts. With x_f =
# 1 for a fact to edit and d_a for "a can be derived":
#
#     min Σ c_f x_f    d_a + x_f ≥ 1 for f stating a
#     d_a ≥ Σ_{p ∈ P} d_p − |P| + 1    d_target = 0
#
# Cycles of rules need no care: every solution of the rows holds at least the derivable atoms.
# With a limit on the facts of a proof each atom has one variable for each number of facts k:
# d_{a, i + j} ≥ d_{p, i} + d_{q, j} − 1. A fact that a proof uses twice counts twice.

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


def cut_with_rules(problem: ProofProblem, *, limit_s: float = LIMIT_S) -> Cut:
    """The cheapest facts without which the target has no proof; `open`: proofs that must stay.

    Where locks and groups leave some, the choice breaks as much weight of last inferences as
    possible, then at the lowest cost; the leaves of each open one are named.

    Raises:
        UsageError: the time was too short to find any, or a cost is not positive.
    """
    small = problem.reduced()
    if not small.survivors(()):
        return Cut((), 0.0, 0.0)
    model = _and_or_Model(small)
    return model.solve(limit_s) or model.solve_softly(limit_s)


class _and_or_Model:
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
