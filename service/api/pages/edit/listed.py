"""Values of the tabs that list: chains, facts, leak cut, rules."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from ....leakcut import words
from ....reports.browser import chain_link
from ....reports.edit import graph_of, leakage_table
from ....reports.rule_tables import ways_table
from ....rules.implications import GOOD, MEANINGS, implications
from ....rules.mixed_chains import Chosen, mixed
from ....rules.omega import KINDS, WAYS, kept_rules, omega
from ....scoring import metrics
from ..leak_cut import CutAsked, cut_values
from .leakage import map_values
from .view import LISTED, View

if TYPE_CHECKING:
    from ....schemas import Score

MORE = 50
"""Rows that "Show more" adds."""


def _more(view: View, tab: str, whole: int) -> str | None:
    """Address of the same list with more rows; None where all are listed."""
    if whole <= view.asked.show:
        return None
    longer = replace(view.asked, show=view.asked.show + MORE)
    return view.address(tab, longer.query())


def chain_values(view: View, browser: str) -> dict[str, Any]:
    """Values of `edit/chains.html`: chains by the filter, each with a link to Neo4j Browser."""
    found = view.asked.selection.chosen(view.rows)
    shown = found[: view.asked.show]
    return (
        view.values("chains")
        | map_values(view)
        | {
            "found": found,
            "shown": shown,
            "surviving": sum(row.surviving for _, row in found),
            "unknown": sum(not row.known for _, row in found),
            "links": [chain_link(browser, view.score, row) if browser else "" for _, row in shown],
            "more": _more(view, "chains", len(found)),
        }
    )


def fact_values(view: View) -> dict[str, Any]:
    """Values of `edit/facts.html`: all facts of the edit graph, and those that leak most."""
    graph = graph_of(view.db, view.score, view.measure, view.rows)
    edges = sorted(graph.edges, key=lambda edge: (-edge.surviving, -edge.chains))
    leaks = metrics.leakage_rows(view.db, view.score, view.measure)
    return view.values("facts") | {
        "edges": edges[: view.asked.show],
        "n_edges": len(edges),
        "leaks": leakage_table(leaks[:LISTED], lambda fact: fact_address(view, fact.id)),
        "n_leaks": len(leaks),
        "more": _more(view, "facts", len(edges)),
    }


def next_values(view: View, asked: CutAsked, browser: str) -> dict[str, Any]:
    """Values of `edit/next.html`: the leak cut with its form."""
    names = sorted({name for row in view.rows for name in row.entities})
    cut = cut_values(view.db, view.score, view.measure, asked, browser)
    if cut["cut"] is not None:
        edit = view.score.edit
        whole = words.facts_table(
            cut["cut"].facts, lambda fact: fact_address(view, f"{edit}|{fact.id}")
        )
        cut["cut_facts"] = replace(whole, rows=whole.rows[:LISTED])
        cut["cut_more"] = replace(whole, rows=whole.rows[LISTED:], title="Further facts", note="")
    return view.values("next") | cut | {"cut_names": names, "listed": LISTED}


def fact_address(view: View, fact: str) -> str:
    """Return the address of the map with this fact chosen."""
    return f"{view.path}?{urlencode({'fact': fact, 'measure': view.measure})}"


IMPLIED_FIRST = 10
"""Conclusions shown at first; the others unfold."""
MIXED = 10
"""Chains over conclusions that are shown; REST and the command line list all of them."""

SIDES = {
    "lost": "it no longer follows",
    "due": "it follows now",
    "kept": "it follows as before",
}


def rule_values(view: View) -> dict[str, Any]:
    """Values of `edit/rules.html`; `implied` is None for a data set without kept rules.

    `recovery` summarises Omega in one sentence.
    """
    db, score, measure = view.db, view.score, view.measure
    rules = kept_rules(db, score.dataset)
    if not rules:
        return view.values("rules") | {"implied": None}
    recovered = omega(db, score, measure, rules)
    return view.values("rules") | {
        "implied": implications(db, score, measure, rules),
        "omega": recovered,
        "mixed": mixed(db, score, measure, rules, Chosen(surviving=True, limit=MIXED)),
        "example": rules[0].rule.text(),
        "recovery": _recovery(score, {kind: recovered.at(kind).surviving for kind in KINDS}),
        "ways": ways_table(recovered, score.target_true),
        "sides": SIDES,
        "good": GOOD,
        "verdict_meanings": MEANINGS,
        "implied_first": IMPLIED_FIRST,
    }


def _recovery(score: Score, surviving: dict[Any, int]) -> str:
    alive = [WAYS[kind] for kind in KINDS if surviving[kind]]
    if not alive:
        return f"{score.target_true} is not recovered: neither by chains nor by rules."
    listed = alive[0] if len(alive) == 1 else f"{', by '.join(alive[:-1])}, and by {alive[-1]}"
    return f"{score.target_true} is still recovered by {listed}."
