"""The edit page as somebody sees it who has five minutes: what the first screen holds, and where.

Positions are bounding boxes in Chromium. Screenshots at three widths are kept in
`reports/screens`, for a person to look at.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, FloatRect, Page, expect

from support.axe import in_each_document, violations
from support.commands import Mine
from support.serving import Service, until
from support.watching import Open, fits
from thinkeval.service.base.settings import Settings
from thinkeval.service.reports.leakage_map import FRAME
from thinkeval.service.web.pages.edit import LISTED, TABS, TOP

REWRITE = "harry-potter--studied-at"
LEAKING = "fine_tuning"
"""A method whose edit took, kept the model, and leaks."""
METHODS = ("none", LEAKING)
SCREENS = Path(__file__).parents[5] / "reports/screens"
WIDTHS = {1280: 900, 768: 1024, 390: 844}
TALLEST = {1280: 2400, 768: 3000, 390: 3600}
"""Pixels of the tallest tab by the width of the window."""
PLACES = Path(__file__).with_name("first_screen.json")
SIDES = ("x", "y", "width", "height")
REGIONS = ("header.top", ".fact-title", ".tabs", ".verdict", ".four", ".whom", ".what-next",
           "#map", "#canvas")  # fmt: skip
SMALLEST = 12
"""Pixels of the smallest letters on the map, as rendered."""
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
def test_the_first_screen_holds_verdict_figures_map_and_next_step(
    open_page: Open, edits: dict[str, str], width: int, height: int, scheme: str
) -> None:
    page = open_page(
        f"/edits/{edits[LEAKING]}",
        viewport={"width": width, "height": height},
        color_scheme=scheme,
    )
    page.wait_for_load_state("networkidle")
    parts = [".verdict .headline", "#cut-headline", "#map-title", "#co-edit", "#canvas",
             ".by a"]  # fmt: skip
    rows = [*page.locator(".four .figure").all(), *page.locator(".whom li").all()]
    shown = [box(page, part) for part in parts] + [row.bounding_box() for row in rows]
    assert len(shown) == len(parts) + 4 + TOP
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
    assert smallest_letters(page) >= SMALLEST
    assert not [text for text in page.locator("#map-svg tspan.p").all_text_contents() if same(text)]
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


def test_no_command_of_the_first_screen_is_cut_off(open_page: Open, edits: dict[str, str]) -> None:
    """A list of a fixed height cut off the second of two commands."""
    page = open_page(f"/edits/{edits['none']}", viewport={"width": 1280, "height": 700})
    assert page.locator(".what-next pre").count()
    assert page.locator(".summary").evaluate("each => each.scrollHeight - each.clientHeight") == 0


def smallest_letters(page: Page) -> float:
    """Return the size in pixels of the smallest letters on the map, as rendered."""
    size: float = page.locator("#map-svg").evaluate(
        "svg => svg.getScreenCTM().a * Math.min(...[...svg.querySelectorAll('text')]"
        ".map(each => parseFloat(getComputedStyle(each).fontSize)))"
    )
    return size


def same(text: str) -> bool:
    """Return True for a probability that the edit did not change, as `1.00 → 1.00`."""
    before, _, after = text.partition(" → ")
    return before == after


def test_the_map_draws_the_chains_that_carry_most(open_page: Open, edits: dict[str, str]) -> None:
    """The map draws at first the facts that the table names first."""
    page = open_page(f"/edits/{edits[LEAKING]}")
    drawn = {each.get_attribute("data-fact") for each in page.locator("#map-svg [data-fact]").all()}
    for link in page.locator(".whom li a").all():
        if not (link.locator("xpath=..").locator(".share").inner_text()).startswith("0 "):
            asked = parse_qs(urlsplit(link.get_attribute("href") or "").query)
            assert asked["first"][0] in drawn


def test_the_button_edits_what_the_text_names(
    open_page: Open, service: Service, edits: dict[str, str]
) -> None:
    page = open_page(f"/edits/{edits[LEAKING]}")
    listed = page.locator(".cut-facts li span:first-child").all_inner_texts()
    button = page.locator("#co-edit")
    many = "this fact" if len(listed) == 1 else f"these {len(listed)} facts"
    expect(button).to_have_text(f"Edit {many} too")
    expect(page.locator("#cut-headline")).to_contain_text(f"Editing {many} too")
    request = json.loads(button.get_attribute("data-request") or "")
    assert (request["rounds"], request["per_round"]) == (1, len(listed))
    cut = service.get(f"/v1/edits/{edits[LEAKING]}/leakcut")
    first = cut["facts"][: len(listed)]
    assert [f"{f['subject']} {f['relation'].replace('-', ' ')} {f['object']}" for f in first] == [
        text.replace("-", " ") for text in listed
    ]
    last = page.locator(".cut-facts .share").last
    expect(last).to_have_text(f"{first[-1]['expected']:.3f}")
    button.click()
    page.wait_for_url("**/coedits/**")
    run = urlsplit(page.url).path.rsplit("/", 1)[1]
    done = until(lambda: ended_run(service, run), 300, 0.5)
    told = {(e["subject"], e["relation"], e["object"]) for e in done["rounds"][1]["coedits"]}
    assert told == {(f["subject"], f["relation"], f["object"]) for f in first}
    assert len(done["rounds"]) == 2


def ended_run(service: Service, run: str) -> dict[str, Any] | None:
    found: dict[str, Any] = service.get(f"/v1/coedits/{run}")
    assert found.get("status") not in ("failed", "cancelled"), found
    return found.get("result") or (found if found.get("rounds") else None)


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
    page = open_page(f"/edits/{edits[LEAKING]}")
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
                page.goto(_address(page, f"/edits/{edits[LEAKING]}/{tab}".rstrip("/")))
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
    strongest = service.get(f"/v1/edits/{edits[LEAKING]}/chains", **asked)["items"][0]
    middle, steps = strongest["entities"][1], strongest["steps"]
    page = open_page(f"/edits/{edits[LEAKING]}?measure=likelihood_norm")
    page.locator(f'#map-svg [data-entity="{middle}"] text').click()
    expect(page.locator(".chip")).to_contain_text(middle)
    page.locator("#filter [name=draw]").select_option("3")
    page.locator(".more-filters summary").click()
    page.locator(f"#filter [name=steps][value='{steps}']").check()
    page.wait_for_url("**steps=**")
    expect(page.locator("#map-title")).to_contain_text("surviv")
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
    edit = edits[LEAKING]
    result = service.get(f"/v1/edits/{edit}")["result"]
    values = result["values"]

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
    answer, _, changed = result["verdict"].partition(" Changed most: ")
    expect(verdict.locator(".headline")).to_contain_text(answer)
    expect(verdict.locator(".changed")).to_contain_text(changed.removesuffix("."))
    expect(verdict).to_contain_text(f"{100 * figure('ifr'):.0f} % of the old fact")
    # Through whom?
    branch = page.locator(".whom li").first
    leaks = service.get(f"/v1/edits/{edit}/chains", limit=1000)["items"]
    by_first: dict[str, float] = {}
    for chain in leaks:
        first = chain["links"][0]
        part = (chain["ratio"] or 0.0) / math.sqrt(chain["steps"])
        by_first[first["object"]] = by_first.get(first["object"], 0) + part
    expect(branch).to_contain_text(max(by_first, key=lambda name: by_first[name]))
    # What should be edited next, and what would be left then?
    expect(page.locator("#cut-headline")).to_contain_text(re.compile("if (it|each) takes"))
    # Which method is best, and is the difference real? One click further.
    page.locator(".by a").click()
    first = "table.board tbody tr >> nth=0"
    expect(page.locator(first)).to_contain_text(LEAKING)
    best = box(page, first)
    assert best["y"] + best["height"] <= 900
    page.go_back()
    # Which chains does another method cut? (`none` took nowhere: all of its chains survive.)
    page.get_by_role("link", name="Export", exact=True).click()
    page.get_by_role("link", name="none", exact=True).click()
    page.locator("#chain-grid").get_by_role("link", name=re.compile("^All ")).click()
    row = page.locator("#chain-grid tbody tr").first
    expect(row).to_be_visible()
    expect(row.locator("td")).to_have_count(2)


def test_an_edit_is_one_file_that_opens_without_a_service(
    open_page: Open, chromium: Browser, service: Service, edits: dict[str, str], tmp_path: Path
) -> None:
    page = open_page(f"/edits/{edits[LEAKING]}/export")
    with page.expect_download() as found:
        page.get_by_role("link", name="Download as one HTML file").click()
    file = tmp_path / "edit.html"
    found.value.save_as(file)
    context = chromium.new_context(java_script_enabled=False, offline=True)
    asked: list[str] = []
    alone = context.new_page()
    alone.on("request", lambda request: asked.append(request.url))
    alone.goto(file.as_uri())
    assert asked == [file.as_uri()]
    score = service.get(f"/v1/edits/{edits[LEAKING]}")["result"]
    expect(alone.locator(".verdict")).to_contain_text("can still be deduced")
    assert alone.locator("#map-svg .fact").count() > 3
    chains = service.get(f"/v1/edits/{edits[LEAKING]}/chains", limit=1)["total"]
    expect(alone.locator("[aria-label=Chains] tbody tr")).to_have_count(chains)
    expect(alone.locator(".provenance")).to_contain_text(str(score["provenance"]["seed"]))
    assert alone.locator("a, script, link").count() == 0
    styled = alone.locator(".figure").first.evaluate("e => getComputedStyle(e).borderLeftWidth")
    assert styled == "4px"
    context.close()


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
