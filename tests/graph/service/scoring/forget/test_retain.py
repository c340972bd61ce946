"""Facts to retain: those at distance 2 or more of the forgotten ones, by a breadth-first search."""

from __future__ import annotations

from collections import deque

import pytest

from thinkeval.loaders.records import Fact, RewriteRequest
from thinkeval.service.graphs import datasets
from thinkeval.service.scoring import forget
from thinkeval.service.scoring.runtime import Runtime


def distances(facts: list[Fact], starts: set[str]) -> dict[str, int]:
    """{fact: its distance}; facts that no undirected path reaches are left out."""
    at = dict.fromkeys(starts, 0)
    queue = deque(starts)
    while queue:
        here = queue.popleft()
        for fact in facts:
            for one, other in ((fact.subject, fact.object), (fact.object, fact.subject)):
                if one == here and other not in at:
                    at[other] = at[here] + 1
                    queue.append(other)
    near = {f.id: min(at.get(f.subject, 10**6), at.get(f.object, 10**6)) for f in facts}
    return {key: steps + 1 for key, steps in near.items() if steps < 10**6}


@pytest.mark.parametrize("limit", [3, 64, 10000])
def test_they_are_those_of_a_breadth_first_search(
    runtime: Runtime, hogwarts: str, limit: int
) -> None:
    graph = datasets.content(runtime.db, hogwarts)
    facts = list(graph.facts)
    first = min(facts, key=lambda fact: fact.id)
    requests = [
        RewriteRequest("a", hogwarts, "{} x", f.subject, f.relation, f.object, "")
        for f in (first, max(facts, key=lambda fact: fact.id))
    ]
    for forgotten in (requests[:1], requests):
        starts = {name for each in forgotten for name in (each.subject, each.target_true)}
        found = distances(facts, starts)
        expected = sorted(f.id for f in facts if found.get(f.id, 2) >= 2)
        rows = forget.of_graph(runtime.db, hogwarts, forgotten, limit)
        assert [row.id.rpartition("|")[2] for row in rows] == expected[:limit]
        assert rows
