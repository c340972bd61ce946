"""Guide for Neo4j Browser: the questions a user asks first, with queries ready to run.

The queries are the files of cypher/explore/, inserted when the guide is requested, so that the
guide and the files agree.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from thinkeval import cypher

from ....cypher.browser import param_list
from ...reports.browser import FOLDER, QUESTIONS, RULE_QUESTIONS, params_of

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup


NEWEST = (
    "COLLECT { MATCH (e:Edit {status: 'succeeded'})"
    " RETURN e.id ORDER BY datetime(e.created_at) DESC LIMIT 1 }[0]"
)
"""Value of $edit if no edit is named: the server evaluates a parameter's expression."""


@dataclass(frozen=True, slots=True)
class Slide:
    """One question with the query that answers it."""

    name: str
    question: str
    doc: str
    text: str


def questions(chapter: Mapping[str, str] = QUESTIONS) -> list[Slide]:
    """Slides of a chapter; the queries without their headers, whose text is beside them."""
    slides = []
    for name, question in chapter.items():
        found = cypher.query(f"{FOLDER}{name}")
        body = found.text[found.text.index("\n\n") :].strip()
        slides.append(Slide(name, question, found.doc, body))
    return slides


def settings(edit: str | None = None, **others: Any) -> str:
    """Lines that set every parameter of the queries; the newest edit if none is named."""
    params: dict[str, Any] = {"edit": edit}
    for name in (*QUESTIONS, *RULE_QUESTIONS):
        for key, param in params_of(name).items():
            params.setdefault(key, others.get(key, param.default))
    return param_list(params, {} if edit is not None else {"edit": NEWEST})


def render(service: str, edit: str | None = None, **others: Any) -> str:
    """The guide as HTML for Neo4j Browser.

    Args:
        service: address of this service, from which Browser fetches the guide.
        edit: the edit of the queries; None for the newest one.
        others: parameters whose values differ from the defaults.
    """
    return _template().render(
        service=service.rstrip("/"),
        edit=edit,
        params=settings(edit, **others),
        slides=questions(),
        rule_slides=questions(RULE_QUESTIONS),
    )


@cache
def _template() -> Template:
    import jinja2

    loader = jinja2.PackageLoader("thinkeval.service.api", "pages")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.filters["coded"] = _coded
    return environment.get_template("guide.html")


def _coded(text: str) -> Markup:
    """A paragraph of a query's header; text in backticks becomes code."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))
