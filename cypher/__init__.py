"""All Cypher queries: one `.cypher` file each, with a contract in its header."""

from .catalog import Query, names, query

__all__ = ["Query", "names", "query"]
