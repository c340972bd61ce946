"""Puts a list of reference.Edge into the database, for tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from support.references.reference import Case, Edge
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database


def fact(edge: Edge) -> dict[str, Any]:
    """The edge as graph/merge_facts takes it."""
    row: dict[str, Any] = {
        "id": edge.id,
        "subject": edge.subject,
        "relation": edge.relation,
        "object": edge.object,
        "prompt": f"{{}} {edge.relation}",
        "questions": list(edge.questions),
        "cases": list(edge.cases),
        "role": edge.role,
        "listed": edge.listed,
        "p_pre": edge.pre,
        "p_post": edge.post,
    }
    if edge.paraphrases_post:
        row["paraphrases_p_post"] = list(edge.paraphrases_post)
    if edge.neighborhood_post:
        row["neighborhood_p_post"] = list(edge.neighborhood_post)
    return row


def store(
    db: Database, graph: str, edges: Iterable[Edge], entities: Iterable[str] = ()
) -> rows.CompleteGraphRow:
    """Write a whole edit graph in one transaction."""
    edges = list(edges)
    names = dict.fromkeys([*entities, *(n for e in edges for n in (e.subject, e.object))])
    with db.transaction() as tx:
        tx.run(
            rows.MergeGraphRow,
            "graph/merge_graph",
            graph=graph,
            kind="edit",
            dataset=graph,
            measures=["p"],
        )
        tx.run(int, "graph/clear_graph", graph=graph)
        tx.run(
            rows.WrittenRow, "graph/merge_entities", graph=graph, rows=[{"name": n} for n in names]
        )
        tx.run(rows.WrittenRow, "graph/merge_facts", graph=graph, rows=[fact(e) for e in edges])
        return tx.run(rows.CompleteGraphRow, "graph/complete_graph", graph=graph)[0]


def set_properties(db: Database, *facts: dict[str, Any]) -> None:
    """Set or, by None, remove properties of stored facts, each named by its `id`."""
    text = "UNWIND $facts AS row MATCH ()-[f:FACT {id: row.id}]->() SET f += row"
    with db._session("WRITE") as session:
        session.run(text, facts=list(facts)).consume()


def case_map(graph: str, case: Case, name: str = "case") -> dict[str, Any]:
    """The case as metrics take it."""
    return {
        "id": name,
        "graph": graph,
        "subject": case.subject,
        "object": case.object,
        "rewrite": case.rewrite,
        "relation": case.relation,
    }


def scalars(graph: str, case: Case) -> dict[str, Any]:
    """The case as the queries on chains take it."""
    return {key: value for key, value in case_map(graph, case).items() if key != "id"}


def fact_ids(graph: str, edges: Sequence[Edge]) -> tuple[str, ...]:
    """The ids the edges have in the database."""
    return tuple(f"{graph}|{e.id}" for e in edges)
