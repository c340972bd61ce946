"""The first page in Chromium: one line an edit under its fact, with its verdict, on stored data."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from support.own_graphs import hogwarts_as, own_graphs
from support.stored_edits import random_facts, store_edit
from support.watching import Open, fits
from thinkeval.cypher.run import Database

METHODS = ("rome", "memit", "alphaedit", "fine_tuning", "none")
FACTS = 3
TALLEST_ROW = 36
"""Pixels."""


@pytest.fixture(scope="module")
def graph(db: Database) -> Iterator[str]:
    with own_graphs(db) as prefix:
        graph = hogwarts_as(db, f"{prefix}-hogwarts")
        for number in range(FACTS):
            for method in METHODS:
                store_edit(
                    db, f"{prefix}-{method}-{number}", random_facts(number), dataset=graph,
                    method=method, rewrite=f"{prefix}-rewrite-{number}",
                )  # fmt: skip
        yield graph


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height", "least"), [(1280, 900, 12), (390, 844, 10)])
def test_the_first_screen_shows_a_dozen_edits_in_lines_under_their_facts(
    open_page: Open, graph: str, width: int, height: int, least: int, scheme: str
) -> None:
    page = open_page(
        f"/?graph={graph}", viewport={"width": width, "height": height}, color_scheme=scheme
    )
    places = [row.bounding_box() for row in page.locator(".edits tbody tr:not(.group)").all()]
    assert len(places) == FACTS * len(METHODS)
    assert max(place["height"] for place in places if place) <= TALLEST_ROW
    seen = [place for place in places if place and place["y"] + place["height"] <= height]
    assert len(seen) >= least
    expect(page.locator(".edits .group")).to_have_count(FACTS)
    assert page.locator(".edits .grade").count() == FACTS * len(METHODS)
    fits(page, width)


def test_rows_are_sorted_by_a_column_and_name_their_facts_then(open_page: Open, graph: str) -> None:
    page = open_page(f"/?graph={graph}")
    page.get_by_role("link", name="Method", exact=True).click()
    shown = page.locator(".edits tbody td.of a").all_inner_texts()
    assert shown == sorted(shown)
    expect(page.locator(".edits .group")).to_have_count(0)
    expect(page.locator(".edits td.of .what")).to_have_count(FACTS * len(METHODS))
    page.get_by_role("link", name="IFR", exact=True).click()
    values = [float(text) for text in page.locator(".edits td:nth-child(3)").all_inner_texts()]
    assert values == sorted(values)
