"""docs/reference/rest.md: every operation of the OpenAPI document, by tag, and its schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from reference_pages.markdown import (
    anchor,
    blocks,
    cell,
    code,
    details,
    docstring,
    fence,
    inline,
    table,
)
from thinkeval.service.api.app import create_app

EXAMPLE_LINES = 50
"""Examples are cut at the depth that keeps them this long."""

FIELDS_SHOWN = 6
"""Schemas with more fields are closed until they are opened."""

_ATTRIBUTES = re.compile(r"\n\s*Attributes:\n.*", re.S)


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document of the service."""
    return create_app(workers=0).openapi()


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    """(method, path, operation), in the order of the document."""
    return [
        (method.upper(), path, operation)
        for path, methods in document()["paths"].items()
        for method, operation in methods.items()
    ]


def page() -> str:
    """The Markdown: the operations by tag, then the schemas by name."""
    tags = {tag["name"]: tag["description"] for tag in document()["tags"]}
    found = operations()
    return blocks(
        "# REST",
        f"The {len(found)} operations of the service, by subject: parameters, bodies, answers and"
        " an example answer of each; then the schemas.",
        "`thinkeval serve` gives the same at `/docs` and as an OpenAPI document at"
        " `/openapi.json`. An error is a problem (`application/problem+json`) with `detail` and"
        " `remedy`; [Errors](errors.md) lists them. Where the service has a token, every request"
        " carries `Authorization: Bearer TOKEN`. A repeated request is safe: the same edit has the"
        " same id, and `Idempotency-Key` marks a request that must be done once.",
        *_contents(tags),
        *(_tag(tag, text) for tag, text in tags.items() if _of(tag)),
        "## Schemas",
        "Fields that an answer always has are marked in the column *Required*; so are fields that a"
        " body must have.",
        *(
            _schema(name, each)
            for name, each in sorted(document()["components"]["schemas"].items())
        ),
    )


def _of(tag: str) -> list[tuple[str, str, dict[str, Any]]]:
    return [each for each in operations() if (each[2].get("tags") or [""])[0] == tag]


def _contents(tags: Mapping[str, str]) -> Iterator[str]:
    for tag in tags:
        rows = [
            (code(f"{method} {path}"), f"[{inline(each['summary'])}](#{anchor(each['summary'])})")
            for method, path, each in _of(tag)
        ]
        if rows:
            yield f"**[{tag}](#{anchor(tag)})**"
            yield table(("Operation", "What it does"), rows)


def _tag(tag: str, text: str) -> str:
    return blocks(f"## {tag}", inline(text), *(_operation(*each) for each in _of(tag)))


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> str:
    parameters = [
        (
            code(each["name"]),
            each["in"],
            _kind(each["schema"]),
            "required" if each.get("required") else _default(each["schema"]),
            cell(each.get("description") or each["schema"].get("description", "")),
        )
        for each in operation.get("parameters", [])
    ]
    return blocks(
        f"### {operation['summary']}",
        fence(f"{method} {path}", "text"),
        docstring(operation.get("description")),
        table(("Parameter", "In", "Type", "Default", "Meaning"), parameters),
        *_body(operation.get("requestBody")),
        *_answers(operation["responses"]),
    )


def _body(body: Mapping[str, Any] | None) -> Iterator[str]:
    for media, content in (body or {}).get("content", {}).items():
        needed = "" if (body or {}).get("required") else "; may be left out"
        yield f"Body ({code(media)}): {_kind(content['schema'])}{needed}"
        for example in _examples(content):
            yield details("Example body", fence(_short(example), "json"))


def _answers(responses: Mapping[str, Any]) -> Iterator[str]:
    rows, examples = [], []
    for status, response in sorted(responses.items()):
        content = response.get("content", {})
        kinds = [_kind(each.get("schema", {})) or code(media) for media, each in content.items()]
        if status == "default":
            rows.append(("any other", "a [problem](errors.md#problem)", "An error."))
            continue
        text = response["description"].replace("Successful Response", "")
        rows.append((code(status), ", ".join(dict.fromkeys(kinds)), cell(text)))
        for each in content.values():
            examples += [(status, example) for example in _examples(each)]
    yield table(("Status", "Answer", "When"), rows)
    for status, example in examples:
        yield details(f"Example answer {status}", _shown(example))


def _examples(content: Mapping[str, Any]) -> list[Any]:
    if "example" in content:
        return [content["example"]]
    return [each["value"] for each in content.get("examples", {}).values() if "value" in each]


def _shown(example: Any) -> str:
    if isinstance(example, str):
        lines = example.strip().splitlines()
        rest = (
            [f"… ({len(lines) - EXAMPLE_LINES} more lines)"] if len(lines) > EXAMPLE_LINES else []
        )
        return fence("\n".join([*lines[:EXAMPLE_LINES], *rest]), "text")
    return fence(_short(example), "json")


def _short(example: Any) -> str:
    """An example as JSON, with the parts below some depth as `…` if it is long."""
    text = ""
    for depth in range(8, 0, -1):
        text = json.dumps(_cut(example, depth), ensure_ascii=False, indent=2)
        if text.count("\n") <= EXAMPLE_LINES:
            break
    return text


def _cut(value: Any, depth: int) -> Any:
    if isinstance(value, dict):
        return {k: _cut(v, depth - 1) for k, v in value.items()} if depth else {"…": "…"}
    if isinstance(value, list):
        return [_cut(each, depth - 1) for each in value] if depth or not value else ["…"]
    return value


def _kind(schema: Mapping[str, Any]) -> str:
    """The type of a schema: links to named ones, bounds of numbers, allowed texts."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"[`{name}`](#{anchor(name)})"
    if "anyOf" in schema or "oneOf" in schema:
        found = [_kind(each) for each in schema.get("anyOf", schema.get("oneOf"))]
        return " or ".join(dict.fromkeys(found))
    if "const" in schema:
        return code(json.dumps(schema["const"], ensure_ascii=False))
    if "enum" in schema:
        return ", ".join(code(each) for each in schema["enum"])
    kind = schema.get("type", "")
    if kind == "array":
        return f"list of {_kind(schema.get('items', {})) or 'values'}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_kind(schema['additionalProperties']) or 'values'}"
    return f"{schema.get('format') or kind}{_bounds(schema)}"


def _bounds(schema: Mapping[str, Any]) -> str:
    signs = {
        "minimum": "≥ ", "exclusiveMinimum": "> ", "maximum": "≤ ", "exclusiveMaximum": "&lt; ",
        "minLength": "length ≥ ", "maxLength": "length ≤ ",
    }  # fmt: skip
    found = [f"{sign}{schema[key]:g}" for key, sign in signs.items() if key in schema]
    return f" ({', '.join(found)})" if found else ""


def _default(schema: Mapping[str, Any]) -> str:
    if schema.get("default") is None:
        return ""
    return code(json.dumps(schema["default"], ensure_ascii=False))


def _schema(name: str, schema: Mapping[str, Any]) -> str:
    required = schema.get("required", [])
    rows = [
        (
            code(field),
            _kind(each),
            "yes" if field in required else "",
            _default(each),
            cell(each.get("description", "")),
        )
        for field, each in schema.get("properties", {}).items()
    ]
    shown = table(("Field", "Type", "Required", "Default", "Meaning"), rows) or _kind(schema)
    if len(rows) > FIELDS_SHOWN:
        shown = details(f"{len(rows)} fields", shown)
    text = _ATTRIBUTES.sub("", "\n" + schema.get("description", ""))
    return blocks(f"### {name}", docstring(text), shown)
