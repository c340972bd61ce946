"""The guide that Neo4j Browser plays: the ten questions a user asks first, ready to run.

The queries are the files of cypher/explore/, put into the page when it is asked for, so that the
guide never says anything else than the files do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from thinkeval import cypher
from thinkeval.cypher.browser import param_list
from thinkeval.service.reports.browser import FOLDER, QUESTIONS, RULE_QUESTIONS, params_of

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup


NEWEST = (
    "COLLECT { MATCH (e:Edit {status: 'succeeded'})"
    " RETURN e.id ORDER BY datetime(e.created_at) DESC LIMIT 1 }[0]"
)
"""What $edit is set to where no edit is named: Browser lets the server work a parameter out."""


@dataclass(frozen=True, slots=True)
class Slide:
    """One question with the query that answers it."""

    name: str
    question: str
    doc: str
    returns: str
    text: str


def questions(chapter: Mapping[str, str] = QUESTIONS) -> list[Slide]:
    """A chapter's slides; the queries without their headers, which are told beside them."""
    slides = []
    for name, question in chapter.items():
        found = cypher.query(f"{FOLDER}{name}")
        body = found.text[found.text.index("\n\n") :].strip()
        slides.append(Slide(name, question, found.doc, found.returns, body))
    return slides


def settings(edit: str | None = None, **others: Any) -> str:
    """The lines that set every parameter the queries take; the newest edit if none is named."""
    params: dict[str, Any] = {"edit": edit}
    for name in (*QUESTIONS, *RULE_QUESTIONS):
        for key, param in params_of(name).items():
            params.setdefault(key, others.get(key, param.default))
    return param_list(params, {} if edit is not None else {"edit": NEWEST})


def render(service: str, edit: str | None = None, **others: Any) -> str:
    """The guide as Browser takes it.

    Args:
        service: address of this service, which Browser fetched the guide from.
        edit: the edit to ask about; None for the newest one.
        others: further parameters, where the score has others than the defaults.
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
    """A paragraph of a query's header: what stands between backticks becomes code."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))
