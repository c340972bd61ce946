"""The page as a person uses it: Chromium, the real service with a worker, a real Neo4j.

Every page that is opened must stay on this host and leave the console empty.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from playwright.sync_api import Page, expect

from support.commands import Mine
from support.serving import Service
from support.watching import SLOW_MS, Open, fits
from thinkeval.service.models.edit import Score
from thinkeval.service.web.pages.edit import LISTED, MORE, TABS

REWRITE = "harry-potter--studied-at"


@pytest.fixture(scope="module")
def edits(service: Service, mine: Mine) -> dict[str, dict[str, Any]]:
    """The demo edit by two methods, scored over REST; by method."""
    asked = {"graph": mine.graph, "rewrite": REWRITE, "model": mine.model, "samples": 3}
    posted = {m: service.post(**asked, method=m)["id"] for m in ("rome", "none")}
    ended = {method: service.ended(edit) for method, edit in posted.items()}
    assert {edit["status"] for edit in ended.values()} == {"succeeded"}, ended
    return ended


def drawn(page: Page) -> Page:
    page.locator("#map-svg").wait_for()
    expect(page.locator("[data-tool=fit]")).to_be_visible()
    return page


def test_the_form_scores_an_edit_and_the_page_turns_into_its_result(
    open_page: Open, service: Service, mine: Mine
) -> None:
    page = open_page(f"/?graph={mine.graph}&set_method=rome")
    form = page.locator("#score")
    expect(form.locator("[name=rewrite] option:checked")).to_contain_text("Harry Potter studied at")
    expect(form.locator("[name=method]:checked")).to_have_value("rome")
    form.get_by_label("Model").fill(mine.model)
    form.locator("summary").click()
    form.get_by_label("Seed").fill("5")
    form.get_by_label("Samples a prompt").fill("2")
    form.get_by_role("button", name="Score").click()
    page.wait_for_url("**/edits/**")
    page.get_by_role("heading", name="Result", exact=True).wait_for(timeout=SLOW_MS)
    edit = urlsplit(page.url).path.rsplit("/", 1)[1]
    values = service.get(f"/v1/edits/{edit}")["result"]["values"]
    page.get_by_text("Every metric").click()
    table = page.get_by_role("region", name="Score table")
    for metric in ("efficacy", "IFR", "preservation"):
        row = table.get_by_role("row").filter(has=page.get_by_role("rowheader", name=metric)).first
        for value in values:
            if value["metric"] == metric.lower() and value["step"] is None:
                expect(row).to_contain_text(f"{value['value']:.3f}")
                expect(row).to_contain_text(str(value["n"]))


def test_an_edit_under_way_is_followed_and_can_be_cancelled(
    open_page: Open, service: Service, mine: Mine
) -> None:
    asked = {"graph": mine.graph, "rewrite": REWRITE, "model": mine.model, "samples": 150}
    edit = service.post(**asked, method="memit", seed=11)["id"]
    page = open_page(f"/edits/{edit}")
    expect(page.locator("[data-stage]")).not_to_have_text("waiting", timeout=SLOW_MS)
    listed = open_page(f"/?graph={mine.graph}")
    listed.get_by_role("button", name=re.compile("^Cancel")).first.click()
    expect(page.locator(".status")).to_contain_text("cancelled", timeout=SLOW_MS)
    expect(page.get_by_role("link", name="Score it again")).to_be_visible()
    expect(listed.locator("tbody tr:not(.group)").first).to_contain_text(
        "cancelled", timeout=SLOW_MS
    )


def test_what_else_to_edit_is_listed_drawn_and_found_again_with_a_lock(
    open_page: Open, edits: dict[str, dict[str, Any]]
) -> None:
    page = drawn(open_page(f"/edits/{edits['none']['id']}?draw=1000"))
    marked = page.locator("#map-svg .next").count()
    page.get_by_role("navigation", name="Parts of this edit").get_by_text("What else").click()
    expect(page.locator("#cut-headline")).to_contain_text("(proved fewest)")
    section = page.locator("#cut")
    assert marked > 0
    expect(section.locator("tbody tr")).to_have_count(marked)
    section.get_by_label("Never edit").fill("Ron Weasley; Gryffindor")
    section.get_by_role("button", name="Find the cut").click()
    expect(section).to_contain_text("locked: Ron Weasley, Gryffindor")
    page.locator("#cut tbody a").first.click()
    expect(page.locator("#detail")).to_contain_text("Before: p")


def test_what_the_service_refuses_is_said_beside_the_button(open_page: Open, mine: Mine) -> None:
    page = open_page(f"/?graph={mine.graph}&set_method=rome", allowed="422")
    page.get_by_label("Model").fill("somebody/unknown-model")
    page.get_by_role("button", name="Score").click()
    box = page.locator("#score-problem")
    expect(box).to_contain_text("not one this service may load")
    expect(box).to_contain_text("Allowed: organism")
    page.locator("[name=method]:checked").uncheck()
    page.get_by_role("button", name="Score").click()
    expect(box).to_contain_text("No method is chosen.")


def test_filters_change_the_list_and_stay_in_the_address(
    open_page: Open, service: Service, edits: dict[str, dict[str, Any]]
) -> None:
    edit = edits["rome"]["id"]
    page = open_page(f"/edits/{edit}/chains")

    def agrees(**asked: Any) -> None:
        rest = service.get(f"/v1/edits/{edit}/chains", limit=1000, **asked)
        tally = page.locator("#tally")
        expect(tally).to_contain_text(f" of {rest['total']} chain")
        bare = [item for item in rest["items"] if item["steps"] == 1 and item["surviving"]]
        bare = [item for item in bare if item["links"][0]["relation"] == "studied at"]
        expect(tally).to_contain_text(f"; {rest['surviving'] - len(bare)} survive")
        expect(page.locator(".chain")).to_have_count(min(LISTED, rest["total"]))

    agrees()
    page.locator("[name=steps][value='2']").check()
    agrees(steps=2)
    page.get_by_label("Surviving only").check()
    agrees(steps=2, surviving="true")
    page.reload()
    agrees(steps=2, surviving="true")
    page.get_by_role("link", name="Reset").click()
    agrees()
    page.locator("[name=min_ratio]").fill("0.5")
    agrees(min_ratio=0.5)
    fact = service.get(f"/v1/edits/{edit}/tables/leaks", format="json")[0]
    page.goto(f"{service.url}/edits/{edit}/chains?fact={quote(fact['id'])}")
    agrees(fact=fact["id"])


def test_chains_are_listed_strongest_first_with_the_ratio_under_each_link(
    open_page: Open, service: Service, edits: dict[str, dict[str, Any]]
) -> None:
    edit = edits["rome"]["id"]
    page = open_page(f"/edits/{edit}/chains")
    first = service.get(f"/v1/edits/{edit}/chains", limit=1)["items"][0]
    shown = page.locator(".chain").first
    expect(shown.locator(".box")).to_have_text(first["entities"])
    expect(shown).to_contain_text("survives" if first["surviving"] else "cut")
    for link, told in zip(shown.locator(".link").all(), first["links"], strict=True):
        ratio = f"{told['ratio']:.2f}".removeprefix("0")
        expect(link.locator(".ratio")).to_have_text(f"retention {ratio}")
    total = service.get(f"/v1/edits/{edit}/chains", limit=1)["total"]
    assert total > 100
    page.get_by_role("link", name="Show more").click()
    expect(page.locator(".chain")).to_have_count(LISTED + MORE)


def test_each_chain_opens_in_neo4j_browser_with_its_query(
    open_page: Open, service: Service, edits: dict[str, dict[str, Any]]
) -> None:
    edit = edits["rome"]["id"]
    page = open_page(f"/edits/{edit}/chains")
    first = service.get(f"/v1/edits/{edit}/chains", limit=1)["items"][0]
    link = page.get_by_role("link", name="Neo4j Browser: chain 1", exact=True)
    address = urlsplit(link.get_attribute("href") or "")
    asked = parse_qs(address.query)
    assert asked["cmd"] == ["edit"]
    assert address.path.endswith("/browser/")
    positions = [asked["arg"][0].index(link["id"].split("|")[1]) for link in first["links"]]
    assert positions == sorted(positions)


def test_a_chosen_fact_shows_its_answers_and_only_its_chains(
    open_page: Open, service: Service, edits: dict[str, dict[str, Any]]
) -> None:
    edit = edits["rome"]["id"]
    page = drawn(open_page(f"/edits/{edit}"))
    graph = service.get(f"/v1/edits/{edit}/graph")
    link = page.locator("#map-svg .fact:not(.target_new) text").first
    chosen = link.locator("xpath=..").get_attribute("data-fact")
    link.click()
    fact = next(e for e in graph["edges"] if e["id"] == chosen)
    detail = page.locator("#detail")
    expect(detail).to_contain_text(fact["prompt"].replace("{}", fact["source"]))
    expect(detail).to_contain_text(f"Before: p {fact['pre']:.3f}")
    expect(detail).to_contain_text(f"After: p {fact['post']:.3f}")
    for answer in {*fact["answers_pre"], *fact["answers_post"]}:
        expect(detail).to_contain_text(answer.strip())
    assert parse_qs(urlsplit(page.url).query)["fact"] == [chosen]
    through = service.get(f"/v1/edits/{edit}/chains", fact=chosen, limit=1000)["items"]
    alive = sum(chain["surviving"] for chain in through if chain["steps"] > 1)
    told = f"of {alive} surviving chain" if alive else "no chain survives"
    expect(page.locator("#map-title")).to_contain_text(told)
    page.reload()
    expect(page.locator("#map-title")).to_contain_text(told)
    expect(detail).to_contain_text(f"Before: p {fact['pre']:.3f}")


def test_an_entity_and_a_branch_choose_the_chains_through_them(
    open_page: Open, service: Service, edits: dict[str, dict[str, Any]]
) -> None:
    edit = edits["rome"]["id"]
    page = drawn(open_page(f"/edits/{edit}"))
    # The strongest chain is on the map, whatever the model leaves of the others.
    middle = service.get(f"/v1/edits/{edit}/chains", limit=1)["items"][0]["entities"][1]
    page.locator(f'#map-svg [data-entity="{middle}"] text').click()
    expect(page.locator(".chip")).to_contain_text(middle)
    assert parse_qs(urlsplit(page.url).query)["through"] == [middle]
    for name in page.locator("#map-svg .fact").all():
        assert name.get_attribute("data-chains") or "target_new" in str(name.get_attribute("class"))
    page.get_by_role("link", name="All chains", exact=True).click()
    expect(page.locator(".chip")).to_have_count(0)
    branch = page.locator(".tree > ul > li").first
    branch.locator("summary").first.click()
    branch.get_by_role("link", name="Only these on the map").click()
    expect(page.locator(".chip")).to_contain_text("begins:")


def test_a_pointed_fact_lights_its_strongest_chain(
    open_page: Open, service: Service, edits: dict[str, dict[str, Any]]
) -> None:
    edit = edits["rome"]["id"]
    page = drawn(open_page(f"/edits/{edit}"))
    first = service.get(f"/v1/edits/{edit}/chains", limit=1)["items"][0]
    page.locator(f"#map-svg [data-fact='{first['links'][0]['id']}'] text").hover()
    expect(page.locator("#map-status")).to_have_text(re.compile("^Chain 1: "))
    lit = {e.get_attribute("data-fact") for e in page.locator("#map-svg .fact.lit").all()}
    assert lit == {link["id"] for link in first["links"]}


def test_the_page_is_used_by_keyboard_alone(
    open_page: Open, edits: dict[str, dict[str, Any]]
) -> None:
    page = drawn(open_page(f"/edits/{edits['rome']['id']}"))
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    expect(page.locator(".skip")).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.locator("#canvas").focus()
    focused, labels = page.locator("#map-svg :focus"), []
    fact = None
    while fact is None and len(labels) < 8:
        page.keyboard.press("ArrowRight")
        labels.append(focused.get_attribute("aria-label"))
        fact = focused.get_attribute("data-fact")
    assert labels[0] == "Harry Potter (subject)"
    assert len(set(labels)) == len(labels) > 1, "each press moves to the right"
    expect(page.locator("#detail h3")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator(".chip")).to_contain_text("fact:")
    expect(focused).to_have_attribute("data-fact", str(fact))
    page.keyboard.press("Escape")
    expect(page.locator(".chip")).to_have_count(0)
    page.locator("#canvas").focus()
    width = page.locator("#map-svg").evaluate("e => e.getBoundingClientRect().width")
    page.keyboard.press("+")
    assert page.locator("#map-svg").evaluate("e => e.getBoundingClientRect().width") > width
    summary = page.locator(".tree summary").first
    summary.focus()
    outline = summary.evaluate("e => getComputedStyle(e).outlineStyle")
    page.keyboard.press("Space")
    expect(page.locator(".tree > ul > li").first.locator("ul").first).to_be_visible()
    assert outline == "solid"


def test_it_can_be_read_without_javascript(
    open_page: Open, edits: dict[str, dict[str, Any]]
) -> None:
    edit = edits["rome"]["id"]
    page = open_page(f"/edits/{edit}", java_script_enabled=False)
    expect(page.locator("#map-svg .fact").first).to_be_visible()
    page.locator(".more-filters summary").click()
    page.locator("#filter").get_by_label("Surviving only").check()
    page.get_by_role("button", name="Apply").click()
    expect(page.locator("#map-svg .cut")).to_have_count(0)
    page.get_by_role("link", name="Chains", exact=True).click()
    expect(page.locator(".chain")).to_have_count(LISTED)
    page.get_by_label("Surviving only").check()
    page.get_by_role("button", name="Apply").click()
    expect(page.locator(".chain.cut")).to_have_count(0)
    assert page.locator(".chain").count() > 0


def test_two_edits_stand_side_by_side(open_page: Open, edits: dict[str, dict[str, Any]]) -> None:
    page = open_page(f"/edits/{edits['none']['id']}/export")
    page.get_by_role("link", name="rome", exact=True).click()
    page.wait_for_url("**/compare**")
    scores = page.get_by_role("region", name="Scores of the edits")
    row = scores.get_by_role("row").filter(has=page.get_by_role("rowheader", name="IFR")).first
    for edit in edits.values():
        ifr = Score.model_validate(edit["result"]).number("ifr", "likelihood")
        expect(row).to_contain_text(f"{ifr:.3f}")


def test_the_table_of_methods_has_the_numbers_of_rest(
    open_page: Open, service: Service, mine: Mine, edits: dict[str, dict[str, Any]]
) -> None:
    page = open_page(f"/methods?graph={mine.graph}")
    board = service.get("/v1/leaderboard", graph=mine.graph)
    assert len(board["rows"]) >= len(edits)
    table = page.get_by_role("region", name="Scores by method")
    for scored in board["rows"]:
        name = page.get_by_role("rowheader", name=scored["Method"])
        row = table.get_by_role("row").filter(has=name)
        expect(row).to_contain_text(f"{scored['IFR']:.3f}")
        expect(row).to_contain_text(f"{scored['Preservation']:.3f}")
    page.set_viewport_size({"width": 390, "height": 844})
    first = table.get_by_role("columnheader").nth(1)
    expect(first).to_have_text("IFR")
    place = first.bounding_box()
    assert place
    assert place["x"] + place["width"] <= 390
    expect(page.locator("img.drawing")).to_have_count(2)
    assert page.locator("img.drawing").first.evaluate("image => image.decode()") is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_a_telephone(
    open_page: Open, edits: dict[str, dict[str, Any]], scheme: str
) -> None:
    rome, none = edits["rome"]["id"], edits["none"]["id"]
    compared = f"/compare?edit={rome}&edit={none}"
    tabs = [f"/edits/{rome}/{tab}" if tab else f"/edits/{rome}" for tab in TABS]
    paths = ("/", *tabs, compared, "/methods", "/rules", "/login")
    page = open_page("/", viewport={"width": 390, "height": 844}, color_scheme=scheme)
    for path in paths:
        page.goto(urlsplit(page.url)._replace(path="", query="").geturl() + path)
        fits(page, 390)


def test_the_theme_is_remembered(open_page: Open) -> None:
    page = open_page("/methods", color_scheme="light")
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.get_by_text("More", exact=True).click()
    button = page.get_by_role("button", name="Theme")
    button.click()
    button.click()
    expect(button).to_have_text("Theme: dark")
    dark = page.evaluate(paper)
    assert dark != light
    page.goto(page.url)
    assert page.evaluate(paper) == dark


def test_an_edit_that_is_not_there_says_what_to_do(open_page: Open) -> None:
    page = open_page("/edits/rome-harry-nobody", allowed="404")
    expect(page.locator("main")).to_contain_text("There is no edit 'rome-harry-nobody'")
    expect(page.locator("main")).to_contain_text("thinkeval results edits")
