"""New objects of co-edits against brute force: none opens a chain to the old object."""

from __future__ import annotations

from random import Random

import pytest

from support.references import reference as ref
from support.references.reference import Case, Edge
from support.stored_graphs import store
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database


def drawn(seed: int) -> list[Edge]:
    random = Random(seed)
    names = [f"e{i}" for i in range(9)] + ["s", "o"]
    pairs = {tuple(random.sample(names, 2)) for _ in range(16)}
    return [
        Edge(f"f{i}", subject, object_, 0.5, 0.5, random.choice("rqt"))
        for i, (subject, object_) in enumerate(sorted(pairs))
    ]


def distances(edges: list[Edge], to: str) -> dict[str, int]:
    """Fewest facts from each entity to one."""
    found, level, n = {to: 0}, {to}, 0
    while level:
        n += 1
        level = {e.subject for e in edges if e.object in level} - found.keys()
        found |= dict.fromkeys(level, n)
    return found


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("max_steps", range(1, 6))
def test_safe_objects_equal_brute_force(
    db: Database, graph_id: str, seed: int, max_steps: int
) -> None:
    edges = drawn(seed)
    store(db, graph_id, edges, ["o"])
    away = distances(edges, "o")
    asked = [{"subject": e.subject, "relation": e.relation, "object": e.object} for e in edges]
    where = {"graph": graph_id, "object": "o", "max_steps": max_steps}
    found = db.read(rows.SafeObjectsRow, "leakcut/objects", **where, facts=asked)
    assert [row.place for row in found] == list(range(len(edges)))
    for row, edge in zip(found, edges, strict=True):
        same = {e.object for e in edges if e.relation == edge.relation}
        had = {e.object for e in edges if (e.subject, e.relation) == (edge.subject, edge.relation)}
        free = same - had - {edge.subject, "o"}
        leading = {name for name in free if away.get(name, 99) <= max_steps - 1}
        assert (set(row.safe), set(row.refused)) == (free - leading, leading)
    objects = {e.object for e in edges}
    harmless = {name for name in objects if away.get(name, 99) > max_steps - 1}
    assert {
        row.name for row in db.read(rows.HarmlessEntityRow, "leakcut/entities", **where)
    } == harmless
    names = sorted({*away, "nobody"})
    leading_ = set(db.read(str, "leakcut/leading", **where, names=names))
    assert leading_ == {name for name in names if away.get(name, 99) <= max_steps - 1}


@pytest.mark.parametrize("seed", range(6))
def test_no_new_fact_opens_a_chain(db: Database, graph_id: str, seed: int) -> None:
    """Each fact replaced by each of its safe objects: no chain of the new graph holds it."""
    edges = drawn(seed)
    store(db, graph_id, edges, ["o"])
    asked = [{"subject": e.subject, "relation": e.relation, "object": e.object} for e in edges]
    found = db.read(rows.SafeObjectsRow, "leakcut/objects", graph=graph_id, object="o", facts=asked)
    tried = 0
    for row, edge in zip(found, edges, strict=True):
        for name in row.safe:
            tried += 1
            new = Edge("new", edge.subject, name, relation=edge.relation)
            changed = [*(e for e in edges if e != edge), new]
            for steps in ref.alternatives(changed, Case("s", "o"), 5, "include", walk=True):
                assert all(new not in step for step in steps)
    assert tried
