"""Writes a query's parameters the way Neo4j Browser takes them, so that a query can be pasted.

In Browser: paste the line this gives, then the text of the query. A query of mode `autocommit`
wants `:auto` in front of it there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from cypher.catalog import query
from cypher.params import bind


def params_line(name: str, **params: Any) -> str:
    """The line `:param {...}` that sets all parameters of a query, defaults included.

    Raises:
        ParameterError: as when the query is given to the server.
    """
    sent = bind(query(name), params)
    return f":param {literal(sent)}"


def literal(value: Any) -> str:
    """A value as Cypher writes it: keys in backticks, texts in double quotes."""
    if isinstance(value, Mapping):
        pairs = (f"`{key.replace('`', '``')}`: {literal(each)}" for key, each in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(literal, value)) + "]"
    return json.dumps(value)
