"""The pages of growth runs in Chromium: review by keyboard, figures as by REST, the form."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from support.commands import Mine
from support.growth_runs import candidate, grown
from support.serving import Service
from support.watching import Open, fits
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.growth import review
from thinkeval.service.growth.schemas import Triplet

NAMES = ("Harry Potter", "Ron Weasley", "Gryffindor", "Hogwarts School of Witchcraft and Wizardry")


@pytest.fixture
def run(db: Database, graph_id: str) -> Iterator[str]:
    """Six triplets that wait, and some in other states, as of a crawl."""
    waiting = [candidate(n, state="conflict" if n == 1 else "review") for n in range(6)]
    states = ("validated", "validated", "discarded", "unknown")
    others = [
        candidate(
            6 + n, state=state, subject=NAMES[n % 3], object=NAMES[(n + 1) % 4], share=0.2 + n / 5
        )
        for n, state in enumerate(states)
    ]
    with grown(db, f"{graph_id}-run", [*waiting, *others]) as name:
        for number in (1, 2):
            db.write(
                int, "growth/write_iteration",
                run=name, number=number, triplets=5 * number, paths=number,
                cot_queries=12 * number, calls=100 * number, tokens_in=1000, tokens_out=500,
                seconds=1.5,
            )  # fmt: skip
        review.decide(db, name, "c7", "keep", "bob")
        review.decide(db, name, "c7", "keep", "m@local", role="judge", reason="as far as I know")
        yield name


def test_a_run_is_reviewed_by_keyboard(
    db: Database, service: Service, run: str, open_page: Open
) -> None:
    page = open_page(f"/growth/{run}")
    article = page.locator("[data-chosen]")
    expect(article).to_have_attribute("data-chosen", "c0")
    expect(article).to_contain_text("Subject 0 studied at Object 0.")
    expect(article).to_contain_text("Question q2?")
    page.keyboard.press("k")
    expect(page.locator("#decide-problem")).to_contain_text("needs your name")
    page.get_by_label("Your name").fill("ann")
    page.locator("#review-title").click()
    page.keyboard.press("ArrowDown")
    expect(article).to_have_attribute("data-chosen", "c1")
    page.keyboard.press("ArrowUp")
    expect(article).to_have_attribute("data-chosen", "c0")
    page.keyboard.press("k")
    expect(page.locator("#decided")).to_contain_text("Decision 3: keep. 5 wait")
    expect(article).to_have_attribute("data-chosen", "c1")
    page.get_by_label("Why").fill("wrong")
    page.locator("#review-title").click()
    page.keyboard.press("p")
    expect(page.locator("#decided")).to_contain_text("Decision 4: prune. 4 wait")
    page.keyboard.press("c")
    expect(page.get_by_label("Object")).to_have_value("Object 2")
    page.get_by_label("Object").fill("Hogwarts")
    page.keyboard.press("Enter")
    expect(page.locator("#decided")).to_contain_text("Decision 5: correct. 3 wait")
    page.locator("#review-title").click()
    page.keyboard.press("a")
    for name, text in (("Subject", "A"), ("Relation", "is in"), ("Object", "B")):
        page.get_by_label(name).fill(text)
    page.get_by_role("button", name="Record").click()
    expect(page.locator("#decided")).to_contain_text("Decision 6: add. 3 wait")
    expect(page.locator("#decisions tbody tr")).to_have_count(6)
    found = review.decisions_of(db, run).items
    assert [(d.verb, d.by, d.reason) for d in found[2:]] == [
        ("keep", "ann", None), ("prune", "ann", "wrong"), ("correct", "ann", None),
        ("add", "ann", None),
    ]  # fmt: skip
    assert found[4].after == Triplet(subject="Subject 2", relation="studied at", object="Hogwarts")


def test_figures_are_those_of_rest(
    db: Database, service: Service, run: str, open_page: Open
) -> None:
    page = open_page(f"/growth/{run}")
    told = service.get(f"/v1/growth/{run}")["result"]["iterations"]
    shown = page.locator("#iterations tbody tr").all_inner_texts()
    assert [row.split("\t")[1] for row in shown] == [str(each["triplets"]) for each in told]
    total = service.get(f"/v1/growth/{run}")["result"]["judged"][-1]
    last = page.locator("#judge tbody tr").last.inner_text().split("\t")
    assert last[:7] == ["all", *(str(total[k]) for k in ("judged", "both", "tp", "fp", "fn", "tn"))]
    assert last[9] == f"{total['f1']:.3f}"
    assert last[11] == "–", "nobody but bob decided"
    drawn = page.locator(".growing path.edge")
    assert drawn.count() == 10
    assert page.locator(".growing path.below").count() == 1
    assert page.locator(".growing path.unknown").count() == 1


def test_decisions_are_given_as_a_file(
    db: Database, run: str, tmp_path: Path, open_page: Open
) -> None:
    """The CSV that the page offers, with verbs filled in."""
    page = open_page(f"/growth/{run}", allowed="422")
    with page.expect_download() as saved:
        page.get_by_role("link", name="the candidates that wait").click()
    file = tmp_path / "waiting.csv"
    saved.value.save_as(file)
    lines = file.read_text().splitlines()
    assert len(lines) == 1 + 6
    verbs = {"c0,": "keep", "c3,": "prune"}
    filled = [
        line.replace(",", f",{verbs[line[:3]]}", 1) if line[:3] in verbs else line for line in lines
    ]
    file.write_text("\n".join(filled))
    page.get_by_label("Decisions as CSV").set_input_files(file)
    upload = page.locator("#upload").get_by_role("button", name="Upload")
    upload.click()
    expect(page.locator("#upload-problem")).to_contain_text("line 2: nothing says who decides")
    page.get_by_label("Your name").fill("ann")
    upload.click()
    expect(page.locator("#decided")).to_contain_text("2 decisions recorded, 4 rows without a verb")
    expect(page.locator("#left")).to_have_text("4")
    found = review.decisions_of(db, run).items[2:]
    assert [(d.candidate, d.verb, d.by) for d in found] == [
        ("c0", "keep", "ann"), ("c3", "prune", "ann"),
    ]  # fmt: skip


def test_the_list_and_its_form(service: Service, run: str, hogwarts: str, open_page: Open) -> None:
    page = open_page("/growth", allowed="422")
    expect(page.get_by_role("navigation", name="Pages")).to_contain_text("Growth")
    expect(page.locator(f"a[href='/growth/{run}']")).to_be_visible()
    page.get_by_label("Seed").fill("Nobody")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("alert")).to_contain_text("Nobody")


@pytest.mark.parametrize("width", [1280, 390])
def test_pages_fit(run: str, width: int, open_page: Open) -> None:
    for path in (f"/growth/{run}", "/growth"):
        page = open_page(path, viewport={"width": width, "height": 900})
        fits(page, width)


def test_a_crawl_waits_for_people_and_continues_after_the_last_decision(
    open_page: Open, service: Service, mine: Mine, db: Database
) -> None:
    """A run by a worker: started over REST, live on its page, reviewed there, then finished."""
    run = service.post(
        "/v1/growth", seed="Harry Potter", elicit="crawl", base=mine.graph, judge="human",
        graph=f"{mine.prefix}-grown", answers={"model": mine.model},
        crawl={"depth": 1, "samples": 2, "wordings": 2},
    )["id"]  # fmt: skip
    try:
        page = open_page(f"/growth/{run}")
        title = page.locator("#state-title")
        expect(title).to_contain_text("waiting review", timeout=60_000)
        first = service.get(f"/v1/growth/{run}/candidates", state="review")
        assert first["total"] > 0
        page.get_by_label("Your name").fill("ann")
        page.locator("#review-title").click()
        expect(page.locator("[data-chosen]")).to_have_count(1)  # it is fetched after the title
        for left in reversed(range(first["total"])):
            page.keyboard.press("k")
            expect(page.locator("#decided")).to_contain_text(f"{left} wait")
        expect(page.locator("#decided")).to_contain_text("the run continues")
        expect(title).to_contain_text("succeeded", timeout=60_000)
        told = service.get(f"/v1/growth/{run}")["result"]
        assert (told["to_review"], told["decisions"]) == (0, first["total"])
        assert page.locator(".growing path.share").count() > 0
        columns = page.locator(".growing .tick").all_text_contents()
        assert columns == ["start", "depth 1"]
        assert db.read(rows.FactRow, "graph/facts", graph=f"{mine.prefix}-grown")
    finally:
        service.http.delete(f"/v1/growth/{run}")
