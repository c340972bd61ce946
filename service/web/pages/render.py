"""Rendering of templates to HTML, with escaping on, and the static files of the web UI."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import fastapi_offline
from fastapi import APIRouter
from fastapi.responses import FileResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from ... import __version__
from ...base import formatting
from ...base.errors import NotFoundError
from ...graphs.edges import became
from ...reports.edit import metric_text
from ...reports.formats import Column, Table
from ...reports.verdict import MEANINGS

FOLDER = Path(__file__).parent.parent
STATIC = FOLDER / "static"
SITE = FOLDER.parents[1] / "build/site"
"""The documentation site, where `mkdocs build` wrote it into a clone."""


def render(template: str, **values: Any) -> str:
    """A template of `templates/` as HTML; a missing value is an error."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        figure=formatting.number,
        short=formatting.short,
        signed=formatting.signed,
        interval=formatting.interval,
        share=formatting.percent,
        several=formatting.pluralize,
        became=became,
        day=day,
        data=data,
        words=words,
        objects=objects,
        value=metric_text,
        coded=coded,
        quoted=shlex.quote,
        bytes=formatting.file_size,
        laid=laid,
        meanings=meanings,
        part=part,
    )
    further: dict[str, Any] = {"version": __version__, "kind_meanings": MEANINGS}
    environment.globals.update(further)
    return environment


def day(moment: str | None) -> str:
    """An ISO 8601 time to the minute, UTC."""
    return "–" if moment is None else moment[:16].replace("T", " ")


def laid(table: Table[Any]) -> list[tuple[Column[Any], list[str], bool]]:
    """Return the columns of a table, each with its cells as text, and True if they are numbers."""
    return [(column, *column.cells(table.rows)) for column in table.columns]


def part(table: Table[Any], start: int, end: int = 0) -> Table[Any]:
    """Some rows of a table; what is below it stays with the first ones."""
    shown = replace(table, rows=table.rows[start : end or None])
    return replace(shown, note="", rules="") if start else shown


def meanings(table: Table[Any]) -> tuple[dict[str, str], str, str]:
    """Split note and rules of a table: what they say of single columns, and the rest of each."""
    headers = {column.header.lower(): column.header for column in table.columns}
    found: dict[str, str] = {}

    def rest(text: str) -> Iterator[str]:
        for part in re.split(r"(?<=[;.]) ", text):
            name, colon, meaning = part.partition(": ")
            if colon and name.lower() in headers:
                found[headers[name.lower()]] = meaning.rstrip(";.")
            else:
                yield part

    return found, " ".join(rest(table.note)), " ".join(rest(table.rules))


def words(relation: str) -> str:
    """A relation as words: data sets write it with hyphens, underscores or spaces."""
    return relation.replace("-", " ").replace("_", " ")


def objects(request: Any) -> Markup:
    """The old object of a request or edit, struck through, and its replacement."""
    true, new = (
        request[name] if isinstance(request, Mapping) else getattr(request, name)
        for name in ("target_true", "target_new")
    )
    old = Markup("<s>{}</s>").format(true)
    if new:
        return Markup("{} → {}").format(old, new)
    return Markup("{} (forgotten)").format(old)


def coded(text: str) -> Markup:
    """A text whose `parts in backticks` become code; escaped like any other."""
    parts = escape(text).split("`")
    if len(parts) % 2 == 0:  # an odd backtick is a backtick
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if i % 2 else part for i, part in enumerate(parts)
    )


def data(content: Any) -> Markup:
    """JSON for a `<script type="application/json">`; nothing in it can end the element."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


# Static files of the web UI: its scripts, styles and icon, and Swagger UI's of fastapi-offline.

router = APIRouter(include_in_schema=False)

SWAGGER = Path(fastapi_offline.__file__).with_name("static")
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@router.get("/static/{name}")
def static(name: str) -> Response:
    """A script, style or icon of the web UI; other names are never resolved as paths."""
    found = (*STATIC.iterdir(), *SWAGGER.glob("swagger-ui*"))
    files = {path.name: path for path in found if path.suffix in TYPES}
    if name not in files:
        raise NotFoundError("file", name, files, listing="GET /")
    # Revalidated at every visit (304), so that an update is visible at once.
    headers = {"Cache-Control": "no-cache"}
    return FileResponse(files[name], media_type=TYPES[files[name].suffix], headers=headers)


@router.get("/favicon.ico")
def favicon() -> Response:
    """The icon, for browsers that request it by default."""
    return FileResponse(STATIC / "icon.svg", media_type=TYPES[".svg"])
