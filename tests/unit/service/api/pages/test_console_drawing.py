"""Places in the drawing of an answer: nothing on top of another, the subject first."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from thinkeval.cypher.console import Answer, AnswerEdge, AnswerNode
from thinkeval.service.api.pages.console.drawing import (
    HEIGHT,
    MOST_EDGES,
    MOST_NODES,
    WIDTH,
    caption_of,
    draw,
    name_of,
)


def answer(ends: list[tuple[str, str]], **labels: str) -> Answer:
    names = list(dict.fromkeys(name for pair in ends for name in pair))
    found = Answer(("x",))
    for name in names:
        found.nodes[name] = AnswerNode(name, ("Entity", labels.get(name, "Entity")), {"name": name})
    for place, (a, b) in enumerate(ends):
        found.edges[str(place)] = AnswerEdge(str(place), "FACT", a, b, {"relation": "knows"})
    return found


@pytest.mark.parametrize("seed", range(20))
def test_boxes_do_not_overlap_and_everything_is_drawn(seed: int) -> None:
    rng = random.Random(seed)
    names = [f"n{i}" for i in range(rng.randint(2, 30))]
    ends = [(rng.choice(names), rng.choice(names)) for _ in range(rng.randint(1, 60))]
    given = answer(ends)
    found = draw(given)
    assert found is not None
    assert len(found.nodes) == len(given.nodes)
    assert len(found.lines) == len(ends)
    for a, b in combinations(found.nodes, 2):
        assert abs(a.x - b.x) >= WIDTH or abs(a.y - b.y) >= HEIGHT, (a, b)
    for node in found.nodes:
        assert 0 <= node.x <= found.width - WIDTH
        assert 0 <= node.y <= found.height - HEIGHT


def test_captions_of_one_pair_do_not_cover_each_other() -> None:
    found = draw(answer([("a", "b")] * 4))
    assert found is not None
    assert len({(line.x, line.y) for line in found.lines}) == 4
    for one, other in combinations(found.lines, 2):
        assert abs(one.y - other.y) >= 16 or abs(one.x - other.x) >= 5 * 6.2


def test_the_subject_is_left_and_the_old_object_right() -> None:
    ends = [("d", "o"), ("c", "o"), ("b", "c"), ("s", "b"), ("o", "b"), ("s", "d")]
    found = draw(answer(ends, s="Subject", o="TargetTrue"))
    assert found is not None
    places = {node.name: node.x for node in found.nodes}
    assert places["s"] < places["b"] == places["d"] < places["c"] < places["o"]


def test_what_is_too_much_is_counted() -> None:
    ends = [(f"a{i}", f"b{j}") for i in range(40) for j in range(40)]
    given = answer(ends)
    found = draw(given)
    assert found is not None
    assert len(found.nodes) == MOST_NODES
    assert len(found.lines) <= MOST_EDGES
    drawn = len(found.nodes) + len(found.lines)
    assert found.left_out == len(given.nodes) + len(given.edges) - drawn


def test_without_a_node_nothing_is_drawn() -> None:
    assert draw(Answer(("x",), rows=[[1]])) is None


def test_names_and_captions_without_the_usual_properties() -> None:
    assert name_of(AnswerNode("1", ("Thing",), {})) == "Thing"
    assert name_of(AnswerNode("1", (), {"name": 3})) == "node"
    edge = AnswerEdge(
        "1", "FACT", "a", "b", {"relation": "lives-in", "caption": "lives-in .9 → .1"}
    )
    assert caption_of(edge) == "lives in .9 → .1"
    assert caption_of(AnswerEdge("1", "REWRITES", "a", "b", {})) == "REWRITES"
