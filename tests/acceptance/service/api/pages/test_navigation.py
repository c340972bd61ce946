"""The links between pages: one row at every width, and a menu that works by keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from support.watching import Open, fits

FIRST = ["Edits", "Methods", "Experiments", "Data"]
MORE = ["States", "Rules", "Derivations", "DepEdit", "Co-edits", "Growth",
        "Neo4j", "API", "Documentation"]  # fmt: skip


@pytest.mark.parametrize("width", [390, 1280])
def test_four_links_and_a_menu_stand_in_one_row(open_page: Open, width: int) -> None:
    page = open_page("/data", viewport={"width": width, "height": 844}, java_script_enabled=False)
    pages = page.get_by_role("navigation", name="Pages")
    links = pages.locator("> a")
    assert links.all_inner_texts() == FIRST
    menu = pages.locator("summary")
    tops = {round(each.bounding_box()["y"]) for each in [*links.all(), menu]}  # type: ignore[index]
    assert len(tops) == 1
    assert page.locator(".top").bounding_box()["height"] <= 50  # type: ignore[index]
    expect(links.nth(3)).to_have_attribute("aria-current", "page")
    menu.click()
    panel = pages.locator(".panel")
    assert panel.locator("a").all_inner_texts() == MORE
    place = panel.bounding_box()
    assert place
    assert place["x"] >= 0
    assert place["x"] + place["width"] <= width
    fits(page, width)


def test_the_menu_opens_and_closes_by_keyboard(open_page: Open) -> None:
    page = open_page("/rules", viewport={"width": 390, "height": 844})
    pages = page.get_by_role("navigation", name="Pages")
    menu = pages.locator("summary")
    first = pages.get_by_role("link", name=MORE[0])
    expect(first).to_be_hidden()
    expect(menu).to_have_class("here")
    pages.get_by_role("link", name="Data").focus()
    page.keyboard.press("Tab")
    expect(menu).to_be_focused()
    page.keyboard.press("Enter")
    expect(first).to_be_visible()
    page.keyboard.press("Tab")
    expect(first).to_be_focused()
    page.keyboard.press("Escape")
    expect(first).to_be_hidden()
    expect(menu).to_be_focused()
    page.keyboard.press("Space")
    page.locator("h1").click()
    expect(first).to_be_hidden()


def test_the_documentation_explains_the_metrics(open_page: Open) -> None:
    page = open_page("/rules", viewport={"width": 390, "height": 844})
    page.get_by_text("More", exact=True).click()
    page.get_by_role("link", name="Documentation").click()
    row = page.locator("tr#ifr")
    expect(row).to_contain_text("how much of the old fact its chains still give")
    fits(page, 390)
