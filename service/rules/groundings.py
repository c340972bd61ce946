"""Groundings of rules in a graph: all of them, predicted conclusions, those an edit touches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ...cypher import rows
from ..base.errors import NotFoundError, NothingStoredError
from ..graphs.datasets import require_graph
from ..models.edit import Measure
from .mining import rule_param
from .store import KEPT, StoredRule, rules_of

if TYPE_CHECKING:
    from ...cypher.run import Database


Show = Literal["all", "known", "predicted"]
LIMIT = 100_000


@dataclass(frozen=True, slots=True)
class Instances:
    """Groundings of rules in a graph.

    Attributes:
        rules: {id: rule}, also of rules without a grounding.
        groundings: by rule and names; `conclusion` is None where the graph lacks it.
        cut: True if the limit left out some.
    """

    graph: str
    measure: str
    rules: dict[str, StoredRule]
    groundings: tuple[rows.GroundingRow | rows.AffectedRow, ...]
    cut: bool = False


def rules_for(
    db: Database, graph: str, *, ids: Sequence[str] | None = None, candidates: bool = False
) -> list[StoredRule]:
    """The rules of a graph of any kind: the kept ones of its data set, or those of given ids.

    Args:
        ids: only these, of any status.
        candidates: also rules without a review.

    Raises:
        NotFoundError: no such graph, or no rule with one of the ids.
        NothingStoredError: the data set has no such rules.
    """
    dataset = require_graph(db, graph, kind=None).dataset
    status = (*KEPT, "candidate") if candidates else KEPT
    found = rules_of(db, dataset, status=status, ids=ids)
    if not found:
        unreviewed = len(rules_of(db, dataset, status=("candidate",)))
        raise NothingStoredError(
            f"{dataset!r} has no {'rules' if candidates else 'kept rules'} yet"
            + (f"; {unreviewed} candidates are not reviewed." if unreviewed else "."),
            remedy=f"Label them (`thinkeval graph rules label {dataset}`) or use them without a"
            " review (`--candidates`)."
            if unreviewed
            else f"Mine some (`thinkeval graph rules mine {dataset}`) or write them (`thinkeval"
            f" graph rules add {dataset} FILE`).",
        )
    return found


def instantiate(
    db: Database,
    graph: str,
    rules: Sequence[StoredRule],
    *,
    measure: Measure = "likelihood",
    show: Show = "all",
    limit: int = LIMIT,
) -> Instances:
    """All groundings of rules in a graph of any kind.

    Args:
        measure: kind of the facts' probabilities.
        show: `known`: only groundings whose conclusion is in the graph; `predicted`: the others.

    Raises:
        NotFoundError: no such graph.
    """
    require_graph(db, graph, kind=None)
    found = db.read(
        rows.GroundingRow,
        "rules/instantiate",
        graph=graph,
        rules=[rule_param(stored.rule) for stored in rules],
        show=show,
        pre=f"{measure}_pre",
        post=f"{measure}_post",
        limit=limit + 1,
    )
    by_id = {stored.id: stored for stored in rules}
    return Instances(graph, measure, by_id, tuple(found[:limit]), len(found) > limit)


def affected(
    db: Database,
    graph: str,
    rules: Sequence[StoredRule],
    facts: Sequence[str],
    *,
    measure: Measure = "likelihood",
) -> list[rows.AffectedRow]:
    """The groundings in which one of the facts is a premise or the conclusion.

    Args:
        facts: their ids in the database (`graph|id`).

    Raises:
        NotFoundError: no such graph.
    """
    require_graph(db, graph, kind=None)
    return db.read(
        rows.AffectedRow,
        "rules/affected",
        graph=graph,
        facts=list(facts),
        rules=[rule_param(stored.rule) for stored in rules],
        pre=f"{measure}_pre",
        post=f"{measure}_post",
    )


def touching(
    db: Database,
    graph: str,
    rules: Sequence[StoredRule],
    subject: str,
    relation: str,
    *,
    measure: Measure = "likelihood",
    show: Show = "all",
    limit: int = LIMIT,
) -> Instances:
    """The groundings that an edit of a subject's relation touches, in a graph of any kind.

    Raises:
        NotFoundError: no such graph, or no such fact in it.
    """
    facts = [
        row.id
        for row in db.read(
            rows.FactsAboutRow, "rules/facts_about", graph=graph, subject=subject, relation=relation
        )
    ]
    if not facts:
        known = {
            f"{row.subject} {row.relation}"
            for row in db.read(rows.FactRow, "graph/facts", graph=graph)
        }
        wanted = f"{subject} {relation}"
        raise NotFoundError(
            f"fact of {graph!r}", wanted, known, listing=f"thinkeval graph rules relations {graph}"
        )
    found: dict[tuple[object, ...], rows.AffectedRow] = {}
    for row in affected(db, graph, rules, facts, measure=measure):
        if show == "all" or (show == "known") == (row.conclusion is not None):
            found.setdefault((row.rule, row.premise1, row.premise2), row)
    shown = tuple(found.values())
    by_id = {stored.id: stored for stored in rules}
    return Instances(graph, measure, by_id, shown[:limit], len(shown) > limit)
