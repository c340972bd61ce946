"""The console in Chromium: by keyboard alone, at both widths, and again from its address."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from support.own_graphs import own_graphs
from support.stored_edits import random_facts, store_edit
from support.watching import SLOW_MS, Open, fits
from thinkeval.cypher.run import Database


@pytest.fixture(scope="module")
def edit(db: Database) -> Iterator[str]:
    with own_graphs(db) as prefix:
        yield store_edit(db, f"{prefix}-edit", random_facts(3), dataset=f"{prefix}-g").edit


def test_a_query_is_written_run_and_found_again_by_keyboard(open_page: Open, edit: str) -> None:
    page = open_page("/console")
    page.get_by_role("textbox", name="Query").focus()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text("MATCH p = (:Subject {graph: $id})-[:FACT]->() RETURN p LIMIT 2")
    page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(f'{{"id": "{edit}"}}')
    page.keyboard.press("Control+Enter")
    drawing = page.get_by_role("region", name="Drawing of the answer")
    expect(drawing.locator(".link")).to_have_count(2, timeout=SLOW_MS)
    rows = page.get_by_role("region", name="Rows of the answer").locator("tbody tr")
    expect(rows).to_have_count(2)
    again = open_page(
        page.url[page.url.index("/console") :], viewport={"width": 390, "height": 844}
    )
    expect(again.locator(".answer-drawing .link")).to_have_count(2)
    expect(again.get_by_role("textbox", name="Query")).to_have_value(
        page.get_by_role("textbox", name="Query").input_value()
    )
    fits(again, 390)


def test_a_question_is_one_click_and_a_writing_query_is_refused(open_page: Open, edit: str) -> None:
    page = open_page(f"/console?edit={edit}")
    page.get_by_role("button", name="What did the edit change?").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="What did the edit change?")).to_be_visible(
        timeout=SLOW_MS
    )
    assert f'"edit": "{edit}"' in page.get_by_label("Parameters, as JSON").input_value()
    fits(page, 1280)
    page.get_by_role("textbox", name="Query").fill("MATCH (n) DETACH DELETE n")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("alert")).to_contain_text(
        "The query was not run: it writes.", timeout=SLOW_MS
    )
    expect(page.get_by_role("textbox", name="Query")).to_have_value("MATCH (n) DETACH DELETE n")
