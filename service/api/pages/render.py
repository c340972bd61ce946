"""Templates to HTML: one environment, escaping on, and how numbers are written on the page."""

from __future__ import annotations

import json
import math
import shlex
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from thinkeval.cypher.metric_options import integers
from thinkeval.service import __version__
from thinkeval.service.schemas import MetricValue

FOLDER = Path(__file__).parent
STATIC = FOLDER / "static"


def render(template: str, **values: Any) -> str:
    """A template of `templates/` as HTML; a value it misses is an error."""
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
        figure=figure,
        short=short,
        share=share,
        day=day,
        data=data,
        words=words,
        value=value,
        coded=coded,
        quoted=shlex.quote,
        bytes=size,
    )
    environment.globals["version"] = __version__
    return environment


def figure(number: float | None) -> str:
    """A number as the terminal prints it: three decimals, – where there is none."""
    return "–" if number is None or math.isnan(number) else f"{number:.3f}"


def value(held: MetricValue | None) -> str:
    """A metric with its 95 % interval, as the terminal prints it."""
    if held is None:
        return "–"
    if held.metric in integers():
        return f"{held.value:g}"
    if held.low is None or held.high is None:
        return figure(held.value)
    return f"{figure(held.value)} [{held.low:.2f}, {held.high:.2f}]"


def short(number: float | None) -> str:
    """A probability or ratio as the papers' figures write it: .93, and small ones to the point."""
    if number is None or math.isnan(number):
        return "–"
    if number == 0:
        return "0"
    if number < 0.001:
        return "<.001"
    if number >= 100:
        return f"{number:.0f}"
    text = f"{number:.2f}" if number >= 0.1 else f"{number:.3f}"
    return text.removeprefix("0")


def share(number: float) -> str:
    """A share as per cent."""
    return f"{100 * number:.0f} %"


def size(number: int) -> str:
    """A file's size: 14 KB."""
    return f"{number / 1e6:.1f} MB" if number >= 1e6 else f"{math.ceil(number / 1000)} KB"


def day(moment: str | None) -> str:
    """A moment in ISO 8601 to the minute, UTC."""
    return "–" if moment is None else moment[:16].replace("T", " ")


def words(relation: str) -> str:
    """A relation as words: data sets write it with hyphens or with blanks."""
    return relation.replace("-", " ").replace("_", " ")


def coded(text: str) -> Markup:
    """A text with what stands `so` as code; escaped like any other."""
    parts = escape(text).split("`")
    if len(parts) % 2 == 0:  # an odd backtick is a backtick
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if i % 2 else part for i, part in enumerate(parts)
    )


def data(held: Any) -> Markup:
    """JSON for a `<script type="application/json">`; nothing in it can end the element."""
    text = json.dumps(held, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
