"""Backward chaining: proofs of one goal, from the goal to its premises, to a maximum depth.

Goals are open at one end or both: `(x, relation, ?)`. Cypher matches all open goals of a level at
once; the stored closure is not used. The matched facts are joined from the facts upwards, so a goal
is proved within the depth exactly if the closure of that depth contains it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...cypher import rows
from ...loaders.groundings import groundings
from ..errors import NotFoundError
from ..graphs.datasets import require_graph
from .proofs import Prover
from .schemas import ClosureOptions, Grounding, ProofOut, Triple, factors
from .store import StoredRule

if TYPE_CHECKING:
    from ...cypher.run import Database

Goal = tuple[str | None, str, str | None]
"""Subject, relation, object; None for any."""

DEPTH = 4
"""Default maximum height of a proof: premises above each other."""


@dataclass(frozen=True, slots=True)
class Grounded:
    """What goals can be proved from.

    Attributes:
        facts: by id in the database; several may state one triple.
        groundings: of the rules over them and over conclusions.
    """

    facts: Mapping[str, rows.BackwardRow]
    groundings: Sequence[Grounding]


def prove(
    db: Database,
    graph: str,
    goal: Triple,
    rules: Sequence[StoredRule],
    options: ClosureOptions | None = None,
    *,
    most: int = 20,
) -> list[ProofOut]:
    """Proofs of a triple from other facts, one for each last grounding, strongest first.

    Raises:
        NotFoundError: no such graph, or no such subject, relation or object in it.
    """
    options = options or ClosureOptions()
    depth = options.depth or DEPTH
    header = require_graph(db, graph, kind=None)
    factor = factors(rules, options)
    used = [stored for stored in rules if stored.id in factor]
    kinds = _kinds(db, graph, header.dataset)
    _require(goal, kinds, db, graph, used)
    found = _facts(db, graph, [goal], used, depth, options)
    values = {_triple(row): (row.pre, row.post) for row in found.values()}
    grounded = _ground(values, used, kinds, factor, depth)
    pre = {t: row_pre for t, (row_pre, _) in values.items() if row_pre is not None}
    post = {t: row_post for t, (_, row_post) in values.items() if row_post is not None}
    prover = Prover(grounded, values, (pre, post), rules, depth)
    return prover.proofs(goal, most=most)


def ground(
    db: Database,
    graph: str,
    goal: Triple,
    rules: Sequence[StoredRule],
    options: ClosureOptions | None = None,
    *,
    stated: Iterable[Triple] = (),
    roles: Collection[str],
) -> Grounded:
    """The facts and groundings that proofs of a triple may use, to the depth.

    A goal whose relation no rule concludes has none.

    Args:
        stated: further triples that are facts, whose own proofs count too.
        roles: of the facts that may be used.

    Raises:
        NotFoundError: no such graph.
    """
    options = options or ClosureOptions()
    depth = options.depth or DEPTH
    header = require_graph(db, graph, kind=None)
    factor = factors(rules, options)
    used = [stored for stored in rules if stored.id in factor]
    also = list(stated)
    found = _facts(db, graph, [goal, *also], used, depth, options)
    facts = {id: row for id, row in found.items() if row.role in roles}
    triples = dict.fromkeys([*also, *map(_triple, facts.values())])
    kinds = _kinds(db, graph, header.dataset)
    return Grounded(facts, _ground(triples, used, kinds, factor, depth))


def _triple(row: rows.BackwardRow) -> Triple:
    return (row.subject, row.relation, row.object)


def _require(
    goal: Triple,
    kinds: Mapping[str, str | None],
    db: Database,
    graph: str,
    rules: Sequence[StoredRule],
) -> None:
    """Refuse a misspelt goal, which would otherwise silently have no proof."""
    listing = f"thinkeval rules closure {graph}"
    for sort, name in (("subject", goal[0]), ("object", goal[2])):
        if name not in kinds:
            raise NotFoundError(f"{sort} in {graph!r}", name, kinds, listing=listing)
    relations = {name for stored in rules for name in stored.rule.relations if name}
    if goal[1] not in relations:
        raise NotFoundError("relation of a rule", goal[1], relations, listing=listing)


def _kinds(db: Database, graph: str, dataset: str) -> dict[str, str | None]:
    """{entity: its kind}, by default its kind in the data set."""
    typed = {e.name: e.kind for e in db.read(rows.EntityRow, graph=dataset)}
    mine = db.read(rows.EntityRow, graph=graph)
    return {e.name: e.kind or typed.get(e.name) for e in mine}


def _facts(
    db: Database,
    graph: str,
    goals: Sequence[Triple],
    rules: Sequence[StoredRule],
    depth: int,
    options: ClosureOptions,
) -> dict[str, rows.BackwardRow]:
    """{id: fact that a proof of a goal may use}, queried level by level."""
    by_relation: dict[str, list[StoredRule]] = defaultdict(list)
    for stored in rules:
        by_relation[stored.rule.conclusion.relation].append(stored)
    seen: set[Goal] = set(goals)
    level: set[Goal] = set(goals)
    facts: dict[str, rows.BackwardRow] = {}
    for _ in range(depth):
        level = {open_ for g in level for open_ in _opened(g, by_relation[g[1]])} - seen
        if not level:
            break
        seen |= level
        opened = [{"subject": s, "relation": r, "object": o} for s, r, o in sorted(level, key=str)]
        for row in db.read(
            rows.BackwardRow,
            graph=graph,
            goals=opened,
            pre=f"{options.measure}_pre",
            post=f"{options.measure}_post",
        ):
            facts[row.id] = row
    return facts


def _opened(goal: Goal, rules: Iterable[StoredRule]) -> Iterable[Goal]:
    """The premises, as goals, of rules that conclude the goal; the shared end is open."""
    for stored in rules:
        one, other, _ = stored.rule.relations
        inverse1, inverse2 = stored.rule.inverse
        x, z = goal[0], goal[2]
        if other is None:
            yield (z, one, x) if inverse1 else (x, one, z)
            continue
        yield (None, one, x) if inverse1 else (x, one, None)
        yield (z, other, None) if inverse2 else (None, other, z)


def _ground(
    facts: Iterable[Triple],
    rules: Sequence[StoredRule],
    kinds: Mapping[str, str | None],
    factor: Mapping[str, float],
    depth: int,
) -> list[Grounding]:
    """Every grounding over facts and conclusions, to the depth."""
    known = set(facts)
    found: dict[Grounding, None] = {}
    for _ in range(depth):
        by_relation: dict[str, list[Triple]] = defaultdict(list)
        for triple in known:
            by_relation[triple[1]].append(triple)
        new = set()
        for stored in rules:
            premises = dict.fromkeys(atom.relation for atom in stored.rule.premises)
            near = [triple for name in premises for triple in by_relation.get(name, ())]
            for one in groundings(stored.rule, near, kinds):
                found[
                    Grounding(stored.id, one.first, one.second, one.conclusion, factor[stored.id])
                ] = None
                new.add(one.conclusion)
        if new <= known:
            break
        known |= new
    return list(found)
