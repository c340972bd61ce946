"""JSON schemas as text: what a field holds, with references to named schemas as links."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a type's text; `schema` is the named schema that it leads to."""

    text: str
    schema: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A field of a schema, or a parameter of an operation.

    Attributes:
        where: of a parameter: path, query or header; of a field empty.
        limits: bounds and default, in words.
    """

    name: str
    where: str
    type: tuple[Part, ...]
    required: bool
    limits: str
    description: str


def type_of(schema: dict[str, Any]) -> tuple[Part, ...]:
    """The type in words: `list of`, `ChainOut`, `or null`."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return (Part(name, name),)
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return _joined([type_of(each) for each in schema[key]])
    if "enum" in schema:
        return (Part(" | ".join(json.dumps(each) for each in schema["enum"])),)
    if "const" in schema:
        return (Part(json.dumps(schema["const"])),)
    kind = schema.get("type", "any value")
    if kind == "array":
        return _array(schema)
    if kind == "object":
        values = schema.get("additionalProperties")
        if isinstance(values, dict):
            return (Part("object of "), *type_of(values))
        return (Part("object"),)
    is_file = schema.get("format") == "binary" or "contentMediaType" in schema
    return (Part("file" if is_file else str(kind)),)


def row_of(name: str, schema: dict[str, Any], *, required: bool, where: str = "") -> Row:
    """A field or parameter by its schema."""
    return Row(
        name, where, type_of(schema), required, limits(schema), schema.get("description", "")
    )


def rows_of(schema: dict[str, Any]) -> list[Row]:
    """The fields of an object."""
    required = schema.get("required", ())
    return [
        row_of(name, part, required=name in required)
        for name, part in schema.get("properties", {}).items()
    ]


def limits(schema: dict[str, Any]) -> str:
    """Bounds and default: `at least 1; at most 5; default 5`."""
    said: list[str] = []
    parts = [schema, *(each for each in schema.get("anyOf", ()) if each.get("type") != "null")]
    for part in parts if len(parts) <= 2 else parts[:1]:
        for key, words in (
            ("minimum", "at least {}"),
            ("exclusiveMinimum", "above {}"),
            ("maximum", "at most {}"),
            ("exclusiveMaximum", "below {}"),
            ("maxLength", "at most {} characters"),
            ("minItems", "at least {} of them"),
            ("maxItems", "at most {} of them"),
        ):
            if key in part:
                bound = part[key]  # FastAPI writes bounds of integers as floats
                whole = isinstance(bound, float) and bound.is_integer()
                said.append(words.format(f"{int(bound) if whole else bound:,}"))
    if schema.get("default") is not None:
        said.append(f"default {json.dumps(schema['default'], ensure_ascii=False)}")
    return "; ".join(said)


def _array(schema: dict[str, Any]) -> tuple[Part, ...]:
    if "prefixItems" in schema:
        items = [type_of(each) for each in schema["prefixItems"]]
        if len(set(items)) > 1:
            return (Part("list of "), *_joined(items, ", "))
        return (Part(f"list of {len(items)} × "), *items[0])
    return (Part("list of "), *type_of(schema.get("items", {})))


def _joined(types: list[tuple[Part, ...]], word: str = " or ") -> tuple[Part, ...]:
    found: list[Part] = []
    for each in dict.fromkeys(types):
        found += [Part(word), *each] if found else each
    return tuple(found)
