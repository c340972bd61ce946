"""The edit page as somebody sees it who has five minutes: what the first screen holds, and where.

Positions are bounding boxes in Chromium. Screenshots at three widths are kept in
`reports/screens`, for a person to look at.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import FloatRect, Page, expect

from support.axe import in_each_document, violations
from support.commands import Mine
from support.serving import Service
from support.watching import Open, fits
from thinkeval.service.base.settings import Settings
from thinkeval.service.reports.leakage_map import FRAME
from thinkeval.service.web.pages.edit import LISTED, TABS

REWRITE = "harry-potter--studied-at"
METHODS = ("none", "rome")
SCREENS = Path(__file__).parents[5] / "reports/screens"
WIDTHS = {1280: 900, 768: 1024, 390: 844}
TALLEST = {1280: 2400, 768: 3000, 390: 3600}
"""Pixels of the tallest tab by the width of the window."""
PLACES = Path(__file__).with_name("first_screen.json")
SIDES = ("x", "y", "width", "height")
REGIONS = ("header.top", ".fact-title", ".tabs", ".verdict", ".numbers", ".what-next", "#map",
           "#canvas")  # fmt: skip
ASIDE, DOWN = 8, 60
"""Pixels by which a region may differ from its committed place; two or three lines of text."""
LISTS = {"chains": "ol.chains", "facts": "table.lines tbody", "next": "#cut tbody >> nth=0"}
"""Lists whose first rows take two screens of a telephone at most."""


@pytest.fixture(scope="module")
def edits(service: Service, mine: Mine) -> dict[str, str]:
    """One fact by several methods, by likelihood alone; ids by method."""
    asked = {"graph": mine.graph, "rewrite": REWRITE, "model": mine.model, "samples": 0}
    posted = {m: service.post(**asked, method=m)["id"] for m in METHODS}
    ended = {method: service.ended(edit) for method, edit in posted.items()}
    assert {edit["status"] for edit in ended.values()} == {"succeeded"}, ended
    return {method: edit["id"] for method, edit in ended.items()}


def box(page: Page, selector: str) -> FloatRect:
    found = page.locator(selector).first.bounding_box()
    assert found, f"{selector} is not drawn"
    return found


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
def test_the_first_screen_holds_verdict_figures_map_and_next_step(
    open_page: Open, edits: dict[str, str], width: int, height: int
) -> None:
    page = open_page(f"/edits/{edits['rome']}", viewport={"width": width, "height": height})
    page.wait_for_load_state("networkidle")
    parts = [".verdict .headline", "#cut-headline", "#map-title", "#co-edit", "#canvas"]
    shown = [box(page, part) for part in parts] + [
        figure.bounding_box() for figure in page.locator(".four .figure").all()
    ]
    assert len(shown) == len(parts) + 4
    for part in shown:
        assert part
        assert part["x"] >= 0
        assert part["x"] + part["width"] <= width
        assert part["y"] + part["height"] <= height, (part, parts)
    canvas = box(page, "#canvas")
    assert canvas["height"] >= height / 5
    assert canvas["width"] >= min(600, 0.8 * width)
    verdict = page.locator(".verdict").inner_text()
    assert "can still be deduced" in verdict
    assert "% of the old fact" in verdict
    there = page.get_by_role("button", name="Go to the old object")
    if width > 1000:
        frame = page.locator("#canvas").evaluate("each => [each.clientWidth, each.clientHeight]")
        for room, assumed in zip(frame, FRAME, strict=True):
            assert room >= assumed, "maps are laid out for a larger frame"
        assert ends_in_sight(page) == [True, True]
        expect(there).to_be_hidden()
        return
    assert ends_in_sight(page)[1] is False, "letters that can be read come first"
    expect(page.locator("#map-status")).to_contain_text("Scroll sideways to the old object")
    there.click()
    assert ends_in_sight(page)[1]
    page.get_by_role("button", name="Fit").click()
    assert ends_in_sight(page) == [True, True]
    expect(there).to_be_hidden()


def ends_in_sight(page: Page) -> list[bool]:
    """Return True for each box of subject and old object within the map's frame."""
    frame = box(page, "#canvas")
    ends = [box(page, f"#map-svg .entity.{role} rect") for role in ("subject", "target_true")]
    return [
        all(
            frame[at] <= end[at] and end[at] + end[long] <= frame[at] + frame[long]
            for at, long in (("x", "width"), ("y", "height"))
        )
        for end in ends
    ]


def test_regions_of_the_first_screen_stay_where_they_are(
    open_page: Open, edits: dict[str, str], pytestconfig: pytest.Config
) -> None:
    """Places and sizes as committed; `pytest --write` writes them anew, to be looked at.

    Boxes and not pixels: fonts of another machine break lines elsewhere.
    """
    found: dict[str, dict[str, list[int]]] = {}
    page = open_page(f"/edits/{edits['rome']}")
    for width, height in WIDTHS.items():
        page.set_viewport_size({"width": width, "height": height})
        page.reload()
        page.wait_for_load_state("networkidle")
        boxes = {name: box(page, name) for name in REGIONS}
        found[str(width)] = {
            name: [round(each[side]) for side in SIDES] for name, each in boxes.items()
        }
    if pytestconfig.getoption("write"):
        PLACES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    committed = json.loads(PLACES.read_text(encoding="utf-8"))
    moved = [
        f"{width} px: {name}: {side} {now}, was {was}"
        for width, regions in committed.items()
        for name, places in regions.items()
        for side, was, now in zip(SIDES, places, found[width][name], strict=True)
        if abs(now - was) > (ASIDE if side in ("x", "width") else DOWN)
    ]
    assert not moved, "\n".join(moved)
    assert {w: list(regions) for w, regions in committed.items()} == {
        str(width): list(REGIONS) for width in WIDTHS
    }


def test_no_tab_is_long_and_screens_are_kept(open_page: Open, edits: dict[str, str]) -> None:
    """The page was 11,800 px tall; a list shows its first rows, and the others on request."""
    SCREENS.mkdir(parents=True, exist_ok=True)
    for width, height in WIDTHS.items():
        page = open_page("/login", viewport={"width": width, "height": height})
        for tab in TABS if width != 768 else ("",):
            for scheme in ("light", "dark") if not tab else ("light",):
                page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
                page.goto(_address(page, f"/edits/{edits['rome']}/{tab}".rstrip("/")))
                fits(page, width)
                name = f"edit-{tab or 'map'}-{width}-{scheme}.png"
                page.screenshot(path=SCREENS / name, full_page=True)
            tall = page.evaluate("document.documentElement.scrollHeight")
            assert tall <= TALLEST[width], (tab, width, tall)
            if width == 390 and tab in LISTS:
                rows = page.locator(LISTS[tab]).locator("> *")
                assert rows.count() == LISTED
                assert box(page, LISTS[tab])["height"] <= 2 * height, tab


def _address(page: Page, path: str) -> str:
    return urlsplit(page.url)._replace(path=path, query="").geturl()


def test_the_map_answers_within_a_second_of_its_loading(
    open_page: Open, edits: dict[str, str]
) -> None:
    page = open_page(f"/edits/{edits['none']}?draw=1000")
    page.wait_for_load_state("load")
    expect(page.locator("[data-tool=fit]")).to_be_visible()  # the script is bound
    assert page.locator("#map-svg .fact").count() > 50
    spent = "performance.getEntriesByType('navigation')[0]"
    assert page.evaluate(f"{spent}.loadEventEnd - {spent}.responseEnd") <= 1000


def test_what_is_chosen_on_the_map_is_found_again_by_its_address(
    open_page: Open, service: Service, edits: dict[str, str]
) -> None:
    asked = {"measure": "likelihood_norm", "surviving": True, "limit": 1}
    # The strongest chain is on the map, whatever the model leaves of the others.
    strongest = service.get(f"/v1/edits/{edits['rome']}/chains", **asked)["items"][0]
    middle, steps = strongest["entities"][1], strongest["steps"]
    page = open_page(f"/edits/{edits['rome']}?measure=likelihood_norm")
    page.locator(f'#map-svg [data-entity="{middle}"] text').click()
    expect(page.locator(".chip")).to_contain_text(middle)
    page.locator("#filter [name=draw]").select_option("3")
    page.locator(".more-filters summary").click()
    page.locator(f"#filter [name=steps][value='{steps}']").check()
    page.wait_for_url("**steps=**")
    expect(page.locator("#map-title")).to_contain_text("survive")
    page.wait_for_load_state("networkidle")

    def seen(shown: Page) -> dict[str, Any]:
        return {
            "title": shown.locator("#map-title").inner_text(),
            "facts": [e.get_attribute("data-fact") for e in shown.locator("#map-svg .fact").all()],
            "figures": shown.locator(".four").inner_text(),
            "steps": shown.locator("#filter [name=steps]:checked").count(),
            "draw": shown.locator("#filter [name=draw]").input_value(),
            "export": shown.locator(".export a").first.get_attribute("href"),
        }

    again = open_page(page.url.split("/", 3)[3].join(("/", "")))
    assert seen(again) == seen(page)
    assert seen(again)["steps"] == 1
    assert parse_qs(urlsplit(seen(again)["export"]).query)["through"] == [middle]


def test_five_minutes_answer_what_a_visitor_asks(
    open_page: Open, service: Service, edits: dict[str, str], mine: Mine
) -> None:
    edit = edits["rome"]
    values = service.get(f"/v1/edits/{edit}/score")["values"]

    def figure(metric: str) -> float:
        return next(
            v["value"]
            for v in values
            if (v["metric"], v["measure"], v["step"]) == (metric, "likelihood", None)
        )

    page = open_page(f"/?graph={mine.graph}")
    page.locator(f"a[href='/edits/{edit}']").first.click()
    # Did the edit take, and how much of the old fact is left?
    verdict = page.locator(".verdict")
    took = figure("efficacy") > 0.5
    expect(verdict.locator(".headline")).to_contain_text("took" if took else "did not take")
    expect(verdict).to_contain_text(f"{100 * figure('ifr'):.0f} % of the old fact")
    # Through whom?
    branch = page.locator(".tree > ul > li").first
    leaks = service.get(f"/v1/edits/{edit}/chains", limit=1000)["items"]
    expect(branch).to_contain_text("of IFR")
    by_first: dict[str, float] = {}
    for chain in leaks:
        first = chain["links"][0]
        part = (chain["ratio"] or 0.0) / math.sqrt(chain["steps"])
        by_first[first["object"]] = by_first.get(first["object"], 0) + part
    expect(branch).to_contain_text(max(by_first, key=lambda name: by_first[name]))
    # What should be edited next, and what would be left then?
    expect(page.locator("#cut-headline")).to_contain_text("if each takes")
    page.get_by_role("link", name="What else to edit", exact=True).click()
    expect(page.locator("#cut tbody tr").first).to_be_visible()
    # Which chains differ from another method's?
    page.get_by_role("link", name="Export", exact=True).click()
    page.get_by_role("link", name="none", exact=True).click()
    chains = service.get(f"/v1/edits/{edit}/diff/{edits['none']}")["chains"]
    opened = page.locator("section", has=page.get_by_role("heading", name="Chains opened in B"))
    expect(opened.locator(".count")).to_have_text(str(len(chains["opened"])))
    # Which method is best, and is the difference real?
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Facts").click()
    page.goto(f"{page.url}?graph={mine.graph}")
    page.locator(f"a[href^='/facts/{mine.graph}/{REWRITE}']").first.click()
    expect(page.locator("#best-method")).to_contain_text("rome")


def test_axe_finds_nothing_on_any_tab_in_light_or_dark(
    open_page: Open, edits: dict[str, str], test_settings: Settings
) -> None:
    page = open_page("/login", allowed="Canvas2D")  # axe-core reads colours back
    in_each_document(page, test_settings.cache / "axe")
    found = []
    for tab in TABS:
        page.goto(_address(page, f"/edits/{edits['none']}/{tab}".rstrip("/")))
        found += violations(page, test_settings.cache / "axe")
    assert not found, "\n".join(found)
