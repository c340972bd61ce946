"""Every Cypher that the guide for Neo4j Browser shows runs, and gives what it promises."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

import neo4j
import pytest

from support.closure_rules import stored
from support.own_graphs import own_graphs
from support.references.closure_reference import PlainRule
from support.stored_edits import probed, store_edit
from thinkeval.cypher.run import Database
from thinkeval.service.models.edit import Score
from thinkeval.service.reports import browser
from thinkeval.service.reports.browser import QUESTIONS, RULE_QUESTIONS
from thinkeval.service.rules import closure
from thinkeval.service.web import catalog

ROOT = Path(__file__).resolve().parents[4]
RUNNABLE = re.compile(r'<pre class="runnable">(.*?)</pre>', re.DOTALL)
PLAYED = [html.unescape(block) for block in RUNNABLE.findall(catalog.render("http://h:1"))]
SET_BY_HAND = (":config autoComplete: false", ":style http://h:1/neo4j/thinkeval.grass")


class Window:
    """Neo4j Browser's way with a block: it sets parameters, or sends a query with them."""

    def __init__(self, driver: neo4j.Driver) -> None:
        self.driver = driver
        self.params: dict[str, object] = {}

    def play(self, block: str) -> list[neo4j.Record]:
        if not block.startswith(":"):
            return self.send(block)
        for line in block.splitlines():
            name, _, value = line.removeprefix(":param ").removesuffix(";").partition(" => ")
            assert name.isidentifier(), line
            (record,) = self.send(f"RETURN {value} AS value")
            self.params[name] = record["value"]
        return []

    def send(self, text: str) -> list[neo4j.Record]:
        done = self.driver.execute_query(text, self.params)
        told = [s for s in done.summary.gql_status_objects if s.gql_status[:2] in ("01", "03")]
        assert not told, [s.status_description for s in told]
        return done.records


@pytest.fixture
def window(server: dict[str, str]) -> Iterator[Window]:
    auth = (server["THINKEVAL_NEO4J_USER"], server["THINKEVAL_NEO4J_PASSWORD"])
    with neo4j.GraphDatabase.driver(server["THINKEVAL_NEO4J_URI"], auth=auth) as driver:
        yield Window(driver)


@pytest.fixture(scope="module")
def edit(db: Database) -> Iterator[Score]:
    """An edit about which every question has an answer."""
    with own_graphs(db) as prefix:
        score = store_edit(
            db,
            f"{prefix}-edit",
            [
                probed(("A", "r", "B"), 0.9, 0.01, "target_true"),
                probed(("A", "r", "C"), 0.0, 0.9, "target_new", listed=False),
                probed(("A", "q", "D"), 0.9, 0.8),
                probed(("D", "t", "B"), 0.9, 0.8),
                probed(("D", "u", "E"), 0.9, 0.1),
            ],
            dataset=prefix,
        )
        # By it the old object follows from D, and E from A, less than before.
        rules = [
            stored(PlainRule("q", False, "t", False, "r")),
            stored(PlainRule("q", False, "u", False, "v")),
        ]
        closure.closure(db, score.edit, rules)
        yield score


def test_there_is_something_to_run() -> None:
    assert len(PLAYED) == len(QUESTIONS) + len(RULE_QUESTIONS) + 4
    assert tuple(PLAYED[:2]) == SET_BY_HAND


def test_the_guide_played_from_its_first_slide_to_its_last(window: Window, edit: Score) -> None:
    played = [html.unescape(b) for b in RUNNABLE.findall(catalog.render("http://h:1", edit.edit))]
    for block in played:
        if block not in SET_BY_HAND:
            found = window.play(block)
            assert found or block.startswith(":param"), block
    assert window.params["edit"] == edit.edit


def test_without_an_edit_the_guide_takes_the_newest(window: Window, edit: Score) -> None:
    window.play(PLAYED[len(SET_BY_HAND)])
    (newest,) = window.send(
        "MATCH (e:Edit {status: 'succeeded'}) WITH max(datetime(e.created_at)) AS last"
        " MATCH (e:Edit {status: 'succeeded'}) WHERE datetime(e.created_at) = last"
        " RETURN collect(e.id) AS ids"
    )
    assert window.params["edit"] in newest["ids"]
    assert window.params["about"] is None


def test_the_links_of_the_page_run_too(window: Window, edit: Score) -> None:
    for name in QUESTIONS:
        assert window.send(browser.question_query(name, edit)), name
    (chain, *_) = window.send(browser.question_query("surviving_chains", edit))
    facts = [fact["id"] for fact in chain["chain"].relationships]
    (drawn,) = window.send(browser.chain_query(edit, facts))
    # Two results are two graphs of the driver, whose paths are never equal.
    assert [fact["id"] for fact in drawn["chain"].relationships] == facts
    assert [node["key"] for node in drawn["chain"].nodes] == [
        node["key"] for node in chain["chain"].nodes
    ]


def test_templates_of_the_page_hold_no_cypher_of_their_own() -> None:
    templates = list((ROOT / "service" / "web").rglob("*.html"))
    templates += list((ROOT / "service" / "web").rglob("*.js"))
    assert templates
    for path in templates:
        assert not re.search(r"\b(MATCH|UNWIND) *\(", path.read_text(encoding="utf-8")), path
