"""Values of `/rules`: a data set's rules with statistics; loading, mining and reviewing them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ....cypher import rows
from ....loaders import rules as shipped
from ....loaders.reading.sources import read_yaml
from ...graphs.datasets import require_graph
from ...reports.graph_tables import rules_table
from ...rules import groundings, mining, store
from ...rules import review as reviewing
from ...rules.schemas import GroundingOut, PartOut, RuleOut
from .home import last_used
from .render import words

if TYPE_CHECKING:
    from ....cypher.run import Database


RANKS: dict[store.Rank, str] = {"lower": "lower bound", "support": "support"}
SHOWN = 200
"""Rules that `/rules` lists at most; the JSON has all of them."""
COUNTS = (
    "Support: groundings whose conclusion the graph has; body: groundings of the premises;"
    " confidence: support divided by body; lower: lower end of the 95 % Wilson interval of the"
    " fraction of conclusions, each counted once, that the graph has; known: number of conclusions"
    " that the graph has; PCA: fraction of the conclusions whose subject has any fact of the"
    " relation that the graph has; coverage: fraction of the relation's facts that the rule gives."
)
EXAMPLES = 2
"""Groundings that are shown of the rule under review."""


def values(db: Database, graph: str, status: str, rank: store.Rank) -> dict[str, Any]:
    """Values of `rules.html`.

    Args:
        graph: "" for the data set used last of those that have rules, or of all.
        status: "" for any.
    """
    sets = [row.graph for row in db.read(rows.GraphRow, "graph/list_graphs", kind="dataset")]
    if not graph:
        having = {row.dataset for row in db.read(rows.RuleRow, "rules/list_rules")}
        graph = last_used(db).graph_of([name for name in sets if name in having] or sets)
    else:
        graph = require_graph(db, graph, kind=None).dataset
    found = store.rules_of(db, graph, status=None) if graph else []
    wanted = [rule for rule in found if status in ("", rule.status)]
    ranked = store.ranked(mining.counted(db, graph, wanted), rank)
    return {
        "sets": sets, "graph": graph, "of_status": status, "rank": rank, "ranks": RANKS,
        "statuses": store.STATUSES, "counts": Counter(rule.status for rule in found),
        "rules": rules_table("Rules", [RuleOut.of(rule) for rule in ranked[:SHOWN]], COUNTS),
        "total": len(ranked),
        "labels": reviewing.LABELS,
        "shipped": _shipped(graph), "queue": review(db, graph, "", "") if graph else None,
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Queue:
    """The rules that wait for a label, and the one that is shown beside examples of it.

    Attributes:
        items: id and text of the first ones.
        examples: sentences; conclusions of the rule about the graph.
    """

    items: list[dict[str, str]]
    total: int
    chosen: store.StoredRule | None
    examples: list[str]


def review(db: Database, graph: str, annotator: str, chosen: str) -> Queue:
    """Return the review queue of a graph's rules.

    Args:
        annotator: only rules that this person has not labelled; "" for all that wait.
        chosen: id of a rule; "" for the first one.

    Raises:
        NotFoundError: no such graph or rule.
    """
    dataset = require_graph(db, graph, kind=None).dataset
    waiting = reviewing.waiting(db, dataset, annotator or None)
    rule = store.rule_of(db, dataset, chosen) if chosen else next(iter(waiting), None)
    items = [{"id": each.id, "text": each.rule.text()} for each in waiting[:SHOWN]]
    return Queue(items, len(waiting), rule, _examples(db, graph, rule) if rule else [])


def _examples(db: Database, graph: str, rule: store.StoredRule) -> list[str]:
    found = groundings.instantiate(db, graph, [rule], limit=EXAMPLES).groundings
    told = []
    for each in (GroundingOut.of(row, rule) for row in found):
        premises = ", ".join(map(_sentence, each.premises))
        where = "in the graph" if each.known else "not in the graph"
        told.append(f"For instance: {premises}; so {_sentence(each.conclusion)} ({where}).")
    return told


def _sentence(part: PartOut) -> str:
    return f"{part.subject} {words(part.relation)} {part.object}"


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
