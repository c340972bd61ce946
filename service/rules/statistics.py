"""Statistics of rules over distinct conclusions: confidences, coverage, and a bound to rank by.

Several groundings may have one conclusion, so a rule of support 14 may state 3 facts. Here each
conclusion counts once, as in AMIE (Galárraga et al., "AMIE: association rule mining under
incomplete evidence", WWW 2013): support, standard confidence, PCA confidence (section 3), and head
coverage. A graph lacks facts; PCA counts a conclusion as wrong only where the graph has another
fact of the subject and relation. It flatters functional relations, so both are given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from ...cypher import rows
from .store import RuleStatistics, StoredRule, columns

if TYPE_CHECKING:
    from ...cypher.run import Database

COUNTED = 50
"""Number of rules that one query counts."""

Rank = Literal["lower", "support"]
"""Order of rules: the greatest lower bound of the confidence first, or the most groundings."""
RANK: Rank = "lower"


def counted(db: Database, graph: str, rules: Sequence[StoredRule]) -> list[StoredRule]:
    """The rules with their statistics in a graph, in the same order."""
    found: dict[str, RuleStatistics] = {}
    for start in range(0, len(rules), COUNTED):
        part = rules[start : start + COUNTED]
        params = [{"rule": stored.id, **columns(stored.rule)} for stored in part]
        for row in db.read(rows.PairCountRow, "rules/pair_counts", graph=graph, rules=params):
            found[row.rule] = RuleStatistics(row.pairs, row.known, row.comparable, row.heads)
    return [replace(stored, statistics=found[stored.id]) for stored in rules]


def ranked(rules: Sequence[StoredRule], rank: Rank = RANK) -> list[StoredRule]:
    """Rules in order; of those with equal lower bounds the one with most known conclusions first.

    Args:
        rules: with statistics; without them they are last by `lower`.
        rank: `support` counts groundings, and leaves equal ones to their confidence.
    """

    def by_lower(stored: StoredRule) -> tuple[float, int, str]:
        of = stored.statistics
        lower = of.lower if of is not None else None
        return (1.0 if lower is None else -lower, -(of.known if of else 0), stored.id)

    def by_support(stored: StoredRule) -> tuple[float, float, str]:
        rule = stored.rule
        support, confidence = (-1 if n is None else n for n in (rule.support, rule.confidence))
        return (-support, -confidence, stored.id)

    return sorted(rules, key=by_lower if rank == "lower" else by_support)
