"""The requests of a comparison: rewrites of the graph by name, and facts to be forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thinkeval.service.graphs import rewrites as selection
from thinkeval.service.states.schemas import ComparisonIn

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database
    from thinkeval.loaders.records import RewriteRequest


def requests_of(db: Database, posted: ComparisonIn) -> list[RewriteRequest]:
    """What a comparison scores, each once; empty where the graph is only watched.

    Raises:
        NotFoundError: no such rewrite, subject or fact; close names are suggested.
        UsageError: an ambiguous name, or a fact in another form.
    """
    none = selection.OwnRewrite()
    found: list[RewriteRequest] = []
    if posted.all_rewrites:
        found += selection.rewrites(db, posted.graph, [], none, True)
    if posted.rewrites:
        found += selection.rewrites(db, posted.graph, posted.rewrites, none, False)
    for text in posted.forget:
        found += selection.rewrites(db, posted.graph, [], selection.to_forget(text), False)
    return list({request.id: request for request in found}.values())
