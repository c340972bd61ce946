"""Queries and styles as Neo4j Browser accepts them.

In Browser: paste these lines, then the text of the query. A query of mode `autocommit` needs the
prefix `:auto`. `:param x => ...` is evaluated by the server, so a value keeps its type; Browser
5.24 refuses the map form `:param {...}` with quoted keys.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

from .catalog import query
from .params import bind

_PARAM = re.compile(r"\$(\w+)")
_RULE = re.compile(r"([^{}]+)\{((?:[^{}\"]|\"[^\"]*\")*)\}")
_PROPERTY = re.compile(r"([\w-]+)\s*:\s*(\"[^\"]*\"|[^;]+);")


def param_lines(name: str, **params: Any) -> str:
    """One line `:param name => value;` for each parameter of a query, defaults included.

    Raises:
        ParameterError: a parameter is missing, unknown or invalid.
    """
    return param_list(bind(query(name), params))


def param_list(values: Mapping[str, Any], expressions: Mapping[str, str] | None = None) -> str:
    """One line `:param name => value;` for each value.

    Args:
        expressions: Cypher expressions that the server evaluates, in place of values.
    """
    written = {key: literal(value) for key, value in values.items()} | dict(expressions or {})
    return "\n".join(f":param {key} => {value};" for key, value in written.items())


def literal(value: Any) -> str:
    """A value as a Cypher literal: keys in backticks, texts in double quotes.

    A text cannot close its quotes: JSON's escapes are valid in Cypher, and a backslash is always
    doubled. `&` and `#` are escaped as well, since Browser cuts a link's query off there.
    """
    if isinstance(value, Mapping):
        pairs = (f"`{key.replace('`', '``')}`: {literal(each)}" for key, each in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(literal, value)) + "]"
    return json.dumps(value).replace("&", "\\u0026").replace("#", "\\u0023")


def filled(name: str, **params: Any) -> str:
    """A query without comments, with literals in place of its parameters.

    Raises:
        ParameterError: a parameter is missing, unknown or invalid.
    """
    found = query(name)
    sent = bind(found, params)
    (text,) = found.statements
    return _PARAM.sub(lambda match: literal(sent[match[1]]), text)


def style() -> str:
    """The style sheet of the graphs (GRASS), as `:style URL` fetches it."""
    return (resources.files("thinkeval.cypher") / "thinkeval.grass").read_text(encoding="utf-8")


def style_command() -> str:
    """The style sheet as one line without colon, for `browser.post_connect_cmd` or a guide.

    Browser accepts a style as JSON too, so that it fetches nothing.
    """
    rules = {
        selector.strip(): {key: value.strip('"') for key, value in _PROPERTY.findall(body)}
        for selector, body in _RULE.findall(style())
    }
    return f"style {json.dumps(rules)}"


def connect_commands() -> str:
    """Return the commands for `browser.post_connect_cmd`, which Browser runs when it connects.

    It draws the facts of a result and no others ("Connect result nodes" is off), puts our style on,
    and closes the frames opened so far, so that a link's query has none below it. The frame of
    `config`, which lists Browser's settings, is opened last and stays until it is closed.
    """
    return f"config autoComplete: false; {style_command()}; clear"
