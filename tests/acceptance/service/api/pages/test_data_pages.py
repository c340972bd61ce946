"""Data sets and rules in Chromium by keyboard: tables and back, an upload, a review of rules."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from support.own_graphs import hogwarts_as, own_graphs
from support.serving import Service
from support.watching import Open
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.loaders import rules
from thinkeval.loaders.rules_yaml import load_rules
from thinkeval.service.graphs import datasets
from thinkeval.service.rules import store

GRAPH = """
relations:
  lives in: {prompt: "{} lives in"}
facts:
  Anna: {lives in: [Oslo, Oslo]}
  Bert: {lives in: Oslo}
"""


@pytest.fixture(scope="module")
def prefix(db: Database) -> Iterator[str]:
    with own_graphs(db) as prefix:
        yield prefix


def stored(db: Database) -> set[str]:
    return {row.graph for row in db.read(rows.GraphRow, "graph/list_graphs", kind="dataset")}


def test_the_tables_of_a_data_set_are_downloaded_edited_and_imported(
    db: Database, prefix: str, tmp_path: Path, open_page: Open
) -> None:
    name = hogwarts_as(db, f"{prefix}-tables")
    page = open_page("/data", allowed="409")  # not replaced without the tick
    row = page.get_by_role("row", name=name)
    with page.expect_download() as found:
        row.get_by_role("link", name="CSV").press("Enter")
    with zipfile.ZipFile(found.value.path()) as archive:
        archive.extractall(tmp_path)
    facts = tmp_path / "facts.csv"
    header, *lines = facts.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if "Ron Weasley" not in line]
    facts.write_text("\n".join([header, *kept, ""]), encoding="utf-8")
    page.get_by_label("Files or a zip").set_input_files(sorted(tmp_path.glob("*.csv")))
    page.get_by_role("button", name="Preview").press("Enter")
    preview = page.get_by_role("region", name="Preview")
    expect(preview).to_contain_text(f"{len(kept)} facts")
    preview.get_by_label("Name", exact=True).fill(name)
    preview.get_by_role("button", name="Import").press("Enter")
    expect(page.locator("#store-problem")).to_contain_text("is stored already")
    preview.get_by_label("Replace the stored data set of that name").check()
    preview.get_by_role("button", name="Import").press("Enter")
    page.wait_for_url(f"**/?graph={name}")
    assert len(kept) < len(lines)
    assert len(datasets.stored_graph(db, name).facts) == len(kept)


def test_an_upload_is_previewed_before_it_is_stored(
    db: Database, prefix: str, tmp_path: Path, open_page: Open
) -> None:
    name = f"{prefix}-sent"
    file = tmp_path / f"{name}.yaml"
    file.write_text(f"name: {name}\n{GRAPH}", encoding="utf-8")
    page = open_page("/data")
    page.get_by_label("Files or a zip").set_input_files(file)
    expect(page.locator("#chosen")).to_contain_text("1 file")
    page.get_by_role("button", name="Preview").press("Enter")
    preview = page.get_by_role("region", name="Preview")
    expect(preview).to_be_focused()
    expect(preview).to_contain_text("2 facts, 3 entities")
    expect(preview.locator("#counts")).to_contain_text("merged: 1")
    expect(preview.get_by_label("Name", exact=True)).to_have_value(name)
    assert name not in stored(db)
    preview.get_by_role("button", name="Import").press("Enter")
    page.wait_for_url(f"**/?graph={name}")
    assert name in stored(db)


def test_rules_are_reviewed_by_keyboard(
    db: Database, service: Service, prefix: str, open_page: Open
) -> None:
    graph = hogwarts_as(db, f"{prefix}-hogwarts")
    path = rules.path("hogwarts")
    assert path is not None
    store.save(db, graph, load_rules(path), status="candidate")
    page = open_page(f"/rules?graph={graph}")
    left = int(page.locator("#left").inner_text())
    assert left > 1
    first = page.locator("#rule-text").inner_text()
    page.locator("#review-title").click()
    page.keyboard.press("a")
    expect(page.locator("#decide-problem")).to_contain_text("needs your name")
    expect(page.get_by_label("Your name")).to_be_focused()
    page.keyboard.type("ann")
    page.locator("#review-title").click()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#rule-text")).not_to_have_text(first)
    labelled = page.locator("#rule-text").inner_text()
    page.keyboard.press("a")
    expect(page.locator("#decided")).to_contain_text(f"a: {labelled}")
    expect(page.locator("#left")).to_have_text(str(left - 1))
    found = service.get(f"/v1/graphs/{graph}/rules", limit=100)["items"]
    assert [each["labels"] for each in found if each["labels"]] == [{"ann": "a"}]
    page.get_by_role("button", name="Mine the graph").click()
    expect(page.locator("#got")).to_have_text(re.compile(r"\d+ found, \d+ of them new\."))
    page.reload()
    expect(page.locator("#got")).to_have_text("")
