"""The graph in its own language: one query a file, each with a contract in its header."""

from thinkeval.cypher.catalog import Query, names, query

__all__ = ["Query", "names", "query"]
