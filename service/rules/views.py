"""A closure as it is shown: conclusions with their best proof, contradictions with both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from thinkeval.cypher import rows
from thinkeval.service.rules import closure
from thinkeval.service.rules.closure import Closure, triple_of
from thinkeval.service.rules.proofs import Prover
from thinkeval.service.rules.schemas import (
    ClosureOptions,
    ClosureOut,
    ConclusionOut,
    ContradictionOut,
    Triple,
)
from thinkeval.service.rules.store import StoredRule

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database

MOST_CONTRADICTIONS = 100


def shown(
    db: Database,
    graph: str,
    rules: Sequence[StoredRule],
    options: ClosureOptions | None = None,
    *,
    limit: int = 20,
    new_only: bool = False,
) -> ClosureOut:
    """Take a graph's closure, store it, and show the strongest conclusions with a proof each.

    Args:
        limit: conclusions at most; 0 for all.
        new_only: only those that no fact states.

    Raises:
        NotFoundError: no such graph.
        UsageError: it would be too large.
    """
    options = options or ClosureOptions()
    found = closure.closure(db, graph, rules, options)
    stated = found.stated
    listed = [a for a in found.conclusions if not (new_only and triple_of(a) in stated)]
    prover = prover_of(found)
    return ClosureOut(
        graph=graph,
        rules=len(rules),
        options=options,
        rounds=found.rounds,
        groundings=len(found.groundings),
        conclusions=len(found.conclusions),
        stated=sum(triple_of(a) in stated for a in found.conclusions),
        contradictions=_contradictions(db, found, prover),
        items=[_item(a, stated, prover) for a in (listed[:limit] if limit else listed)],
    )


def prover_of(found: Closure) -> Prover:
    """Proof trees from a stored closure."""
    facts = [atom for atom in found.atoms.values() if not atom.implied]
    sides = (closure.probabilities(facts, "pre"), closure.probabilities(facts, "post"))
    return Prover(found.groundings, found.stated, sides, found.rules, found.options.depth)


def _item(atom: rows.AtomRow, stated: set[Triple], prover: Prover) -> ConclusionOut:
    ways = prover.proofs(triple_of(atom), most=1)
    return ConclusionOut(
        subject=atom.subject,
        relation=atom.relation,
        object=atom.object,
        stated=triple_of(atom) in stated,
        round=atom.round,
        leaves=atom.leaves,
        strength_pre=atom.strength_pre,
        strength_post=atom.strength_post,
        proof=ways[0] if ways else None,
    )


def _contradictions(db: Database, found: Closure, prover: Prover) -> list[ContradictionOut]:
    out = []
    for row in db.read(rows.ContradictionRow, graph=found.graph)[:MOST_CONTRADICTIONS]:
        mine = prover.proofs((row.subject, row.relation, row.object), most=1)
        other = (row.subject, row.relation, row.other)
        against = prover.proofs(other, most=1) if row.implied else [prover.leaf(other)]
        if mine and against:
            out.append(
                ContradictionOut(
                    subject=row.subject,
                    relation=row.relation,
                    conclusion=mine[0],
                    against=against[0],
                )
            )
    return out
