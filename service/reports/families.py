"""Families of rewrites: rewrites whose chains share facts are no independent measurements.

Two rewrites are of one family if a fact is on chains of both, or if they are linked by others that
are: the connected components. KnowGIC's 26 rewrites are 21 families (three of Hogwarts, three of
the Presleys, two of the Beckhams). Intervals over rewrites draw families.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from ...cypher import rows
from ..schemas import Score, ScoringOptions
from ..scoring.metrics import case_of

if TYPE_CHECKING:
    from ...cypher.run import Database


def families(db: Database, scores: Sequence[Score]) -> dict[str, str]:
    """{edit: its family, named after one of its rewrites}, read off one edit graph a rewrite.

    The chains are those of the score's own options. An edit whose graph is not stored shares
    nothing with other rewrites.
    """
    asked: dict[ScoringOptions, dict[str, Score]] = defaultdict(dict)
    for score in scores:
        asked[score.options].setdefault(_rewrite(score), score)
    facts: dict[str, set[str]] = {_rewrite(score): set() for score in scores}
    for options, by_rewrite in asked.items():
        of = {score.edit: rewrite for rewrite, score in by_rewrite.items()}
        cases = [case_of(score) for score in by_rewrite.values()]
        for row in db.read(
            rows.ChainFactsRow,
            "chains/facts",
            cases=cases,
            max_steps=options.max_steps,
            bare=options.bare,
        ):
            facts[of[row.id]].update(f"{_dataset(of[row.id])}|{fact}" for fact in row.facts)
    named = components(facts)
    return {score.edit: named[_rewrite(score)] for score in scores}


def components(facts: Mapping[str, Collection[str]]) -> dict[str, str]:
    """{item: the first item of its component}; items with a common fact are of one component."""
    parent = {item: item for item in facts}

    def root(item: str) -> str:
        while parent[item] != item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item

    first: dict[str, str] = {}
    for item, found in facts.items():
        for fact in found:
            other = root(first.setdefault(fact, item))
            parent[root(item)] = other
    names: dict[str, str] = {}
    for item in facts:
        names.setdefault(root(item), item)
    return {item: names[root(item)] for item in facts}


def _rewrite(score: Score) -> str:
    return f"{score.dataset}|{score.rewrite}"


def _dataset(rewrite: str) -> str:
    return rewrite.split("|", 1)[0]
