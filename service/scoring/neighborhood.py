"""The prompts at which an edit must change nothing: the neighborhood of a rewrite.

A data set with a neighborhood states it (CounterFact, zsRE). For any other, the graph itself holds
the natural one: facts of other subjects with the same relation and the same object as target_true,
which is CounterFact's own definition (Meng et al. 2022, section 3.3). At most LIMIT of them are
taken, always the same ones; a graph without such facts gives none, and specificity is then 0 with
n = 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from thinkeval.cypher import rows
from thinkeval.loaders.records import SUBJECT_SLOT, RewriteRequest
from thinkeval.service.scoring.answers import Neighbor

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database

LIMIT = 10
"""As many as CounterFact has for each record."""

Pairs = tuple[tuple[str, str], ...]


def neighbors(db: Database, graph: str, rewrite: RewriteRequest) -> Pairs:
    """Complete prompts about other subjects, each with its right answer."""
    if rewrite.neighborhood:
        return rewrite.neighbors
    found = db.read(
        rows.NeighborRow,
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
    """What is asked at the prompts: their right answers or, at all of them, target_new."""
    return tuple(
        Neighbor(prompt, name, aliases.get(name, ()))
        for prompt, right in pairs
        for name in (right if target_new is None else target_new,)
    )
