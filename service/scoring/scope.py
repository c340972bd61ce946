"""Step 1 of a score: the facts a rewrite is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinkeval.cypher import rows
from thinkeval.loaders.records import Fact
from thinkeval.service.graphs.datasets import case, to_fact

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database
    from thinkeval.service.scoring.request import ScoreRequest


@dataclass(frozen=True, slots=True)
class Scope:
    """The facts on a rewrite's chains, with the other names of every object they mention."""

    facts: tuple[Fact, ...]
    aliases: dict[str, tuple[str, ...]]


def facts_in_scope(db: Database, request: ScoreRequest) -> Scope:
    """The facts on the rewrite's chains of ≤ max_steps steps, and what their objects are called.

    A rewrite without chains has an empty scope: its IFR is 0 and its Preservation 1 by definition,
    both with n = 0.
    """
    asked = case(request.graph, request.rewrite)
    found = db.read(
        rows.FactInScopeRow,
        graph=request.graph,
        subject=asked["subject"],
        object=asked["object"],
        rewrite=asked["rewrite"],
        max_steps=request.options.max_steps,
    )
    aliases = {e.name: e.aliases for e in db.read(rows.EntityRow, graph=request.graph)}
    return Scope(tuple(to_fact(row) for row in found), aliases)
