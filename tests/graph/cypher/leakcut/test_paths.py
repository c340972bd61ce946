"""The paths of a cut against brute force, and against the chains that IFR is taken over."""

from __future__ import annotations

from itertools import product
from math import prod
from random import Random

import pytest

from support.references import reference as ref
from support.references.reference import Case, Edge
from support.stored_graphs import scalars, store
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database


def drawn(seed: int) -> list[Edge]:
    """Facts among six entities with parallel ones, and the edited fact in its two forms."""
    random = Random(seed)
    entities = [*"soabcd"]
    pairs = [pair for pair in product(entities, repeat=2) if random.random() < 0.5]
    pairs += [pair for pair in pairs if random.random() < 0.3]
    edges = [
        Edge(f"f{i}", subject, object_, random.choice([0.0, random.random()]), random.random(),
             random.choice("rq"), random.choice([(), ("w",), ("v",)]))
        for i, (subject, object_) in enumerate(pairs)
    ]  # fmt: skip
    return [*edges, Edge("old", "s", "o", 0.9, 0.1, "edited", role="target_true"),
            Edge("new", "s", "d", 0.1, 0.9, "edited", role="target_new", listed=False)]  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_paths_equal_brute_force(db: Database, graph_id: str, seed: int) -> None:
    edges, case = drawn(seed), Case("s", "o", "w", "edited")
    store(db, graph_id, edges)
    found = db.read(rows.LeakPathRow, "leakcut/paths", **scalars(graph_id, case))
    expected = {}
    for steps in ref.alternatives(edges, case, 5, "listed"):
        best = [min(step, key=lambda e: (-e.pre, e.id)) for step in steps]
        for path in product(*steps):
            expected[tuple(e.id for e in path)] = (
                prod(e.pre for e in path), prod(e.post for e in path), list(path) == best,
            )  # fmt: skip
    assert {row.facts: row.counted for row in found} == {
        ids: values[2] for ids, values in expected.items()
    }
    assert len(found) == len(expected)
    for row in found:
        assert (row.r_pre, row.r_post) == pytest.approx(expected[row.facts][:2], abs=1e-15)
