"""The groundings by which If-Then rules can prove an edited fact, as the AND-OR graph takes them.

They are found backwards from the fact and from every fact of its chains, as rules may restore one
of these. Groundings that rules make to the depth are all used, also in taller proofs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...cypher import rows
from ...loaders.groundings import groundings as instances
from ..graphs.datasets import require_graph
from ..rules.closure import HEIGHT_OF_PROOF, triple_of
from ..rules.groundings import rules_for
from ..rules.schemas import ClosureOptions, Triple, factors
from .and_or import Inference, ProofProblem
from .problem import Fact, Problem

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..rules.store import StoredRule
    from .leaks import Leaks

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
