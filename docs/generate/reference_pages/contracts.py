"""Contracts of catalogue queries as Markdown: prose, parameters, columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reference_pages.markdown import cell, code, docstring, table
from thinkeval import cypher
from thinkeval.cypher.catalog import Param, Query


def prose(doc: str) -> str:
    """The prose of a header, paragraph by paragraph."""
    return docstring(doc)


def params_table(query: Query) -> str:
    """The parameters of a query; a line where it has none."""
    rows = table(("Parameter", "Type", "Default", "Meaning"), _params(query.params))
    return rows or "No parameters."


def columns(query: Query) -> str:
    """The names of the columns, in order."""
    return f"Columns: {', '.join(map(code, query.columns))}." if query.columns else "No columns."


def _params(params: Mapping[str, Param], prefix: str = "$") -> Iterator[tuple[str, ...]]:
    for name, param in params.items():
        allowed = _type(param.type, param.nullable, param.choices, param.bounds)
        default = "" if param.required else code(_json(param.default))
        yield code(prefix + name), code(allowed), default, cell(param.doc)
        yield from _params(param.fields, f"{prefix}{name}.")


def _json(value: object) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _type(
    name: str,
    nullable: bool,
    choices: tuple[str, ...] = (),
    bounds: tuple[int, int] | None = None,
) -> str:
    inside = " | ".join(choices) if choices else f"{bounds[0]} to {bounds[1]}" if bounds else ""
    return f"{name}{f' ({inside})' if inside else ''}{' or NULL' if nullable else ''}"


def folders() -> dict[str, list[str]]:
    """The queries that are not metrics, by folder."""
    found: dict[str, list[str]] = {}
    for name in cypher.names():
        folder = name.split("/")[0]
        if folder != "metrics":
            found.setdefault(folder, []).append(name)
    return found
