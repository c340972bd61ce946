"""One look-up of the data set during a score, whatever the method needs of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.counted_reads import counted_reads
from support.scored_walk import Walk, walked
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel

SEED = 11


@pytest.fixture(scope="module")
def walk(runtime: Runtime, organism: RuntimeModel) -> Iterator[Walk]:
    with walked(runtime, organism, SEED) as walk:
        yield walk


def test_a_score_looks_its_data_set_up_once(walk: Walk) -> None:
    counts = {}
    for method in ("none", "rome", "ike"):
        with counted_reads(walk.graph) as counts[method]:
            walk.score(method, samples=0)
    for method, found in counts.items():
        assert found["graph/get_graph"] == 1, method
        assert found["probes/facts_in_scope"] == 1, method
    content = [
        found[row] for found in counts.values() for row in ("graph/facts", "graph/list_rewrites")
    ]
    assert content == [1, 1, 0, 0, 0, 0], "the first score reads the content, for all"
