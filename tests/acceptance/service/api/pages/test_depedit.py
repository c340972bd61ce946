"""The pages of DepEdit's protocol in Chromium: sets, tables, answers, and runs started from there.

Runs are posted with `base` only, which asks the model and changes nothing.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from support.commands import Mine
from support.own_graphs import atlas_as
from support.serving import Service
from support.watching import SLOW_MS, Open, fits
from thinkeval.cypher.run import Database
from thinkeval.service.depedit import sets as build
from thinkeval.service.depedit import store
from thinkeval.service.depedit.questions import questions
from thinkeval.service.depedit.store import Answer, RunRecord


@pytest.fixture(scope="module")
def sets(db: Database, mine: Mine) -> Iterator[list[str]]:
    """Small sets of the bundled graph, under a name of this module's own."""
    graph = atlas_as(db, f"{mine.prefix}-atlas")
    options = build.SetOptions(facts=6, implications=3, updates=4, init="shuffled")
    built = build.build(db, graph, options).sets
    for each in built:
        store.save_set(db, each)
    yield [each.id for each in built]
    for each in built:
        store.delete_set(db, each.id)


@pytest.fixture(scope="module")
def run(db: Database, sets: list[str]) -> str:
    """A run on the first set whose model is right at first, and says the same ever after."""
    knowledge = store.load_set(db, sets[0])
    asked = questions(knowledge)
    first = {(q.role, q.subject, q.relation): q.expected for q in asked if q.copy is None}
    answers = [Answer(q.id, first.get((q.role, q.subject, q.relation)) or "nothing") for q in asked]
    return store.save_run(db, RunRecord(sets[0], "finetune", None, "tests"), answers)


def test_tables_have_the_numbers_of_rest_with_their_n(
    service: Service, mine: Mine, sets: list[str], run: str, open_page: Open
) -> None:
    graph = f"{mine.prefix}-atlas"
    page = open_page(f"/depedit?graph={graph}")
    (told,) = service.get("/v1/depedit/report", graph=graph)["items"]
    for table, names in (
        ("specificity", ("est_s", "upd_s", "cons_ns", "cons_u")),
        ("implications", ("est_i", "upd_i", "cons_ni")),
    ):
        region = page.get_by_role("region", name=table)
        cells = region.get_by_role("row").filter(has_text="finetune").get_by_role("cell")
        shown = [" ".join(text.split()) for text in cells.all_inner_texts()]
        means = [told["means"][name] for name in names]
        assert shown[: len(means)] == [
            "–"
            if mean["value"] is None
            else f"{100 * mean['value']:.1f} [{100 * mean['low']:.0f}, {100 * mean['high']:.0f}]"
            f" n={mean['answers']}"
            for mean in means
        ]
    listed = page.locator("section", has=page.get_by_role("heading", name="Knowledge sets"))
    expect(listed.locator("tbody tr")).to_have_count(len(sets))
    row = listed.locator("tbody tr").filter(has_text=sets[0])
    expect(row.locator("[data-label=facts]")).to_have_text("6 + 5")
    expect(row.locator("[data-label=runs]")).to_have_text("1")
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").first.click()
    text = download.value.path().read_text(encoding="utf-8")
    (line,) = csv.DictReader(io.StringIO(text))
    assert float(line["Upd.S (%)"]) == pytest.approx(100 * told["means"]["upd_s"]["value"])
    for style, begins in (("markdown", "| Setting"), ("latex", "% Percent")):
        query = {"graph": graph, "format": style}
        answer = service.http.get("/depedit/report/implications", params=query)
        assert answer.text.startswith(begins)


def test_a_set_shows_what_changes_and_what_was_said(
    service: Service, db: Database, sets: list[str], run: str, open_page: Open
) -> None:
    knowledge = store.load_set(db, sets[0])
    page = open_page(f"/depedit/sets/{quote(sets[0])}")
    expect(page.get_by_role("heading", level=1)).to_have_text(knowledge.rule.text())
    facts = page.locator("section", has=page.get_by_role("heading", name="Facts, old and new"))
    expect(facts.locator("tbody tr")).to_have_count(6)
    update = knowledge.copies[1].updates[0]
    line = facts.locator("tbody tr").nth([qa.key for qa in knowledge.specific].index(update.key))
    expect(line.locator("[data-label='Update 2']")).to_contain_text(f"→ {update.object}")
    answers = service.get(f"/v1/depedit/runs/{run}")["answers"]
    table = page.locator("#answers table")
    wrong = [a for a in answers if a["expected"] not in (None, a["answer"])]
    right = [a for a in answers if a["expected"] == a["answer"]]
    expect(table.get_by_text("wrong:")).to_have_count(len(wrong))
    expect(table.get_by_text("right:")).to_have_count(len(right))
    page.get_by_label("Role").select_option("implication")
    page.get_by_label("When").select_option("2")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**copy=2**")
    kept = [a for a in answers if (a["copy"], a["role"]) == (1, "implication")]
    expect(table.locator("tbody tr")).to_have_count(len(kept))
    expect(table.get_by_text("right is")).to_have_count(len([a for a in kept if a in wrong]))


def test_runs_are_started_from_the_page_and_followed(
    open_page: Open, service: Service, mine: Mine, sets: list[str]
) -> None:
    page = open_page(f"/depedit?graph={mine.prefix}-atlas", allowed="422")
    form = page.locator("#run")
    ticked = form.locator("[name=strategy]:checked")
    while ticked.count():
        ticked.first.uncheck()
    form.get_by_role("button", name="Run").click()
    expect(page.locator("#run-problem")).to_contain_text("No strategy is chosen.")
    form.get_by_label("base", exact=True).check()
    form.get_by_label("Knowledge sets").select_option(sets[1])
    form.get_by_label("Model").fill("somebody/unknown-model")
    form.get_by_role("button", name="Run").click()
    expect(page.locator("#run-problem")).to_contain_text("not one this service may load")
    form.get_by_label("Model").fill(mine.model)
    form.get_by_role("button", name="Run").click()
    page.wait_for_url("**/protocols/**")
    page.get_by_role("link", name="Tables over all protocols").wait_for(timeout=SLOW_MS)
    expect(page.locator("#verdict")).to_contain_text("1 run of")
    (told,) = service.get("/v1/depedit/runs", knowledge_set=sets[1])["items"]
    page.get_by_role("link", name=sets[1]).click()
    expect(page.locator("#answers")).to_contain_text("What the model answered: base")
    expect(page.locator("#answers tbody tr").first).to_be_visible()
    assert told["strategy"] == "base"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_telephone_and_is_used_by_keyboard(
    service: Service, sets: list[str], run: str, scheme: str, open_page: Open
) -> None:
    page = open_page("/depedit", viewport={"width": 390, "height": 844}, color_scheme=scheme)
    fits(page, 390)
    link = page.get_by_role("link", name=sets[0], exact=True)
    link.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/depedit/sets/**")
    fits(page, 390)
    method = page.get_by_role("link", name="finetune")
    method.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**run=**")
    expect(page.get_by_role("heading", name="What the model answered: finetune")).to_be_visible()


def test_what_is_not_there_says_what_there_is(
    service: Service, sets: list[str], run: str, open_page: Open
) -> None:
    page = open_page(f"/depedit/sets/{sets[0]}x", allowed="404")
    expect(page.locator("main")).to_contain_text(f"Did you mean '{sets[0]}'")
    place = f"/depedit/sets/{sets[0]}"
    for query in ({"copy": "9"}, {"role": "other"}, {"run": "none"}):
        assert service.http.get(place, params=query).status_code == 404
    assert service.http.get("/depedit/report/other").status_code == 422
    unknown = {"format": "html"}
    assert service.http.get("/depedit/report/implications", params=unknown).status_code == 422
