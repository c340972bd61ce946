"""The chains of a grown graph, from the seed's subject to its object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...cypher import rows
from ...editing.probe.matching import normalise
from .loop import seed_of

if TYPE_CHECKING:
    from ...cypher.run import Database
    from .schemas import GrowthIn


def chains_of(db: Database, graph: str, posted: GrowthIn) -> list[rows.ChainRow]:
    """The chains, shortest first; none without a seed, or where the graph does not hold it."""
    seed = seed_of(posted)
    if seed is None:
        return []
    names = {
        normalise(name): entity.name
        for entity in db.read(rows.EntityRow, "graph/entities", graph=graph)
        for name in (*entity.aliases, entity.name)
    }
    subject, _, object = seed
    return db.read(
        rows.ChainRow,
        "chains/enumerate",
        graph=graph,
        subject=names.get(normalise(subject), subject),
        object=names.get(normalise(object), object),
        max_steps=posted.max_steps,
        bare="include",
    )
