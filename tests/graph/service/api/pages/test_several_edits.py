"""Pages over several edits: each cell is of the edit or method that heads its column."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from urllib.parse import unquote

import pytest
from fastapi.testclient import TestClient

from support.own_graphs import hogwarts_as, own_graphs
from support.problems import BASE
from support.serving import settings_of, until
from support.stored_edits import probed, store_edit
from thinkeval.cypher.run import Database
from thinkeval.service.base.formatting import number, short
from thinkeval.service.models.edit import Score
from thinkeval.service.scoring.metrics import chain_rows
from thinkeval.service.web.app import create_app

TOOK = {"memit": 0.9, "rome": 0.95, "alphaedit": 0.8, "ike": 0.1, "kn": 0.05, "none": 0.01}
"""Efficacy of each method. Those that do not take leave least of some chains, or all of them."""
KEPT = {"memit": 0.5, "rome": 0.8, "alphaedit": 0.3, "ike": 0.05, "kn": 0.01, "none": 1.0}


class Tables(HTMLParser):
    """The rows of the tables of a page by the table's class; a cell is its text and first link."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: dict[str, list[list[tuple[str, str]]]] = {}
        self._rows: list[list[tuple[str, str]]] = []
        self._cell: list[str] | None = None
        self._link = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "table":
            self._rows = self.found.setdefault(given.get("class") or "", [])
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._cell, self._link = [], ""
        elif tag == "a" and self._cell is not None:
            self._link = self._link or given.get("href") or ""

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self._cell is not None:
            text = " ".join("".join(self._cell).split())
            self._rows[-1].append((text, unquote(self._link.removeprefix("/edits/"))))
            self._cell = None

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.append(data)


@pytest.fixture(scope="module")
def scores(db: Database) -> Iterator[dict[str, Score]]:
    """One fact by six methods, by the id of the edit."""
    with own_graphs(db) as prefix:
        found, graph = {}, hogwarts_as(db, f"{prefix}-hogwarts")
        for method in TOOK:
            draw = random.Random(method)
            facts = [
                probed(("S", "r", "T"), 0.9, 1 - TOOK[method], "target_true", listed=False),
                probed(("S", "r", "N"), 0.01, TOOK[method], "target_new", listed=False),
            ]
            for n in range(9):
                way = ["S", *(f"E{n}{i}" for i in range(n % 3 + 1)), "T"]
                facts += [
                    probed((one, "q", other), 0.9, 0.9 * KEPT[method] * draw.uniform(0.5, 1))
                    for one, other in pairwise(way)
                ]
            edit = f"{prefix}-{method}"
            made = {"model": {"given": "organism"}}
            found[edit] = store_edit(db, edit, facts, dataset=graph, method=method, provenance=made)
        yield found


@pytest.fixture(scope="module")
def client(server: dict[str, str], db: Database) -> Iterator[TestClient]:
    with TestClient(create_app(settings_of(server), workers=0), base_url=BASE) as client:
        until(lambda: client.get("/ready").status_code == 200)
        yield client


def test_each_chain_and_value_is_of_the_edit_that_heads_its_column(
    client: TestClient, db: Database, scores: dict[str, Score]
) -> None:
    left = {
        edit: {
            " → ".join(row.entities[1:-1]): "✗ " * (not row.surviving) + short(row.ratio)
            for row in chain_rows(db, score, "likelihood")
        }
        for edit, score in scores.items()
    }
    ids = "&".join(f"edit={edit}" for edit in scores)
    found = Tables(client.get(f"/compare?{ids}").text).found
    (_, *heads), *rows = found["matrix chains-by"]
    assert {edit for _, edit in heads} == set(scores)
    assert len(rows) == len(next(iter(left.values())))
    for (name, _), *cells in rows:
        assert {edit: cell for (_, edit), (cell, _) in zip(heads, cells, strict=True)} == {
            edit: chains[name.rsplit(" ", 2)[0]] for edit, chains in left.items()
        }, name
    (_, *heads), *rows = found["board"]
    assert [name for (name, _), *_ in rows] == ["Efficacy", "IFR"]
    for (name, _), *cells in rows:
        for (_, edit), (cell, _) in zip(heads, cells, strict=True):
            assert cell.split()[0] == number(scores[edit].number(name.lower(), "likelihood"))


def test_each_cell_of_the_matrix_is_of_the_method_that_heads_its_column(
    client: TestClient, scores: dict[str, Score]
) -> None:
    graph = next(iter(scores.values())).dataset
    heads, cells, foot = Tables(client.get(f"/sweeps/matrix?graph={graph}").text).found["matrix"]
    for (method, _), (cell, edit), (pooled, _) in zip(heads[1:], cells[1:], foot[1:], strict=True):
        assert scores[edit].method == method
        ifr = number(scores[edit].number("ifr", "likelihood"))
        assert ifr in cell
        assert pooled == ifr, "of one rewrite"


def test_each_row_of_methods_is_of_its_method(client: TestClient, scores: dict[str, Score]) -> None:
    by_method = {score.method: score for score in scores.values()}
    graph = next(iter(scores.values())).dataset
    for path in (f"/methods?graph={graph}", f"/methods?graph={graph}&rewrite=the-rewrite"):
        heads, *rows = Tables(client.get(path).text).found["board"]
        place = [name for name, _ in heads].index("IFR")
        assert len(rows) == len(by_method)
        for row in rows:
            score = by_method[row[0][0].split()[0]]
            assert row[place][0] == number(score.number("ifr", "likelihood"))
            assert row[0][1] == ("rewrite" in path) * score.edit
    assert "is scored yet" in client.get(f"/methods?graph={graph}&rewrite=another").text


def test_further_facts_are_unrelated_and_scored_by_the_same_methods(
    client: TestClient, scores: dict[str, Score]
) -> None:
    graph = next(iter(scores.values())).dataset
    text = client.get(f"/methods?graph={graph}&rewrite=the-rewrite").text
    assert "One fact cannot show which method is better" in text
    form = text.partition('action="/sweeps/more"')[2].partition("</form>")[0]
    fields = re.findall(r'name="(\w+)" value="([^"]*)"', form)
    methods = [value for name, value in fields if name == "methods"]
    assert set(methods) == set(TOOK)
    like = dict(fields)["like"]
    answer = client.post(
        "/sweeps/more", data={"like": like, "methods": methods, "facts": 3}, follow_redirects=False
    )
    assert answer.status_code == 303, answer.text
    sweep = answer.headers["location"].removeprefix("/sweeps/")
    asked = client.get(f"/v1/sweeps/{sweep}").json()["request"]
    client.delete(f"/v1/sweeps/{sweep}")
    assert (asked["methods"], asked["models"]) == (methods, ["organism"])
    requests = {
        each["id"]: each for each in client.get(f"/v1/rewrites?graph={graph}").json()["items"]
    }
    subjects = [requests[name]["subject"] for name in asked["rewrites"]]
    assert len(subjects) == len(set(subjects)) > 0
    refused = client.post("/sweeps/more", data={"like": like, "methods": methods, "facts": 0})
    assert refused.status_code == 422
