"""Graphs of a test's own on the shared server: a prefix for their ids, and a broom.

`hogwarts_as` imports the demo graph under an id of one's own, so that edits of it are nobody
else's; the organism that was trained on `hogwarts` knows the same facts and is taken by its path.
`atlas_as` does the same for the graph whose rules give knowledge sets, and `appending` writes a
request to append an answer to a fact of the demo graph.
`stored_edges` reads an edit graph back as brute force takes it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from support.references.reference import Edge
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.editing.probe.matching import gives
from thinkeval.loaders import graphs, rules
from thinkeval.loaders.rules_yaml import load_rules
from thinkeval.service.graphs import datasets
from thinkeval.service.rules import store as rule_store

STORED = """
MATCH (e:Edit) WHERE e.id STARTS WITH $prefix OR e.dataset STARTS WITH $prefix
RETURN 'edit' AS kind, e.id AS id
UNION
MATCH (r:Rule) WHERE r.dataset STARTS WITH $prefix
RETURN 'rules' AS kind, r.dataset AS id
UNION
MATCH (g:Graph) WHERE g.id STARTS WITH $prefix OR g.dataset STARTS WITH $prefix
RETURN 'graph' AS kind, g.id AS id
"""
"""One query for what most tests have left nothing of; the lists of the product say far more."""


def delete_all(db: Database, prefix: str) -> None:
    """Delete the edits, rules and graphs whose id or data set starts with the prefix."""
    with db._session("READ") as session:
        stored = [(record["kind"], record["id"]) for record in session.run(STORED, prefix=prefix)]
    for kind, id in stored:
        if kind == "edit":
            db.write(rows.DeleteEditRow, "edits/delete_edit", id=id)
        elif kind == "rules":
            db.write(int, "rules/delete_rules", dataset=id)
        else:
            db.autocommit(int, "graph/delete_graph", graph=id)


@contextmanager
def own_graphs(db: Database) -> Iterator[str]:
    """A custom prefix; graphs that start with it are deleted afterwards."""
    prefix = f"test-{uuid.uuid4().hex[:10]}"
    try:
        yield prefix
    finally:
        delete_all(db, prefix)


def hogwarts_as(db: Database, name: str) -> str:
    """The demo graph under another id."""
    return datasets.store(db, datasets.read("hogwarts", name=name)).graph


ATLAS_ORGANISM = "organism:steps=300"
"""The model that the documentation names for runs of DepEdit's protocol on `atlas`."""


def atlas_as(db: Database, name: str) -> str:
    """The bundled graph `atlas` under another id, with the rules that ship for it, all kept."""
    path = rules.path("atlas")
    assert path is not None
    datasets.store(db, datasets.read(graphs.path("atlas"), name=name))
    rule_store.save(db, name, load_rules(path), status="kept")
    return name


def appending(correct: list[str], hard: list[str], random: list[str]) -> dict[str, Any]:
    """A record of a PEAK file that appends a friend of Harry Potter.

    Args:
        correct: answers that are right already.
        hard: false answers that are linked to the appended one.
        random: false answers far from it.
    """
    return {
        "case_id": 1,
        "requested_rewrite": {
            "prompt": "{} was friends with",
            "relation_id": "was friends with",
            "target_new": {"str": "Luna Lovegood"},
            "target_true": {"str": "Hermione Granger"},
            "subject": "Harry Potter",
        },
        "postive_list": correct,
        "negtive_list": hard,
        "negtive_random_list": random,
        "para_add_prompts": ["Harry Potter was a close friend of"],
        "neighborhood_prompts": [["Neville Longbottom was friends with", "Ginny Weasley"]],
    }


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
            replaced=_replaced(row),
            paraphrases_post=getattr(row, f"paraphrases_{measure}_post") or (),
            neighborhood_post=getattr(row, f"neighborhood_{measure}_post") or (),
        )
        for row in db.read(rows.FactRow, "graph/facts", graph=edit)
    ]


def _replaced(row: rows.FactRow) -> bool | None:
    """Return True if the own answer was right and is another one now; None: not known."""
    names = (row.object, *row.object_aliases)
    before, after = (says and gives(says, names) for says in (row.says_pre, row.says_post))
    if not row.says_post or after is None:
        return None
    return False if after else before or None


@contextmanager
def without_traces(db: Database, dataset: str) -> Iterator[None]:
    """Delete the edits of a data set, and the model graphs, that a block stores."""

    def stored() -> tuple[set[str], set[str]]:
        edits = db.read(rows.EditRow, "edits/list_edits")
        graphs = db.read(rows.GraphRow, "graph/list_graphs", incomplete=True)
        return {e.id for e in edits if e.dataset == dataset}, {g.graph for g in graphs if g.model}

    edits, graphs = stored()
    try:
        yield
    finally:
        new_edits, new_graphs = stored()
        for edit in new_edits - edits:
            db.write(rows.DeleteEditRow, "edits/delete_edit", id=edit)
        for graph in new_graphs - graphs:
            db.autocommit(int, "graph/delete_graph", graph=graph)
