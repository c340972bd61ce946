"""The requests of a comparison: rewrites of the graph by name, and facts to be forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import UsageError
from ..graphs import rewrites as selection
from ..rules.groundings import rules_for
from .schemas import ComparisonIn

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...loaders.records import RewriteRequest


def requests_of(db: Database, posted: ComparisonIn) -> list[RewriteRequest]:
    """Return the requests of a comparison, each once; none where the graph is only watched.

    Raises:
        NotFoundError: no such rewrite, subject or fact; close names are suggested.
        UsageError: an ambiguous name, or a fact in another form; implications of no request.
        NothingStoredError: implications of a graph without kept rules.
    """
    none = selection.OwnRewrite()
    found: list[RewriteRequest] = []
    if posted.all_rewrites:
        found += selection.rewrites(db, posted.graph, [], none, True)
    if posted.rewrites:
        found += selection.rewrites(db, posted.graph, posted.rewrites, none, False)
    for text in posted.forget:
        found += selection.rewrites(db, posted.graph, [], selection.to_forget(text), False)
    if posted.implications:
        if not found:
            raise UsageError(
                "Implications are those of requests, and nothing is requested: the graph is"
                " watched.",
                remedy="Name rewrites, or facts to forget.",
            )
        rules_for(db, posted.graph)  # refused now, not by a worker
    return list({request.id: request for request in found}.values())
