"""A description for every field and parameter of the OpenAPI document.

A field's description is, in this order: its own (`Field(description=…)`), the line of its model's
docstring under `Attributes:`, the entry of its schema in `schema_fields`, the entry of its name in
`shared_fields`. The first is empty where a name means the same everywhere.
"""

from __future__ import annotations

import re
from typing import Any

from .schema_fields import SCHEMA_FIELDS
from .shared_fields import PARAMETERS, SHARED_FIELDS

_SECTION = re.compile(r"(?:\A|\n)\s*Attributes:\n((?:[ \t]+\S.*(?:\n|\Z)|\s*\n)+)")
_ENTRY = re.compile(r"    (\w+(?:, \w+)*): (.*)")


def fill(document: dict[str, Any]) -> None:
    """Describe every field and parameter of a document that has no description of its own."""
    for name, schema in document["components"]["schemas"].items():
        told = _take_attributes(schema)
        schema.setdefault("description", "The form of the request.")
        for field, part in schema.get("properties", {}).items():
            text = (
                part.get("description")
                or told.get(field)
                or SCHEMA_FIELDS.get(name, {}).get(field)
                or SHARED_FIELDS.get(field)
            )
            if text:
                part["description"] = sentence(text)
    for operations in document["paths"].values():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                _describe_parameter(operation["operationId"], parameter)


def attributes(docstring: str) -> dict[str, str]:
    """{name: text} of a docstring's `Attributes:` section; one entry may name several."""
    section = _SECTION.search(docstring)
    found: dict[str, str] = {}
    names: list[str] = []
    for line in section[1].splitlines() if section else ():
        if entry := _ENTRY.fullmatch(line):
            names = entry[1].split(", ")
            found |= dict.fromkeys(names, entry[2])
        elif line.strip():
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
    return found


def sentence(text: str) -> str:
    """A description as a sentence about JSON: capitalised, with a full stop, `null` for `None`."""
    text = re.sub(r"\bNone\b", "null", text.strip())
    text = re.sub(r"\bTrue\b", "true", re.sub(r"\bFalse\b", "false", text))
    first = text.split(" ", 1)[0]
    if first.isalpha() and first.islower():
        text = text[0].upper() + text[1:]
    return text if text.endswith((".", "?", "!", ":")) else f"{text}."


def _take_attributes(schema: dict[str, Any]) -> dict[str, str]:
    """The section of a schema's description, moved out of it: the fields show it."""
    text = schema.get("description", "")
    told = attributes(text)
    if told:
        schema["description"] = _SECTION.sub("\n", text).strip()
    return told


def _describe_parameter(operation: str, parameter: dict[str, Any]) -> None:
    name = parameter["name"]
    text = (
        parameter.get("description")
        or parameter["schema"].get("description")
        or PARAMETERS.get(f"{operation}.{name}")
        or PARAMETERS.get(name)
    )
    if text:
        parameter["description"] = sentence(text)
