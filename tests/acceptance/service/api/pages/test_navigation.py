"""The links between pages: a row in a wide window, a menu in a narrow one, by keyboard as well."""

from __future__ import annotations

from playwright.sync_api import expect

from support.watching import Open, fits


def test_the_links_fold_into_a_menu_that_opens_by_keyboard(open_page: Open) -> None:
    page = open_page("/rules", viewport={"width": 390, "height": 844})
    links = page.get_by_role("navigation", name="Pages")
    expect(links).to_be_hidden()
    assert page.locator(".top").bounding_box()["height"] <= 60  # type: ignore[index]
    page.locator(".brand").focus()
    page.keyboard.press("Tab")
    expect(page.locator(".menu summary")).to_be_focused()
    page.keyboard.press("Enter")
    expect(links.get_by_role("link", name="Leaderboard")).to_be_visible()
    fits(page, 390)
    page.keyboard.press("Tab")
    expect(links.get_by_role("link").first).to_be_focused()
    page.set_viewport_size({"width": 1280, "height": 900})
    expect(page.locator(".menu")).to_be_hidden()
    expect(links).to_be_visible()


def test_the_links_stand_in_one_row_in_a_wide_window_without_a_script(open_page: Open) -> None:
    page = open_page("/rules", java_script_enabled=False)
    links = page.get_by_role("navigation", name="Pages").get_by_role("link").all()
    tops = {round(link.bounding_box()["y"]) for link in links}  # type: ignore[index]
    assert len(links) >= 8
    assert len(tops) == 1
    page.set_viewport_size({"width": 768, "height": 900})
    page.locator(".menu summary").click()
    expect(links[0]).to_be_visible()
