"""Places of a leakage map, computed: nothing lies on anything else."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.unit.service.reports.test_chain_tree import chain

from thinkeval.cypher.rows import ScoredChainRow
from thinkeval.cypher.rows.chains import Link
from thinkeval.service.reports.leakage_map import MapDrawing, draw, label_text

Rect = tuple[float, float, float, float]


def drawn(rows: list[ScoredChainRow], limit: int = 1000) -> MapDrawing:
    return draw(list(enumerate(rows, 1)), "S", "O", "N", limit=limit)


def relatives(n: int) -> list[ScoredChainRow]:
    """All paths of up to three of n relatives: a dense graph with cycles."""
    names = "ABCDEFGHIJ"[:n]
    return [
        chain("S" + "".join(middle) + "O")
        for length in range(4)
        for middle in itertools.permutations(names, length)
    ]


def at_random(seed: int) -> list[ScoredChainRow]:
    """Chains over names of all lengths, some with parallel facts."""
    rng = random.Random(seed)
    found = []
    for k in range(30):
        row = chain("S" + "".join(rng.sample("ABCDEFGHIJKLMN", rng.randint(0, 4))) + "O")
        links = tuple(
            replace(link, id=f"{link.id}{k % 3}", relation=rng.choice(["is", "member of " * 6]))
            for link in row.links
        )
        found.append(replace(row, links=links))
    return found


def overlaps(a: Rect, b: Rect) -> bool:
    return (
        a[0] < b[0] + b[2] and b[0] < a[0] + a[2] and a[1] < b[1] + b[3] and b[1] < a[1] + a[3]
    )  # fmt: skip


Point = tuple[float, float]


def parts(drawing: MapDrawing) -> Iterator[tuple[str, Point, Point]]:
    for line in drawing.lines:
        for a, b in itertools.pairwise(line.corners):
            yield line.link.id, a, b


def thin(a: tuple[float, float], b: tuple[float, float]) -> Rect:
    x, y = min(a[0], b[0]), min(a[1], b[1])
    return x, y, abs(a[0] - b[0]), abs(a[1] - b[1])


def check(drawing: MapDrawing) -> None:
    boxes = [(box.x, box.y, box.w, box.h) for box in drawing.boxes]
    labels = {line.link.id: line.label for line in drawing.lines}
    for a, b in itertools.combinations([*boxes, *labels.values()], 2):
        assert not overlaps(a, b)
    for fact, a, b in parts(drawing):
        assert a[0] == b[0] or a[1] == b[1], "neither level nor upright"
        inside = thin(a, b)
        for box in boxes:
            assert not overlaps((box[0] + 1, box[1], box[2] - 2, box[3]), inside)
        for other, label in labels.items():
            assert other == fact or not overlaps(label, inside)
    for x, y, w, h in [*boxes, *labels.values()]:
        assert x >= 0
        assert y >= 0
        assert x + w <= drawing.width
        assert y + h <= drawing.height


@pytest.mark.parametrize(
    "rows", [relatives(2), relatives(5), *map(at_random, range(8))], ids=lambda rows: len(rows)
)
def test_nothing_lies_on_a_box_or_a_label_of_another(rows: list[ScoredChainRow]) -> None:
    check(drawn(rows))


def check_apart(drawing: MapDrawing) -> None:
    """Parts of two facts may cross, but none runs along the other's, nor on it."""
    levels: dict[tuple[int, bool, int], list[tuple[str, float, float]]] = {}
    for fact, a, b in parts(drawing):
        for at in (0, 1):
            if a[at] == b[at]:
                low, high = sorted((a[1 - at], b[1 - at]))
                # Two grids, one shifted by half: neighbours share a cell of one of them.
                for shift in (0.0, 0.5):
                    cell = (at, bool(shift), math.floor(a[at] + shift))
                    levels.setdefault(cell, []).append((fact, low, high))
    for held in levels.values():
        for (fact, low, high), (other, from_, to) in itertools.combinations(held, 2):
            assert fact == other or high <= from_ + 1 or to <= low + 1, (fact, other)


FEW = [at_random(seed)[: 4 + seed % 27] for seed in (51, 59, 73, 121, 144, 156)]
"""Drawings with room for straight lines, which ran along others when they left the grid."""


@pytest.mark.parametrize("rows", [relatives(3), relatives(5), *map(at_random, range(8)), *FEW])
def test_lines_of_two_facts_never_run_along_each_other(rows: list[ScoredChainRow]) -> None:
    check_apart(drawn(rows))


def test_every_fact_goes_from_its_subject_to_its_object() -> None:
    drawing = drawn(at_random(1))
    boxes = {box.name: box for box in drawing.boxes}
    for line in drawing.lines:
        for name, (x, y) in (
            (line.link.subject, line.corners[0]), (line.link.object, line.corners[-1]),
        ):  # fmt: skip
            box = boxes[name]
            assert x in (box.x, box.x + box.w)
            assert box.y <= y <= box.y + box.h


def test_the_strongest_chains_are_drawn_and_counted() -> None:
    rows = [chain("SAO", ratio=0.9), chain("SBO", ratio=0.5), chain("SCO", ratio=0.0)]
    drawing = drawn(rows, limit=1)
    assert [number for number, _ in drawing.shown] == [1, 3]
    assert (drawing.alive, drawing.cut) == ((1, 2), (1, 1))
    assert {line.link.id: line.alive for line in drawing.lines} == {
        "SA": True, "AO": True, "SC": False, "CO": False,
    }  # fmt: skip
    assert {box.name: box.chains for box in drawing.boxes}["O"] == (1, 3)


def test_the_edited_facts_new_form_is_beside_the_chains() -> None:
    new = Link("new", "S", "studied_at", "N", "{} at", None, 0.0, 0.9, None)
    drawing = draw([(1, chain("SAO"))], "S", "O", "N", limit=5, edited=[(new, "target_new")])
    check(drawing)
    roles = {box.name: box.role for box in drawing.boxes}
    assert roles == {"S": "subject", "A": "entity", "O": "target_true", "N": "target_new"}
    assert {line.link.id: line.role for line in drawing.lines}["new"] == "target_new"


def test_a_label_is_the_relation_and_its_probabilities() -> None:
    link = Link("x", "S", "member_of", "O", "{} is", None, 0.63, 0.45, 0.71)
    assert label_text(link) == ("member of", ".63 → .45")
    unchanged = Link("x", "S", "member_of", "O", "{} is", None, 0.998, 1.0, 1.002)
    assert label_text(unchanged) == ("member of",)


def test_the_strongest_chain_of_each_leading_first_fact_is_drawn_before_others() -> None:
    """Many weak chains may carry more of IFR than one strong chain does."""
    strong = [chain(f"SA{x}O", ratio=0.9) for x in "BCDE"]
    weak = [chain(f"SF{x}O", ratio=0.5) for x in "GHIJKLM"]
    found = draw(list(enumerate([*strong, *weak], 1)), "S", "O", "N", limit=3)
    assert [number for number, _ in found.shown] == [1, 2, 5]


def test_a_line_reaches_its_label() -> None:
    """A label is as wide as its text; a line goes through it, or turns back just before it."""
    for line in drawn(at_random(2)).lines:
        x, y, w, h = line.label
        level = [
            (min(a[0], b[0]), max(a[0], b[0]))
            for a, b in itertools.pairwise(line.corners)
            if a[1] == b[1] and y < a[1] < y + h
        ]
        through = any(low <= x and x + w <= high for low, high in level)
        turns = sum(abs(high - x) < 8 for _, high in level) == 2
        assert through != turns, line.link.id


def test_without_chains_nothing_is_drawn() -> None:
    assert drawn([]).boxes == ()
