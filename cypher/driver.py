"""The Neo4j driver: all files of this package take it from here."""

from __future__ import annotations

from .driver_tables import tables_left_out

with tables_left_out():
    import neo4j
    import neo4j.exceptions
    import neo4j.graph
    import neo4j.spatial
    import neo4j.time

__all__ = ["neo4j"]
