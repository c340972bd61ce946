"""Rendering of templates to HTML, with escaping on, and the filters that format numbers."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from ... import __version__, formatting
from ...reports.formats import Column, Table
from ...reports.score_lines import metric_text

FOLDER = Path(__file__).parent
STATIC = FOLDER / "static"


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
        day=day,
        data=data,
        words=words,
        objects=objects,
        value=metric_text,
        coded=coded,
        quoted=shlex.quote,
        bytes=formatting.file_size,
        laid=laid,
    )
    further: dict[str, Any] = {"version": __version__}
    environment.globals.update(further)
    return environment


def day(moment: str | None) -> str:
    """An ISO 8601 time to the minute, UTC."""
    return "–" if moment is None else moment[:16].replace("T", " ")


def laid(table: Table[Any]) -> list[tuple[Column[Any], list[str], bool]]:
    """Return the columns of a table, each with its cells as text, and True if they are numbers."""
    return [(column, *column.cells(table.rows)) for column in table.columns]


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
