"""Actions of the page on edits: it scores them with rules, and deletes them when asked twice."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from support.commands import Cli, Mine
from support.serving import Service
from support.watching import SLOW_MS, Open, fits

RULES = """\
rules:
  - if: [student was sorted into house, house is a house at school]
    then: student studied at school
    kinds: {student: person, house: house, school: school}
  - if: [a studied at school, a was friends with b]
    then: b studied at school
    kinds: {school: school}
"""
REWRITE = "harry-potter--studied-at"


@pytest.fixture(scope="module")
def ruled(thinkeval: Cli, mine: Mine, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Another data set of this module's own, with rules."""
    path: Path = tmp_path_factory.mktemp("rules") / "rules.yaml"
    path.write_text(RULES, encoding="utf-8")
    graph = f"{mine.prefix}-ruled"
    thinkeval("import", "hogwarts", "--name", graph)
    thinkeval("graph", "rules", "add", graph, path)
    return graph


def test_the_form_asks_for_what_follows_where_there_are_rules(
    open_page: Open, service: Service, mine: Mine, ruled: str
) -> None:
    form = f"/?graph={mine.graph}&set_method=rome"
    page = open_page(form, viewport={"width": 390, "height": 844})
    box = page.get_by_label("Also probe the conclusions of the rules")
    why = page.locator("#rules-why")
    expect(box).to_be_disabled()
    expect(why).to_contain_text(f"thinkeval graph rules mine {mine.graph}")
    fits(page, 390)
    with page.expect_response(f"**/v1/rewrites?graph={ruled}*"):
        page.locator("#score [name=graph]").select_option(ruled)
    chosen = page.locator("#score [name=rewrite] option:checked")
    expect(chosen).to_have_text(re.compile(r"^Harry Potter studied at.*\(\d+ chains\)$"))
    expect(box).to_be_enabled()
    expect(why).to_contain_text(f"2 rules of {ruled}")
    box.focus()
    page.keyboard.press("Space")
    page.get_by_label("Model").fill(mine.model)
    page.locator("#score").get_by_text("Advanced", exact=True).click()
    page.get_by_label("Samples a prompt").fill("1")
    page.get_by_role("button", name="Score", exact=True).click()
    page.wait_for_url("**/edits/**")
    tabs = page.get_by_role("navigation", name="Parts of this edit")
    tabs.get_by_role("link", name="Rules").wait_for(timeout=SLOW_MS)
    edit = urlsplit(page.url).path.rsplit("/", 1)[1]
    items = service.get(f"/v1/edits/{edit}/implications")["implications"]["items"]
    assert {item["verdict"] for item in items} not in (set(), {None})
    tabs.get_by_role("link", name="Rules").click()
    expect(page.get_by_role("heading", name="Conclusions of rules")).to_be_visible()
    fits(page, 390)
    tabs.get_by_role("link", name="Export").click()
    expect(page.get_by_role("heading", name="Export and repeat")).to_be_visible()
    commands = page.locator(".command code").all_inner_texts()
    assert [c for c in commands if c.startswith("thinkeval score") and "--implications" in c]
    assert [c for c in commands if c.startswith("curl") and '"implications": true' in c]
    fits(page, 390)


def test_an_edit_is_deleted_when_it_was_asked_for_twice(
    open_page: Open, service: Service, mine: Mine
) -> None:
    asked = {"graph": mine.graph, "rewrite": REWRITE, "model": mine.model, "samples": 0}
    edit = service.ended(service.post(**asked, method="none", seed=31)["id"])["id"]
    page = open_page(f"/edits/{edit}/export")
    page.get_by_role("link", name="Delete this edit").click()
    told = page.locator("main")
    facts = service.get(f"/v1/graphs/{edit}")["n_facts"]
    expect(told).to_contain_text(f"its graph: {facts} facts")
    page.get_by_role("link", name="Cancel", exact=True).click()
    expect(page.get_by_role("heading", name="Result", exact=True)).to_be_visible()
    page.go_back()
    button = page.get_by_role("button", name="Delete the edit")
    button.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_have_text(f"Deleted: edit {edit}.")
    assert service.http.get(f"/v1/edits/{edit}").status_code == 404
    assert service.http.get(f"/v1/graphs/{edit}").status_code == 404


def test_an_edit_under_way_is_cancelled_before_it_can_be_deleted(
    open_page: Open, service: Service, mine: Mine
) -> None:
    asked = {"graph": mine.graph, "rewrite": REWRITE, "model": mine.model, "samples": 150}
    edit = service.post(**asked, method="memit", seed=32)["id"]
    page = open_page(f"/edits/{edit}/delete", allowed="409")
    expect(page.get_by_role("button", name="Delete the edit")).to_have_count(0)
    refused = service.http.post(f"/edits/{edit}/delete")
    assert refused.status_code == 409
    assert "Cancel it first" in refused.json()["remedy"]
    page.get_by_role("button", name="Cancel the edit").click()
    page.get_by_role("button", name="Delete the edit").click(timeout=SLOW_MS)
    page.wait_for_url("**/?deleted=*")
    assert service.http.get(f"/v1/edits/{edit}").status_code == 404


def test_pages_of_other_sites_delete_nothing(service: Service, mine: Mine) -> None:
    for path in ("/edits/nothing/delete", f"/graphs/{mine.graph}/delete"):
        answer = service.http.post(path, headers={"Origin": "http://example.org"})
        assert answer.status_code == 403
    assert service.http.get(f"/v1/graphs/{mine.graph}").status_code == 200


def test_a_data_set_is_deleted_when_nothing_uses_it(
    open_page: Open, service: Service, thinkeval: Cli, mine: Mine, ruled: str
) -> None:
    asked = {"graph": ruled, "rewrite": REWRITE, "model": mine.model, "samples": 0}
    service.ended(service.post(**asked, method="none")["id"])
    page = open_page(f"/graphs/{ruled}/delete")
    expect(page.locator("main")).to_contain_text("It cannot be deleted, because it is in use")
    expect(page.get_by_role("link", name=re.compile(r"^\d+ edits?$"))).to_be_visible()
    refused = service.http.post(f"/graphs/{ruled}/delete")
    assert (refused.status_code, refused.json()["remedy"]) == (409, "Delete those first.")
    free = f"{mine.prefix}-free"
    thinkeval("import", "hogwarts", "--name", free)
    page.goto(f"{service.url}/data")
    page.get_by_role("row", name=free).get_by_role("link", name="delete").click()
    expect(page.locator("main")).to_contain_text("108 facts")
    page.get_by_role("button", name="Delete the data set").click()
    expect(page.get_by_role("status").first).to_have_text(f"Deleted: data set {free}.")
    assert service.http.get(f"/v1/graphs/{free}").status_code == 404
