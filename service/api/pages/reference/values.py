"""The OpenAPI document as the values of the reference's templates."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ....errors import NotFoundError
from .types import JSON, Part, Row, row_of, rows_of, type_of

Document = dict[str, Any]

TITLES = {"depedit": "DepEdit", "coedits": "Co-edits"}
"""Headings of subjects whose tag does not read as one."""
SUCCESS = "Successful Response"
"""FastAPI's description of an answer that has none."""


@dataclass(frozen=True, slots=True)
class Body:
    """What a request or an answer consists of.

    Attributes:
        media: media type; empty where there is no body.
        rows: its fields, of an object.
        examples: JSON as it is sent, indented.
    """

    media: str
    type: tuple[Part, ...]
    rows: list[Row]
    examples: list[str]
    description: str = ""
    status: str = ""


@dataclass(frozen=True, slots=True)
class Operation:
    """A method and path, as the list shows it."""

    id: str
    method: str
    path: str
    summary: str
    description: str
    tag: str
    part: dict[str, Any] = field(repr=False)


def operations(document: Document) -> Iterator[Operation]:
    """Every operation, in the document's order."""
    for path, methods in document["paths"].items():
        for method, part in methods.items():
            yield Operation(
                part["operationId"], method.upper(), path,
                part["summary"], part["description"], part["tags"][0], part,
            )  # fmt: skip


def title(tag: str) -> str:
    """Heading of a subject."""
    return TITLES.get(tag, tag.capitalize())


def index(document: Document, query: str = "") -> dict[str, Any]:
    """Operations by subject; with a query those only whose text has all of its words."""
    words = query.casefold().split()
    groups: dict[str, list[Operation]] = {tag["name"]: [] for tag in document["tags"]}
    for each in operations(document):
        text = f"{each.id} {each.method} {each.path} {each.summary} {each.description}".casefold()
        if all(word in text for word in words):
            groups.setdefault(each.tag, []).append(each)
    about = {tag["name"]: tag["description"] for tag in document["tags"]}
    return {
        "query": query,
        "groups": [
            (name, title(name), about.get(name, ""), found)
            for name, found in groups.items()
            if found
        ],
        "total": sum(map(len, groups.values())),
        "schemas": sorted(document["components"]["schemas"], key=str.casefold),
    }


def operation(document: Document, name: str, url: str) -> dict[str, Any]:
    """One operation: parameters, body, answers, and a command that sends it.

    Raises:
        NotFoundError: no operation has this id.
    """
    known = {each.id: each for each in operations(document)}
    if name not in known:
        raise NotFoundError("operation", name, known, listing="GET /docs")
    found = known[name]
    parameters = [
        row_of(
            each["name"],
            each["schema"] | {"description": each.get("description", "")},
            required=each.get("required", False),
            where=each["in"],
        )
        for each in found.part.get("parameters", ())
    ]
    content = found.part.get("requestBody", {}).get("content", {})
    bodies = [_body(document, media, part) for media, part in content.items()]
    return {
        "operation": found,
        "subject": title(found.tag),
        "parameters": parameters,
        "bodies": bodies,
        "answers": list(_answers(document, found.part)),
        "command": _command(found, bodies, url),
    }


def schema(document: Document, name: str) -> dict[str, Any]:
    """One named schema, its fields, and where it is used.

    Raises:
        NotFoundError: no schema has this name.
    """
    schemas = document["components"]["schemas"]
    if name not in schemas:
        raise NotFoundError("schema", name, schemas, listing="GET /docs")
    mark = f'"#/components/schemas/{name}"'
    return {
        "name": name,
        "about": schemas[name].get("description", ""),
        "rows": rows_of(schemas[name]),
        "used": [each for each in operations(document) if mark in json.dumps(each.part)],
        "within": [
            other for other, part in schemas.items() if other != name and mark in json.dumps(part)
        ],
    }


def _answers(document: Document, part: dict[str, Any]) -> Iterator[Body]:
    for status, answer in part["responses"].items():
        about = answer.get("description", "").replace(SUCCESS, "")
        for media, content in answer.get("content", {}).items() or (("", {}),):
            shown = _body(document, media, content)
            yield Body(shown.media, shown.type, shown.rows, shown.examples, about, status)


def _body(document: Document, media: str, content: dict[str, Any]) -> Body:
    schema = content.get("schema", {})
    inner = _resolved(document, schema)
    examples = [content["example"]] if "example" in content else []
    if media == JSON and not examples:
        examples = list(inner.get("examples", ()))
    type = type_of(schema) if schema else ()
    return Body(media, type, rows_of(inner), [_pretty(each) for each in examples])


def _resolved(document: Document, schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        return document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _command(operation: Operation, bodies: list[Body], url: str) -> str:
    parts = ["curl", "-sS"]
    if operation.method != "GET":
        parts += ["-X", operation.method]
    body = next((each for each in bodies if each.media == JSON), None)
    if body is not None:
        example = json.loads(body.examples[0]) if body.examples else {}
        parts += ["-H", "Content-Type: application/json"]
        parts += ["-d", json.dumps(example, ensure_ascii=False)]
    elif bodies:
        parts += ["-F", "file=@FILE"]
    return shlex.join([*parts, f"{url}{operation.path}"])
