"""Values of `/rules`: the rules of a data set, with their statistics in its graph."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from thinkeval.cypher import rows
from thinkeval.service.graphs.datasets import require_graph
from thinkeval.service.rules import statistics, store

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database

RANKS: dict[statistics.Rank, str] = {"lower": "lower bound", "support": "support"}
SHOWN = 200
"""Rules that `/rules` lists at most; the JSON has all of them."""


def values(db: Database, graph: str, status: str, rank: statistics.Rank) -> dict[str, Any]:
    """Values of `rules.html`.

    Args:
        graph: "" for the first data set that has rules, or the first of all.
        status: "" for any.
    """
    sets = [row.graph for row in db.read(rows.GraphRow, kind="dataset")]
    if not graph:
        having = {row.dataset for row in db.read(rows.RuleRow)}
        graph = next((name for name in sets if name in having), sets[0] if sets else "")
    else:
        graph = require_graph(db, graph, kind=None).dataset
    found = store.rules_of(db, graph, status=None) if graph else []
    wanted = [rule for rule in found if status in ("", rule.status)]
    ranked = statistics.ranked(statistics.counted(db, graph, wanted), rank)
    return {
        "sets": sets, "graph": graph, "of_status": status, "rank": rank, "ranks": RANKS,
        "statuses": store.STATUSES, "counts": Counter(rule.status for rule in found),
        "rules": ranked[:SHOWN], "total": len(ranked),
    }  # fmt: skip
