"""Graphs of a test's own on the shared server: a prefix for their ids, and a broom.

`hogwarts_as` imports the demo graph under an id of one's own, so that edits of it are nobody
else's; the organism that was trained on `hogwarts` knows the same facts and is taken by its path.
`stored_edges` reads an edit graph back as brute force takes it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from support.references.reference import Edge
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.graphs import datasets


@contextmanager
def own_graphs(db: Database) -> Iterator[str]:
    """A prefix of one's own; graphs and edits that start with it are deleted afterwards."""
    prefix = f"test-{uuid.uuid4().hex[:10]}"
    try:
        yield prefix
    finally:
        for edit in db.read(rows.EditRow):
            if edit.dataset.startswith(prefix):
                db.write(rows.DeleteEditRow, id=edit.id)
        for dataset in {rule.dataset for rule in db.read(rows.RuleRow)}:
            if dataset.startswith(prefix):
                db.write(rows.DeleteRulesRow, dataset=dataset)
        for graph in db.read(rows.GraphRow, incomplete=True):
            if graph.dataset.startswith(prefix):
                db.autocommit(rows.DeleteGraphRow, graph=graph.graph)


def hogwarts_as(db: Database, name: str) -> str:
    """The demo graph under another id."""
    return datasets.store(db, datasets.read("hogwarts", name=name)).graph


def stored_edges(db: Database, edit: str, measure: str) -> list[Edge]:
    """The facts of an edit graph with one measure's probabilities."""
    return [
        Edge(
            id=row.fact,
            subject=row.subject,
            object=row.object,
            pre=getattr(row, f"{measure}_pre"),
            post=getattr(row, f"{measure}_post"),
            relation=row.relation,
            questions=row.questions,
            role=row.role,
            listed=row.listed,
            paraphrases_post=getattr(row, f"paraphrases_{measure}_post") or (),
            neighborhood_post=getattr(row, f"neighborhood_{measure}_post") or (),
        )
        for row in db.read(rows.FactRow, graph=edit)
    ]
