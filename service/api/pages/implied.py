"""The page's section on rules: does the old object come back, what is stale, what is due."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thinkeval.service.rules.implications import GOOD, MEANINGS, implications
from thinkeval.service.rules.mixed_chains import Chosen, mixed
from thinkeval.service.rules.omega import KINDS, WAYS, kept_rules, omega
from thinkeval.service.schemas import Measure, Score

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database

FIRST = 20
"""Conclusions that are shown at once; the others unfold."""
MIXED = 10
"""Chains over facts and conclusions that are shown; REST and the command line list all of them."""

SIDES = {
    "lost": "it no longer follows",
    "due": "it follows now",
    "kept": "it follows as before",
}


def values(db: Database, score: Score, measure: Measure) -> dict[str, Any]:
    """For `_implications.html`; without rules there is no section.

    `come` is a sentence for whoever has not read what Omega is.
    """
    rules = kept_rules(db, score.dataset)
    if not rules:
        return {"implied": None}
    told = omega(db, score, measure, rules)
    return {
        "implied": implications(db, score, measure, rules),
        "omega": told,
        "mixed": mixed(db, score, measure, rules, Chosen(surviving=True, limit=MIXED)),
        "example": rules[0].rule.text(),
        "come": _come(score, {kind: told.at(kind).surviving for kind in KINDS}),
        "ways_by": WAYS,
        "sides": SIDES,
        "good": GOOD,
        "verdict_meanings": MEANINGS,
        "implied_first": FIRST,
    }


def _come(score: Score, surviving: dict[Any, int]) -> str:
    alive = [WAYS[kind] for kind in KINDS if surviving[kind]]
    if not alive:
        return f"{score.target_true} does not come back: neither by chains nor by rules."
    listed = alive[0] if len(alive) == 1 else f"{', by '.join(alive[:-1])}, and by {alive[-1]}"
    return f"{score.target_true} still comes back by {listed}."
