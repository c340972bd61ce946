"""Values of the tabs on how an edit was asked, Neo4j, and export: commands, files, provenance."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .....cypher import rows
from ....reports.browser import QUESTIONS, guide_command, question_links
from ....scoring.chat_choice import way_of
from ..commands import commands
from .overview import numbers

if TYPE_CHECKING:
    from .....cypher.run import Database
    from ....reports.browser import Login
    from ....schemas import Score
    from .view import View

FIGURES = (("leakage", "leakage map"), ("chain", "first surviving chain"))

_PROVENANCE = (
    "model", "method", "hparams_digest", "covariance_corpus", "graph_digest", "probe", "seed",
    "strength", "versions", "created_at",
)  # fmt: skip


def asked_values(view: View) -> dict[str, Any]:
    """Values of `edit/asked.html`: every number, the request, and the inputs of the numbers."""
    found = view.score.provenance
    way = way_of(found)
    return (
        view.values("asked")
        | numbers(view)
        | {
            "provenance": [
                *([("chat", way)] if way else []),
                *((key, _plain(found[key])) for key in _PROVENANCE if found.get(key)),
            ],
            "whole": json.dumps(found, indent=1, ensure_ascii=False, default=str),
        }
    )  # fmt: skip


def neo4j_values(view: View, browser: str, base: str, login: Login) -> dict[str, Any]:
    """Values of `edit/neo4j.html`.

    Args:
        browser: address of Neo4j Browser; "" if it is unknown.
        base: address of the service.
        login: the login that Browser asks for the first time.
    """
    links = question_links(browser, view.score, view.measure) if browser else []
    return view.values("neo4j") | {
        "questions": QUESTIONS,
        "links": {link.name: link.url for link in links},
        "login": login,
        "style": f":style {base}/neo4j/thinkeval.grass",
        "guide": guide_command(base, view.score.edit),
    }


def export_values(view: View, base: str) -> dict[str, Any]:
    """Values of `edit/export.html`."""
    return view.values("export") | {
        "others": _others(view.db, view.score),
        "figures": FIGURES,
        "commands": commands(view.score, base),
    }


def _others(db: Database, score: Score) -> list[rows.PageEditRow]:
    """Newest scored edits of the same rewrite, one per method and model."""
    found = db.read(
        rows.PageEditRow,
        "edits/page_edits",
        dataset=score.dataset,
        rewrite=score.rewrite,
        status="succeeded",
        limit=100,
    )
    newest: dict[tuple[str, str], rows.PageEditRow] = {}
    for row in found:
        if row.id != score.edit:
            newest.setdefault((row.method, row.model), row)
    return sorted(newest.values(), key=lambda row: (row.model != score.model, row.method))[:20]


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {each}" for key, each in value.items() if each is not None)
    return str(value)
