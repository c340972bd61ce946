"""Neo4j Browser as an explorer has it: real Chromium, the real Browser, our guide and our links."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import neo4j
import pytest
import uvicorn
from fastapi import FastAPI
from playwright import sync_api

from support.closure_rules import stored
from support.own_graphs import own_graphs
from support.references.closure_reference import PlainRule
from support.stored_edits import probed, store_edit
from thinkeval.cypher.browser import connect_commands
from thinkeval.cypher.run import Database
from thinkeval.service.base.settings import Settings
from thinkeval.service.models.edit import Score
from thinkeval.service.reports import browser as browser_links
from thinkeval.service.rules import closure
from thinkeval.service.scoring import metrics
from thinkeval.service.web.catalog import browser_router

WAIT_MS = 60_000
SET_UP = ":config autoComplete: false"
BLUE, RED, VIOLET = "#1f6fb2", "#c0392b", "#8e44ad"


@pytest.fixture(scope="module")
def address(server: dict[str, str], test_settings: Settings) -> str:
    """Return the address of the Browser of the tests' server."""
    found = browser_links.browser_address(test_settings)
    if found is None:
        pytest.skip("the server in the environment does not say where its Browser is")
    try:
        httpx.get(found, timeout=10).raise_for_status()
    except httpx.HTTPError as error:
        pytest.skip(f"no Neo4j Browser at {found}: {error}")
    return found


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    """Our routes on a port of their own. `localhost` is a name every Browser fetches from."""
    app = FastAPI()
    app.include_router(browser_router)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        yield f"http://localhost:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join(20)


@pytest.fixture(scope="module")
def edit(db: Database) -> Iterator[Score]:
    """Two ways to Hogwarts survive; a further fact joins their entities and is on neither."""
    with own_graphs(db) as prefix:
        yield store_edit(
            db,
            f"{prefix}-school",
            [
                probed(("Harry", "studied at", "Hogwarts"), 0.93, 0.001, "target_true"),
                probed(("Harry", "studied at", "Ilvermorny"), 0.0, 0.9, "target_new", listed=False),
                probed(("Harry", "lives in", "Gryffindor"), 0.9, 0.81),
                probed(("Gryffindor", "is part of", "Hogwarts"), 0.99, 0.9),
                probed(("Harry", "knows", "Ron"), 0.8, 0.4),
                probed(("Ron", "went to", "Hogwarts"), 0.9, 0.3),
                probed(("Ron", "plays for", "Gryffindor"), 0.9, 0.0001),
            ],
            dataset=prefix,
        )


@dataclass
class Window:
    """A page of Browser that is connected."""

    page: sync_api.Page

    @property
    def newest(self) -> sync_api.Locator:
        return self.page.get_by_test_id("frame").first

    @property
    def editor(self) -> sync_api.Locator:
        return self.page.locator(".monaco-editor").first

    def run(self, text: str | None = None) -> None:
        """Run what stands in the editor, or this."""
        self.editor.click()
        if text is not None:
            self.page.keyboard.press("Control+A")
            self.page.keyboard.insert_text(text)
        self.page.keyboard.press("Control+Enter")

    def draws(self) -> sync_api.Locator:
        """Run what stands in the editor until a drawing is there; the frame that holds it.

        Once connected, Browser opens frames of its own, which may come after ours; and while it
        connects, it may drop what was run.
        """
        drawing = self.page.locator("svg g.node")
        frame = self.page.get_by_test_id("frame").filter(has=drawing).first
        deadline = time.monotonic() + WAIT_MS / 1000
        while True:
            self.run()
            try:
                frame.wait_for(timeout=WAIT_MS / 6)
            except sync_api.TimeoutError:
                assert time.monotonic() < deadline, self.newest.text_content()
            else:
                return frame

    def knows(self, params: tuple[str, ...]) -> None:
        """Wait until Browser has these parameters: it has the server work out one after another."""
        deadline = time.monotonic() + WAIT_MS / 1000
        while True:
            self.run(":params")
            self.page.wait_for_timeout(500)
            told = self.newest.text_content() or ""
            if all(f'"{name}"' in told for name in params):
                return
            assert time.monotonic() < deadline, told

    def play(self, url: str) -> sync_api.Locator:
        """The frame of a guide, found by its address however its slides turn."""
        self.run(f":play {url}")
        frame = self.page.get_by_test_id("frame").filter(has_text=f":play {url}")
        sync_api.expect(frame).to_be_visible(timeout=WAIT_MS)
        return frame


@pytest.fixture(scope="module")
def window(chromium: sync_api.Browser, address: str, server: dict[str, str]) -> Iterator[Window]:
    """Connected by the form, as a user does it."""
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(WAIT_MS)
    page.goto(address)
    bolt = re.sub(r"^\w+://", "", server["THINKEVAL_NEO4J_URI"])
    page.get_by_test_id("boltaddress").fill(bolt)
    page.get_by_test_id("username").fill(server["THINKEVAL_NEO4J_USER"])
    yield connected(page, server)
    page.close()


def connected(page: sync_api.Page, server: dict[str, str]) -> Window:
    """The window once the password is given, and what our server has Browser do is done."""
    page.get_by_test_id("password").fill(server["THINKEVAL_NEO4J_PASSWORD"])
    page.get_by_test_id("connect").click()
    sync_api.expect(page.get_by_test_id("password")).to_have_count(0, timeout=WAIT_MS)
    sync_api.expect(page.get_by_text(SET_UP).first).to_be_visible(timeout=WAIT_MS)
    return Window(page)


def test_the_guide_leads_to_the_surviving_chains(window: Window, service: str, edit: Score) -> None:
    guide = window.play(f"{service}/neo4j/guide.html?edit={edit.edit}")
    sync_api.expect(guide).to_contain_text("How deep does an edit of a language model go?")
    guide.locator("pre.runnable i").first.click()  # Connect result nodes: off
    sync_api.expect(window.newest).to_contain_text('"autoComplete": false', timeout=WAIT_MS)
    guide.get_by_test_id("nextSlide").click()
    sync_api.expect(guide).to_contain_text("Choose an edit")
    guide.locator("pre.runnable i").click()
    sync_api.expect(window.newest).to_contain_text(f':param edit => "{edit.edit}"', timeout=WAIT_MS)
    window.knows(("edit", "measure", "threshold", "max_steps", "bare"))
    for title in ("1. Which graphs", "2. Which edits", "3. Which chains survive"):
        guide.get_by_test_id("nextSlide").click()
        sync_api.expect(guide).to_contain_text(title)
    guide.locator("pre.runnable").click(position={"x": 300, "y": 30})
    sync_api.expect(window.editor).to_contain_text("SHORTEST", timeout=WAIT_MS)
    guide.locator("pre.runnable i").click()
    sync_api.expect(window.newest).to_contain_text("Displaying 4 nodes", timeout=WAIT_MS)


def test_the_guide_draws_what_follows_by_rules(
    window: Window, service: str, edit: Score, db: Database
) -> None:
    rule = stored(PlainRule("lives in", False, "is part of", False, "studied at"))
    closure.closure(db, edit.edit, [rule])
    window.run(":clear")
    sync_api.expect(window.page.get_by_test_id("frame")).to_have_count(0, timeout=WAIT_MS)
    guide = window.play(f"{service}/neo4j/guide.html?edit={edit.edit}")
    shown = guide.locator("pre.runnable i")
    shown.nth(1).click()  # the style
    sync_api.expect(window.newest).to_contain_text("relationship.IMPLIED", timeout=WAIT_MS)
    guide.get_by_test_id("nextSlide").click()
    sync_api.expect(guide).to_contain_text("Choose an edit")
    shown.click()
    window.knows(("edit", "conclusion"))
    for _ in range(20):
        if "Which conclusions still follow?" in (guide.text_content() or ""):
            break
        before = guide.text_content()
        guide.get_by_test_id("nextSlide").click()
        sync_api.expect(guide).not_to_have_text(before or "", timeout=WAIT_MS)
    sync_api.expect(guide).to_contain_text("IMPLIED")
    shown.click()
    drawing = window.page.get_by_test_id("frame").filter(has_text="IMPLIED (1)").first
    sync_api.expect(drawing.locator("svg g.node")).to_have_count(2, timeout=WAIT_MS)
    # Told apart from a fact without its colour, too.
    texts = " ".join(drawing.locator("svg text").all_text_contents())
    assert "∴ .89→.73" in texts, texts
    sync_api.expect(drawing.locator("svg g.relationship path").first).to_have_attribute(
        "fill", re.compile(VIOLET, re.IGNORECASE)
    )


def test_a_link_draws_exactly_its_chain_in_our_style(
    window: Window, service: str, address: str, edit: Score, db: Database
) -> None:
    window.run(f":style {service}/neo4j/thinkeval.grass")
    sync_api.expect(window.newest).to_contain_text("relationship.FACT", timeout=WAIT_MS)
    strongest = metrics.chain_rows(db, edit, "likelihood", surviving=True)[0]
    assert strongest.entities == ("Harry", "Gryffindor", "Hogwarts")
    window.page.goto(browser_links.chain_link(address, edit, strongest))
    sync_api.expect(window.editor).to_contain_text("MATCH", timeout=WAIT_MS)
    # Opened by its address Browser connects again by itself; before, there is nothing to run it on.
    sync_api.expect(window.page.get_by_text(SET_UP).first).to_be_visible(timeout=WAIT_MS)
    frame = window.draws()
    sync_api.expect(frame.locator("svg g.node")).to_have_count(3, timeout=WAIT_MS)
    sync_api.expect(frame.locator("svg g.relationship")).to_have_count(2)
    texts = " ".join(frame.locator("svg text").all_text_contents())
    for shown in ("Harry", "Gryffindor", "Hogwarts", ".90→.81", ".99→.90"):
        assert shown in texts, texts
    colours = frame.locator("svg g.node circle").evaluate_all(
        "all => all.map(c => (c.getAttribute('fill') || '').toLowerCase())"
    )
    assert BLUE in colours
    assert RED in colours


def test_a_link_asks_for_the_password_alone_and_draws_exactly_its_facts(
    chromium: sync_api.Browser,
    server: dict[str, str],
    test_settings: Settings,
    address: str,
    edit: Score,
    db: Database,
) -> None:
    """For someone who has never opened Browser, without a setting made by hand."""
    start = browser_links.browser_start(test_settings)
    assert start is not None
    strongest = metrics.chain_rows(db, edit, "likelihood", surviving=True)[0]
    with chromium.new_context(viewport={"width": 1280, "height": 900}) as context:
        page = context.new_page()
        page.goto(browser_links.chain_link(start, edit, strongest))
        given = page.get_by_test_id("username")
        sync_api.expect(given).to_have_value(server["THINKEVAL_NEO4J_USER"], timeout=WAIT_MS)
        mine = connected(page, server)
        sync_api.expect(mine.editor).to_contain_text("MATCH")
        frames = page.get_by_test_id("frame")
        sync_api.expect(frames).to_have_count(1)  # of the setting, and none of the style
        frame = mine.draws()
        sync_api.expect(frame.locator("svg g.node")).to_have_count(3, timeout=WAIT_MS)
        # The edited fact and another join these entities too.
        sync_api.expect(frame).to_contain_text("Displaying 3 nodes, 2 relationships")
        sync_api.expect(frame.locator("svg g.relationship")).to_have_count(2)
        texts = frame.locator("svg g.relationship text").all_text_contents()
        assert sorted(texts) == [".90→.81", ".99→.90"]


def test_our_server_sets_browser_up_by_itself(db: Database, server: dict[str, str]) -> None:
    auth = (server["THINKEVAL_NEO4J_USER"], server["THINKEVAL_NEO4J_PASSWORD"])
    with neo4j.GraphDatabase.driver(server["THINKEVAL_NEO4J_URI"], auth=auth) as driver:
        found = driver.execute_query("SHOW SETTINGS 'browser.post_connect_cmd' YIELD value").records
    if not found or not found[0]["value"].startswith("config"):
        pytest.skip("the server in the environment was not started by this version of ours")
    assert found[0]["value"] == connect_commands()
