"""Edits of a data set that was replaced: no part of tables of the new content, and counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from support.own_graphs import own_graphs
from support.stored_edits import random_facts, store_edit
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.loaders.records import LoadedGraph
from thinkeval.service.base.cache import Cache
from thinkeval.service.base.errors import NothingStoredError
from thinkeval.service.graphs import datasets, requests
from thinkeval.service.reports.comparison import compare
from thinkeval.service.scoring import record
from thinkeval.service.web.pages import matrix, methods


@pytest.fixture
def graph(db: Database) -> Iterator[str]:
    with own_graphs(db) as prefix:
        yield f"{prefix}-g"


def without_a_fact(loaded: LoadedGraph) -> LoadedGraph:
    """The same data set, one fact fewer."""
    return replace(loaded, graph=replace(loaded.graph, facts=loaded.graph.facts[1:]))


def scored(db: Database, graph: str, method: str, *, tag: str = "") -> str:
    """Store an edit that was scored on the content which is stored now."""
    edit = f"{graph}-{method}{tag}"
    digest = datasets.graph_digest(db, graph)
    facts = random_facts(1)
    # A request of a user's own, which is no part of the data set.
    about = {"rewrite": "own:a-rewrite", "provenance": {"graph_digest": digest}}
    store_edit(db, edit, facts, dataset=graph, method=method, **about)
    return edit


def test_edits_of_replaced_content_are_left_out_and_counted(db: Database, graph: str) -> None:
    first = datasets.read("hogwarts", name=graph)
    datasets.store(db, first)
    rome, none = scored(db, graph, "rome"), scored(db, graph, "none")
    boards = Cache(32)
    named = [row["Method"] for row in methods.board(db, boards, graph, "", None)["rows"]]
    assert sorted(named) == ["none", "rome"]

    outcome = datasets.store(db, without_a_fact(first), replace=True)
    assert (outcome.status, outcome.n_outdated) == ("replaced", 2)
    assert datasets.of_other_content(db, graph) == {rome, none}
    with pytest.raises(NothingStoredError, match="2 edits left out that were scored on other"):
        record.scores(db, [], graph=graph)
    again = scored(db, graph, "none", tag="-2")
    notes: list[str] = []
    found = record.scores(db, [], graph=graph, notes=notes)
    assert [score.edit for score in found] == [again]
    said = "2 edits left out that were scored on other content of the graph than is stored now."
    assert notes == [said]
    assert compare(db, found, "likelihood", notes=notes).warnings[0] == said
    board = methods.board(db, boards, graph, "", None)
    assert ([row["Method"] for row in board["rows"]], board["warnings"][0]) == (["none"], said)
    every, again_said = matrix.stored_scores(db, boards, graph)
    assert ([score.edit for score in every], again_said) == ([again], [said])
    # Edits that are named are shown, and marked.
    notes.clear()
    assert len(record.scores(db, [rome, again], notes=notes)) == 2
    assert notes == [
        "1 edit shown that was scored on other content of the graph than is stored now."
    ]

    # The former content comes back: its edits count again, and those of the other do not.
    assert datasets.store(db, first, replace=True).n_outdated == 1
    assert datasets.of_other_content(db, graph) == {again}
    board = methods.board(db, boards, graph, "", None)
    assert sorted(row["Method"] for row in board["rows"]) == ["none", "rome"]


def test_requests_that_are_added_are_no_other_content(db: Database, graph: str) -> None:
    whole = datasets.read("hogwarts", name=graph)
    fewer = replace(whole, graph=replace(whole.graph, rewrites=whole.graph.rewrites[1:]))
    datasets.store(db, fewer)
    scored(db, graph, "rome")
    assert datasets.store(db, whole, replace=True).n_outdated == 0
    one = replace(whole.graph.rewrites[0], id="another-request")
    requests.store(db, whole.graph, [one])
    assert datasets.of_other_content(db, graph) == set()
    (row,) = db.read(rows.GraphRow, "graph/get_graph", graph=graph)
    assert set(row.extends) == {fewer.graph.content_digest, whole.graph.content_digest}
    # A request that changes, or goes, is other content.
    changed = replace(whole.graph.rewrites[0], target_new="Beauxbatons")
    other = replace(whole.graph, rewrites=(changed, *whole.graph.rewrites[1:]))
    assert datasets.store(db, replace(whole, graph=other), replace=True).n_outdated == 1
