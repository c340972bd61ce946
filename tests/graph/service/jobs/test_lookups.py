"""One look-up of the data set and of its rewrites when an edit is submitted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.counted_reads import counted_reads
from support.own_graphs import hogwarts_as, own_graphs
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.base.settings import Settings
from thinkeval.service.experiments.edit import EDIT
from thinkeval.service.models.edit import EditIn, RewriteIn

WRITTEN = RewriteIn(
    subject="Draco Malfoy",
    prompt="{} studied at",
    target_true="Hogwarts School of Witchcraft and Wizardry",
    target_new="Beauxbatons Academy",
)


@pytest.fixture
def graph(db: Database) -> Iterator[str]:
    with own_graphs(db) as prefix:
        graph = hogwarts_as(db, f"{prefix}-hogwarts")
        yield graph
        for edit in db.read(rows.PageEditRow, "edits/page_edits", dataset=graph, limit=1000):
            db.write(rows.DeleteEditRow, "edits/delete_edit", id=edit.id)


@pytest.mark.parametrize("rewrite", ["harry-potter--studied-at", WRITTEN], ids=["named", "written"])
def test_a_submitted_edit_looks_its_data_set_up_once(
    db: Database, graph: str, rewrite: str | RewriteIn
) -> None:
    with counted_reads(graph) as counts:
        EDIT.store.submit(db, Settings(), EditIn(graph=graph, rewrite=rewrite))
    assert counts["graph/get_graph"] == 1
    assert counts["graph/facts"] == 0
    assert counts["graph/get_rewrite"] + counts["graph/list_rewrites"] == 1
