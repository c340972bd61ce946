"""The table editor without scripts: check, save as YAML, store, and a stored graph again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from support.own_graphs import hogwarts_as, own_graphs
from support.problems import BASE
from thinkeval.cypher.run import Database
from thinkeval.loaders import graph_yaml
from thinkeval.service.api.app import create_app
from thinkeval.service.api.state import database
from thinkeval.service.graphs import datasets
from thinkeval.service.graphs.tables import COLUMNS
from thinkeval.service.settings import Settings


@pytest.fixture(scope="module")
def client(db: Database) -> TestClient:
    app = create_app(Settings(), workers=0)
    app.dependency_overrides[database] = lambda: db
    return TestClient(app, base_url=BASE, follow_redirects=False)


@pytest.fixture(scope="module")
def prefix(db: Database) -> Iterator[str]:
    with own_graphs(db) as prefix:
        yield prefix


def form(name: str, action: str, facts: list[str], **more: str) -> dict[str, list[str]]:
    """The form of a small graph; a fact is `subject/relation/object`, and one row is empty."""
    rows = {
        "relations": [["lives in", "{} lives in", "", ""], ["is in", "{} is in", "", "{} lies in"]],
        "facts": [fact.split("/") for fact in facts] + [["", "", ""]],
        "rewrites": [["Anna", "lives in", "Norway", "Rome", "", "", ""]],
        "entities": [["Oslo", "city", "Christiania\r\nKristiania"]],
    }
    fields = {
        f"{table}.{column}": [row[i] for row in rows[table]]
        for table, columns in COLUMNS.items()
        for i, column in enumerate(columns)
    }
    return fields | {
        key: [value] for key, value in ({"name": name, "action": action} | more).items()
    }


def send(client: TestClient, address: str, fields: dict[str, list[str]]):
    """As a browser sends it: multipart, which may be longer than other bodies."""
    parts = [(key, (None, value)) for key, values in fields.items() for value in values]
    return client.post(address, files=parts)


FACTS = ["Anna/lives in/Oslo", "Oslo/is in/Norway"]


def test_a_graph_is_checked_saved_stored_and_opened_again(
    client: TestClient, db: Database, prefix: str, tmp_path: Path
) -> None:
    name = f"{prefix}-mine"
    checked = send(client, "/data/new", form(name, "check", FACTS))
    assert checked.status_code == 200
    assert "2 facts between 4 entities, 1 rewrite." in checked.text
    saved = send(client, "/data/new", form(name, "yaml", FACTS))
    assert f"{name}.yaml" in saved.headers["content-disposition"]
    path = tmp_path / "saved.yaml"
    path.write_bytes(saved.content)
    graph = graph_yaml.load(path).graph
    assert graph.aliases("Oslo") == ("Christiania", "Kristiania")
    assert name not in {each.id for each in datasets.list_graphs(db)}

    stored = send(client, "/data/new", form(name, "store", FACTS))
    assert (stored.status_code, stored.headers["location"]) == (303, f"/?graph={name}")
    assert datasets.stored_graph(db, name).content_digest == graph.content_digest
    assert client.get(f"/data/{name}/yaml").content == saved.content
    assert f'href="/data/{name}/edit"' in client.get("/data").text
    shown = client.get(f"/data/{name}/edit").text
    assert 'value="Norway"' in shown
    assert "Christiania\nKristiania</textarea>" in shown


def test_a_stored_graph_is_replaced_only_on_request(
    client: TestClient, db: Database, prefix: str
) -> None:
    name = hogwarts_as(db, f"{prefix}-taken")
    refused = send(client, "/data/new", form(name, "store", FACTS))
    assert refused.status_code == 409
    assert "with other content is stored already" in refused.text
    assert 'value="Norway"' in refused.text  # what was typed is still there
    answer = send(client, f"/data/{name}/edit", form(name, "store", FACTS, replace="1"))
    assert answer.status_code == 303
    assert len(datasets.stored_graph(db, name).facts) == 2


def test_yaml_of_a_stored_graph_names_what_it_leaves_out(
    client: TestClient, db: Database, prefix: str, tmp_path: Path
) -> None:
    """The file said nothing: who kept it in place of the graph lost data without noticing."""
    loaded = datasets.read("hogwarts", name=f"{prefix}-odd")
    first, *others = loaded.graph.facts
    case = loaded.graph.rewrites[0].id
    odd = replace(first, prompt="Of {} it is said:", cases=(case,))
    datasets.store(db, replace(loaded, graph=replace(loaded.graph, facts=(odd, *others))))
    saved = client.get(f"/data/{prefix}-odd/yaml").text
    comments = [line for line in saved.splitlines() if line.startswith("#")]
    assert comments == [
        "# This file leaves out what its format cannot hold:",
        "# - facts with a prompt other than most of their relation: 1",
        "# - facts limited to rewrites: 1",
    ]
    path = tmp_path / "odd.yaml"
    path.write_text(saved, encoding="utf-8")
    assert len(graph_yaml.load(path).graph.facts) == len(loaded.graph.facts)


def test_a_wrong_row_is_marked_and_nothing_is_stored(
    client: TestClient, db: Database, prefix: str
) -> None:
    fields = form(f"{prefix}-wrong", "store", [*FACTS, "<b>Eve/live in/Oslo"])
    answer = send(client, "/data/new", fields)
    assert answer.status_code == 422
    assert 'href="#facts-3"' in answer.text
    assert 'id="facts-3" aria-invalid="true" aria-describedby="facts-3-flaw"' in answer.text
    assert "did you mean" in answer.text
    assert "<b>Eve" not in answer.text
    assert f"{prefix}-wrong" not in {each.id for each in datasets.list_graphs(db)}


@pytest.mark.parametrize("name", ["", "a|b", "../up", "x" * 101])
def test_a_name_that_no_data_set_may_have(client: TestClient, name: str) -> None:
    answer = send(client, "/data/new", form(name, "store", FACTS))
    assert answer.status_code == 422
    assert "Name the data set" in answer.text


def test_columns_of_different_lengths_are_refused(client: TestClient) -> None:
    fields = form("mine", "check", FACTS)
    fields["facts.object"].pop()
    assert send(client, "/data/new", fields).status_code == 422


def test_an_unknown_graph_is_not_found(client: TestClient) -> None:
    assert client.get("/data/none-such/edit").status_code == 404
    assert client.get("/data/none-such/yaml").status_code == 404
