"""Omega(G): recovery of the old object by chains and rules in one closure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from ...cypher import rows
from ...cypher.rows.closure import Kind, OmegaRow
from ..graphs import datasets
from ..schemas import Measure, Score
from . import closure, store
from .proofs import Prover
from .schemas import ClosureOptions, ProofOut
from .store import StoredRule

if TYPE_CHECKING:
    from ...cypher.run import Database

KINDS: tuple[Kind, ...] = ("paths", "rules", "both")
WAYS: dict[Kind, str] = {
    "paths": "chains of facts",
    "rules": "rules",
    "both": "chains and rules together",
}


class OmegaOut(BaseModel):
    """Ω of an edit up to n facts: by paths, by rules, by both."""

    edit: str = Field(description="Id of the edit.")
    measure: Measure = Field(
        description="The measure: likelihood, p (share of sampled answers), or likelihood_norm."
    )
    rules: int = Field(
        description="Number of rules; without any, only chains recover the old object."
    )
    threshold: float = Field(description="A chain survives where R' > threshold · R.")
    max_steps: int = Field(description="Longest chain that is counted, in facts.")
    items: list[OmegaRow] = Field(description="The items of this page, in order.")
    deep: dict[Kind, int] = Field(
        description="{kind: the largest n up to which nothing of the kind survives}."
    )
    note: str | None = Field(
        default=None,
        description="Conclusions that could not be counted, with the reason; the values of rules"
        " and both are null then.",
    )
    proofs: list[ProofOut] = Field(
        default=[],
        description="Proofs of the old fact from others by rules, strongest before the edit first.",
    )

    def at(self, kind: Kind, step: int | None = None) -> OmegaRow:
        """The value of one kind; by default up to the score's longest chain."""
        step = step or self.max_steps
        return next(item for item in self.items if (item.kind, item.step) == (kind, step))


def kept_rules(db: Database, dataset: str) -> list[StoredRule]:
    """The kept rules of a data set; none if the data set itself was removed."""
    if not db.read(rows.GraphRow, "graph/get_graph", graph=dataset):
        return []
    return store.rules_of(db, dataset)


def omega(
    db: Database,
    score: Score,
    measure: Measure,
    rules: Sequence[StoredRule] | None = None,
    *,
    most: int = 5,
) -> OmegaOut:
    """Compute Omega: recovery of the old object by chains and rules after an edit.

    Args:
        rules: None for the kept rules of the edit's data set.
        most: maximum number of proofs.

    Raises:
        NotFoundError: the edit's graph is not stored.
        UsageError: the closure is too large.
    """
    datasets.require_graph(db, score.edit, kind="edit")
    used = kept_rules(db, score.dataset) if rules is None else list(rules)
    threshold = score.options.threshold_for(measure)
    with closure.transaction(db, score.edit, used) as tx:
        found = closure.within(tx, db, score.edit, used, ClosureOptions(measure=measure))
        items = tx.run(
            OmegaRow,
            "closure/omega",
            graph=score.edit,
            subject=score.subject,
            object=score.target_true,
            relation=score.relation,
            max_steps=score.options.max_steps,
            bare=score.options.bare,
            parallel=score.options.parallel,
            pre=f"{measure}_pre",
            post=f"{measure}_post",
            threshold=threshold,
            rule=score.options.rule,
            known_chain=score.options.counted["known_chain"],
        )
    if found.note:
        items = [i if i.kind == "paths" else replace(i, value=None) for i in items]
    return OmegaOut(
        edit=score.edit,
        measure=measure,
        rules=len(used),
        threshold=threshold,
        max_steps=score.options.max_steps,
        items=items,
        deep={kind: _deep(items, kind) for kind in KINDS},
        note=found.note,
        proofs=_proofs(found, score)[:most],
    )


def _deep(items: Sequence[OmegaRow], kind: Kind) -> int:
    """The largest n up to which nothing survives; values decrease with n."""
    return max((item.step for item in items if item.kind == kind and item.value == 1), default=0)


def _proofs(found: closure.Closure, score: Score) -> list[ProofOut]:
    """Proofs of the old fact that do not use the new one."""
    goal = (score.subject, score.relation, score.target_true)
    new = (score.subject, score.relation, score.target_new)
    facts = [a for a in found.atoms.values() if not a.implied and closure.triple_of(a) != new]
    sides = (closure.probabilities(facts, "pre"), closure.probabilities(facts, "post"))
    ways = [g for g in found.groundings if new not in (*g.premises, g.conclusion)]
    triples = {closure.triple_of(atom) for atom in facts}
    return Prover(ways, triples, sides, found.rules).proofs(goal)
