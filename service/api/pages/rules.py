"""Values of `/rules`: a data set's rules with statistics; loading, mining and reviewing them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ....cypher import rows
from ....loaders import rules as shipped
from ....loaders.reading.sources import read_yaml
from ...graphs.datasets import require_graph
from ...rules import review, statistics, store

if TYPE_CHECKING:
    from ....cypher.run import Database

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
        "rules": ranked[:SHOWN], "total": len(ranked), "labels": review.LABELS,
        "shipped": _shipped(graph), "waiting": [rule for rule in found if _waits(rule)],
    }  # fmt: skip


def _waits(rule: store.StoredRule) -> bool:
    """Whether annotators may still label a rule: two labels decide on it."""
    return rule.status == "candidate" and len(rule.labels) < review.NEEDED


def _shipped(graph: str) -> list[dict[str, Any]]:
    """The rules that ship for a graph of this name, as `POST …/rules` takes them.

    A template that the file has as one text is sent as a list.
    """
    path = shipped.path(graph) if graph else None
    found = read_yaml(path)["rules"] if path else []
    return [
        rule
        | {
            "templates": {
                part: [text] if isinstance(text, str) else text
                for part, text in rule.get("templates", {}).items()
            }
        }
        for rule in found
    ]
