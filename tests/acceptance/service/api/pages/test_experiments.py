"""Sweeps in the browser: started, followed, read; which of four methods is best on a fact."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from support.commands import Mine
from support.serving import Service
from support.watching import SLOW_MS, Open, fits
from thinkeval.service.models.edit import Score
from thinkeval.service.reports.verdict import best_method

METHODS = ("none", "rome", "memit", "alphaedit")
FACT = "Harry Potter studied at"


@pytest.fixture(scope="module")
def sweep(service: Service, mine: Mine) -> str:
    """The demo edit by four methods, as a sweep; its id."""
    request = {
        "graph": mine.graph,
        "rewrites": ["harry-potter--studied-at"],
        "methods": METHODS,
        "models": [mine.model],
        "samples": 0,
    }
    posted = service.http.post("/v1/sweeps", json=request).raise_for_status().json()
    for edit in posted["parts"]:
        service.ended(edit)
    return posted["id"]


def _score(service: Service, page: Page, method: str) -> Score:
    """The score, over REST, of the edit that the page names for a method."""
    row = page.locator("table.board tbody tr").filter(has=page.get_by_role("link", name=method))
    edit = row.get_by_role("checkbox").get_attribute("value")
    return Score.model_validate(service.get(f"/v1/edits/{edit}")["result"])


def test_which_of_four_methods_is_best_and_which_chains_differ(
    open_page: Open, service: Service, mine: Mine, sweep: str
) -> None:
    """The clicks of a reader who starts at the list of sweeps."""
    page = open_page("/sweeps")
    page.locator(f"a[href='/sweeps/{sweep}']").click()
    expect(page.get_by_role("heading", name="Finished: all 4 scored")).to_be_visible()
    page.locator("table.matrix").get_by_role("link", name=FACT).click()
    first = page.locator("table.board tbody tr").first
    expect(first).to_be_in_viewport()
    # The organism is another one on each kind of processor: any of them may have broken it.
    look = best_method([_score(service, page, method) for method in METHODS], "likelihood")
    best = look.score.method
    expect(first).to_contain_text(best)
    page.get_by_role("button", name="Compare the ticked").click()
    expect(page).to_have_url(re.compile(r"/compare\?edit=.+&edit=.+"))
    expect(page.locator("main")).to_contain_text(best)
    page.get_by_role("link", name=re.compile("^Cut by some only")).click()
    expect(page).to_have_url(re.compile(r"chains=differ"))
    shown = page.locator("#chain-grid tbody tr")
    for row in shown.all():
        cells = row.locator("td").all_inner_texts()
        assert any(text.startswith("✗") for text in cells), cells
    page.reload()
    expect(page.locator("[aria-current=true]")).to_contain_text("Cut by some only")


def test_pages_of_experiments_fit_a_phone(open_page: Open, mine: Mine, sweep: str) -> None:
    small = {"width": 390, "height": 844}
    for path in (
        "/sweeps",
        f"/sweeps/{sweep}",
        f"/sweeps/matrix?graph={mine.graph}",
        f"/methods?graph={mine.graph}",
    ):
        fits(open_page(path, viewport=small), 390)
    page = open_page(f"/sweeps/matrix?graph={mine.graph}", viewport=small)
    page.get_by_role("link", name=FACT).click()
    fits(page, 390)


def test_a_sweep_is_started_from_the_form_by_keyboard_and_cancelled(
    open_page: Open, service: Service, mine: Mine
) -> None:
    page = open_page(f"/sweeps?graph={mine.graph}")
    form = page.locator("#sweep-form")
    expect(form.get_by_role("status")).to_contain_text("24 edits")
    for name in ("rome", "memit"):
        form.get_by_label(name, exact=True).uncheck()
    form.get_by_label("Models").fill(mine.model)
    form.get_by_label("Samples a prompt").fill("150")
    form.get_by_label("Seeds").fill("41, 42")
    expect(form.get_by_role("status")).to_contain_text("24 edits")
    form.get_by_role("button", name="Start").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/sweeps/sweep-*")
    sweep = urlsplit(page.url).path.rsplit("/", 1)[1]
    page.get_by_role("button", name="Cancel what is not scored yet").click()
    expect(page.get_by_role("heading", name="Cells without a score")).to_be_visible()
    expect(page.get_by_role("heading", name="Finished")).to_be_visible(timeout=SLOW_MS)
    counts = service.get(f"/v1/sweeps/{sweep}")["result"]["counts"]
    assert counts["cancelled"] > 0
    assert counts["queued"] == counts["running"] == 0
    failed = page.locator("section").filter(has=page.locator("#failed-title"))
    expect(failed).to_contain_text("cancelled")
    expect(page.get_by_role("button", name="Run the failed cells again")).to_be_visible()
    service.http.delete(f"/v1/sweeps/{sweep}").raise_for_status()


def test_edits_are_searched_sorted_ticked_and_compared(
    open_page: Open, mine: Mine, sweep: str
) -> None:
    page = open_page(f"/?graph={mine.graph}")
    search = page.get_by_label("Search")
    search.fill("potter studied")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("q=potter"))
    page.get_by_role("link", name="IFR", exact=True).click()
    header = page.get_by_role("columnheader", name=re.compile("^IFR( [▲▼])?$"))
    expect(header).to_have_attribute("aria-sort", "ascending")
    for method in ("rome", "memit", "alphaedit"):
        page.get_by_role("checkbox", name=f"Compare {method} on").first.check()
    page.get_by_role("link", name="IFR").first.click()
    expect(header).to_have_attribute("aria-sort", "descending")
    expect(page.locator("#ticked")).to_contain_text("3 ticked")
    page.get_by_role("button", name="Compare the ticked").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("3 edits side by side")
    page.get_by_role("link", name=re.compile("^Cut by some only")).click()
    expect(page).to_have_url(re.compile("edit=.+edit=.+edit=.+chains=differ"))
    page.reload()
    expect(page.locator("[aria-current=true]")).to_contain_text("Cut by some only")


def test_a_comparison_under_way_is_cancelled_on_its_page(
    open_page: Open, service: Service, mine: Mine
) -> None:
    asked = {"graph": mine.graph, "base": mine.model, "states": ["+8bit"], "samples": 100}
    id = service.post("/v1/comparisons", **asked)["id"]
    page = open_page(f"/comparisons/{id}")
    fits(page, 1280)
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect(page.get_by_role("heading", name="cancelled")).to_be_visible(timeout=SLOW_MS)
    expect(page.get_by_role("button", name="Cancel", exact=True)).to_have_count(0)
    assert service.get(f"/v1/comparisons/{id}")["status"] == "cancelled"
