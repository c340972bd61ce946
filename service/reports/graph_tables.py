"""The table of stored graphs, as the command line and the list of data sets show it."""

from __future__ import annotations

from ..graphs.datasets import StoredGraph
from .formats import Column

GRAPHS: list[Column[StoredGraph]] = [
    Column("graph", lambda g: g.id, whole=True),
    Column("kind", lambda g: g.kind),
    Column("facts", lambda g: g.n_facts),
    Column("entities", lambda g: g.n_entities, optional=3),
    Column("rewrites", lambda g: g.n_rewrites, optional=2),
    Column("model", lambda g: g.model, whole=True, optional=1),
    Column("created", lambda g: g.created_at, lambda at: at[:16].replace("T", " "), optional=4),
]
