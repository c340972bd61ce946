"""The groundings by which If-Then rules can prove an edited fact, as the AND-OR graph takes them.

They are found backwards from the fact and from every fact of its chains, as rules may restore one
of these. Groundings that rules make to the depth are all used, also in taller proofs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..rules import backward
from ..rules.groundings import rules_for
from ..rules.schemas import ClosureOptions, Triple
from .and_or import Inference, ProofProblem
from .problem import Fact, Problem

if TYPE_CHECKING:
    from ...cypher.run import Database
    from .leaks import Leaks

ROLES = ("fact", "target_true")
"""Roles of facts that a proof of the old fact may use, as its chains do."""


@dataclass(frozen=True)
class RuleProofs:
    """What rules can prove an edited fact by.

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
    depth: int = backward.DEPTH,
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
    options = ClosureOptions(depth=depth)
    found = backward.ground(
        db, graph, target, rules, options, stated=dict.fromkeys(own.values()), roles=ROLES
    )
    facts = {
        id.removeprefix(f"{graph}|"): (row.subject, row.relation, row.object)
        for id, row in found.facts.items()
    }
    texts = {stored.id: stored.rule.text() for stored in rules}
    groundings = tuple(
        Inference(each.premises, each.conclusion, each.factor, texts[each.rule])
        for each in found.groundings
    )
    return RuleProofs(target, len(rules), {**own, **facts}, groundings)
