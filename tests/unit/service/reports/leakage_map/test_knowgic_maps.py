"""Leakage maps of KnowGIC's 26 rewrites, by boxes: nothing lies on anything else."""

from __future__ import annotations

import itertools
import math
import random
from pathlib import Path

import pytest
from tests.unit.service.reports.leakage_map.test_drawing import check, check_apart

from support.references.reference import Case, Edge, chains
from thinkeval.cypher.rows import ScoredChainRow
from thinkeval.cypher.rows.chains import Link
from thinkeval.loaders import knowgic
from thinkeval.service.reports.leakage_map import FRAME, LABEL, draw
from thinkeval.service.reports.leakage_selection import Selection


@pytest.fixture(scope="module")
def rewrites(data_dir: Path) -> dict[str, tuple[Case, str, list[ScoredChainRow]]]:
    """{rewrite: (case, new object, its chains)}, with probabilities after the edit by chance."""
    graph = knowgic.load(data_dir / "knowgic").graph
    rng = random.Random(0)
    edges = [
        Edge(f.id, f.subject, f.object, pre=1.0, post=rng.choice([0.0, 0.004, 0.2, 0.7, 0.99]),
             relation=f.relation, cases=tuple(f.cases))
        for f in graph.facts
    ]  # fmt: skip
    return {
        r.id: (
            case := Case(r.subject, r.target_true, r.id, r.relation),
            r.target_new,
            sorted(map(row, chains(edges, case, 5, walk=True)), key=lambda each: -each.r_post),
        )
        for r in graph.rewrites
    }


def row(chain: tuple[Edge, ...] | list[Edge]) -> ScoredChainRow:
    links = tuple(
        Link(e.id, e.subject, e.relation or "", e.object, "{}", None, e.pre, e.post, e.post / e.pre)
        for e in chain
    )
    post = math.prod(e.post for e in chain)
    entities = (links[0].subject, *(link.object for link in links))
    return ScoredChainRow(len(links), entities, 1.0, post, post, True, post > 0.01, links)


@pytest.mark.parametrize("limit", [3, 8, 20, 1000])
def test_nothing_overlaps(rewrites, limit: int) -> None:
    assert len(rewrites) == 26
    assert max(len(found) for *_, found in rewrites.values()) == 206
    for case, new, found in rewrites.values():
        link = Link("new", case.subject, "is-now", new, "{}", None, 0.01, 0.9, 90.0)
        drawing = draw(
            list(enumerate(found, 1)), case.subject, case.object, new,
            limit=limit, edited=[(link, "target_new")],
        )  # fmt: skip
        check(drawing)
        check_apart(drawing)
        drawn = {each.link.id for each in drawing.lines}
        assert drawn == {"new"} | {each.id for _, chain in drawing.shown for each in chain.links}


def test_the_first_view_of_each_map_is_whole_and_its_letters_can_be_read(rewrites) -> None:
    """At 1280 x 900 px subject and old object are both in sight; the old object was scrolled to."""
    for name, (case, new, found) in rewrites.items():
        link = Link("new", case.subject, "is-now", new, "{}", None, 0.01, 0.9, 90.0)
        drawing = draw(
            list(enumerate(found, 1)), case.subject, case.object, new,
            limit=8, edited=[(link, "target_new")], fit=True,
        )  # fmt: skip
        check(drawing)
        scale = min(FRAME[0] / drawing.width, FRAME[1] / drawing.height)
        assert scale * LABEL >= 12.0, (name, drawing.width, drawing.height)
        words = {word for each in found for entity in each.entities for word in entity.split()}
        for box in drawing.boxes:
            for line in box.text:
                assert line.startswith("(") or set(line.split()) <= words | set(new.split()), line


def test_the_map_of_each_entity_of_the_largest_rewrite_is_as_clear(rewrites) -> None:
    case, new, found = max(rewrites.values(), key=lambda each: len(each[2]))
    names = {name for each in found for name in each.entities} - {case.subject, case.object}
    for through in itertools.combinations(sorted(names), 2):
        chosen = Selection(through=through).chosen(found)
        drawing = draw(chosen, case.subject, case.object, new, limit=1000)
        check(drawing)
        check_apart(drawing)
        assert len(drawing.shown) == sum(set(through) <= set(each.entities) for each in found) > 0
