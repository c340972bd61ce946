"""Finding a rewrite: what an error about a mistyped name suggests."""

from __future__ import annotations

import pytest

from support.own_graphs import hogwarts_as, own_graphs
from thinkeval.cypher.run import Database
from thinkeval.service.base.errors import NotFoundError
from thinkeval.service.graphs.requests import OwnRewrite, rewrites


def test_errors_suggest_the_rewrite_and_name_the_listing_of_relations(db: Database) -> None:
    with own_graphs(db) as prefix:
        graph = hogwarts_as(db, f"{prefix}-hogwarts")
        with pytest.raises(NotFoundError) as caught:
            rewrites(db, graph, ["hary-potter--studied-at"], OwnRewrite(), everything=False)
        assert caught.value.suggestions[0].startswith("harry-potter--studied-at--")
        own = OwnRewrite("Harry Potter", "studied att", None, "Hogwarts", "Durmstrang Institute")
        with pytest.raises(NotFoundError, match="Did you mean 'studied at'") as caught:
            rewrites(db, graph, [], own, everything=False)
        assert f"thinkeval graph rules relations {graph}" in caught.value.remedy
