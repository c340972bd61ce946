"""Step 1 of a score: the facts on a rewrite's chains, and the prompts of its neighborhood.

An edit must change nothing at the prompts of the neighborhood. A data set with a neighborhood
states it (CounterFact, zsRE). For any other, the graph itself holds the natural one: facts of other
subjects with the same relation and the same object as target_true, which is CounterFact's own
definition (Meng et al. 2022, section 3.3). At most LIMIT of them are taken, always the same ones; a
graph without such facts gives none, and specificity is then 0 with n = 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...cypher import rows
from ...loaders.records import SUBJECT_SLOT, Fact, RewriteRequest
from ..graphs.datasets import case, to_fact
from .probe import Neighbor

if TYPE_CHECKING:
    from ...cypher.run import Database
    from .request import ScoreRequest


@dataclass(frozen=True, slots=True)
class Scope:
    """The facts on a rewrite's chains, with the other names of every object they mention."""

    facts: tuple[Fact, ...]
    aliases: dict[str, tuple[str, ...]]


def facts_in_scope(db: Database, request: ScoreRequest) -> Scope:
    """The facts on the rewrite's chains of ≤ max_steps steps, and the aliases of their objects.

    A rewrite without chains has an empty scope: its IFR is 0 and its Preservation 1 by definition,
    both with n = 0.
    """
    params = case(request.graph, request.rewrite)
    found = db.read(
        rows.FactRow,
        "probes/facts_in_scope",
        graph=request.graph,
        subject=params["subject"],
        object=params["object"],
        rewrite=params["rewrite"],
        max_steps=request.max_steps,
    )
    aliases = {
        e.name: e.aliases for e in db.read(rows.EntityRow, "graph/entities", graph=request.graph)
    }
    return Scope(tuple(to_fact(row) for row in found), aliases)


LIMIT = 10
"""As many as CounterFact has for each record."""

Pairs = tuple[tuple[str, str], ...]


def neighbors(db: Database, graph: str, rewrite: RewriteRequest) -> Pairs:
    """Complete prompts about other subjects, each with its right answer."""
    if rewrite.neighborhood:
        return rewrite.neighbors
    found = db.read(
        rows.NeighborRow,
        "probes/neighborhood",
        graph=graph,
        subject=rewrite.subject,
        relation=rewrite.relation,
        object=rewrite.target_true,
        limit=LIMIT,
    )
    return tuple(
        (row.prompt.replace(SUBJECT_SLOT, row.subject, 1), rewrite.target_true) for row in found
    )


def near_questions(
    pairs: Pairs, aliases: Mapping[str, tuple[str, ...]], target_new: str | None = None
) -> tuple[Neighbor, ...]:
    """The questions at the prompts: for their right answers or, at all of them, for target_new."""
    return tuple(
        Neighbor(prompt, name, aliases.get(name, ()))
        for prompt, right in pairs
        for name in (right if target_new is None else target_new,)
    )
