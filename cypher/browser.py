"""Writes a query's parameters the way Neo4j Browser takes them, so that a query can be pasted.

In Browser: paste the lines this gives, then the text of the query. A query of mode `autocommit`
wants `:auto` in front of it there. `:param x => ...` is evaluated by the server, so a value keeps
its type; Browser 5.24 refuses the map form `:param {...}` with quoted keys.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from cypher.catalog import query
from cypher.params import bind


def param_lines(name: str, **params: Any) -> str:
    """One line `:param name => value;` for each parameter of a query, defaults included.

    Raises:
        ParameterError: as when the query is given to the server.
    """
    sent = bind(query(name), params)
    return "\n".join(f":param {key} => {literal(value)};" for key, value in sent.items())


def literal(value: Any) -> str:
    """A value as Cypher writes it: keys in backticks, texts in double quotes."""
    if isinstance(value, Mapping):
        pairs = (f"`{key.replace('`', '``')}`: {literal(each)}" for key, each in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(literal, value)) + "]"
    return json.dumps(value)
