"""A data set as tables: downloaded, edited, uploaded again."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from support.own_graphs import hogwarts_as, own_graphs
from support.problems import BASE
from thinkeval.cypher.run import Database
from thinkeval.service.base.settings import Settings
from thinkeval.service.graphs import datasets
from thinkeval.service.web.app import create_app
from thinkeval.service.web.state import database


@pytest.fixture(scope="module")
def client(db: Database) -> TestClient:
    app = create_app(Settings(), workers=0)
    app.dependency_overrides[database] = lambda: db
    return TestClient(app, base_url=BASE, follow_redirects=False)


@pytest.fixture(scope="module")
def prefix(db: Database) -> Iterator[str]:
    with own_graphs(db) as prefix:
        yield prefix


def unpacked(client: TestClient, name: str) -> dict[str, bytes]:
    sent = client.get(f"/data/{name}/csv")
    assert f"{name}.zip" in sent.headers["content-disposition"]
    with zipfile.ZipFile(io.BytesIO(sent.content)) as archive:
        return {each: archive.read(each) for each in archive.namelist()}


def packed(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    return out.getvalue()


def test_the_tables_come_back_as_a_zip_and_as_files(
    client: TestClient, db: Database, prefix: str
) -> None:
    name = hogwarts_as(db, f"{prefix}-same")
    files = unpacked(client, name)
    assert set(files) == {"facts.csv", "rewrites.csv", "entities.csv"}
    seen = client.post("/v1/graphs/preview", files={"file": (f"{name}.zip", packed(files))}).json()
    assert (seen["name"], seen["stored"], seen["notes"]) == (name, "same", [])
    parts = [("file", (each, body)) for each, body in files.items()]
    again = client.post("/v1/graphs", files=parts, data={"name": name})
    assert (again.status_code, again.json()["status"]) == (200, "unchanged")


def test_an_edited_table_replaces_the_data_set_on_request(
    client: TestClient, db: Database, prefix: str
) -> None:
    name = hogwarts_as(db, f"{prefix}-edited")
    files = unpacked(client, name)
    files["facts.csv"] += b"Nia,Durmstrang Institute,studied at\n".replace(
        b"\n", b"," * (files["facts.csv"].partition(b"\n")[0].count(b",") - 2) + b"\n"
    )
    upload = {"file": (f"{name}.zip", packed(files))}
    assert client.post("/v1/graphs", files=upload).status_code == 409
    done = client.post("/v1/graphs", files=upload, data={"replace": "true"})
    assert (done.status_code, done.json()["status"]) == (201, "replaced")
    (added,) = [f for f in datasets.stored_graph(db, name).facts if f.subject == "Nia"]
    assert added.prompt == "{} studied at"


def test_the_zip_says_what_it_lacks(client: TestClient, db: Database, prefix: str) -> None:
    loaded = datasets.read("hogwarts", name=f"{prefix}-scoped")
    first, *others = loaded.graph.facts
    scoped = replace(first, cases=(loaded.graph.rewrites[0].id,))
    datasets.store(db, replace(loaded, graph=replace(loaded.graph, facts=(scoped, *others))))
    files = unpacked(client, f"{prefix}-scoped")
    assert files["left-out.txt"].startswith(b"1 facts are for some rewrites only")
    sent = {"file": (f"{prefix}-scoped.zip", packed(files))}
    seen = client.post("/v1/graphs/preview", files=sent).json()
    assert (seen["n_facts"], seen["stored"]) == (len(loaded.graph.facts), "other")


def test_the_page_links_the_tables_and_an_unknown_graph_is_not_found(
    client: TestClient, db: Database, prefix: str
) -> None:
    name = hogwarts_as(db, f"{prefix}-listed")
    assert f'href="/data/{name}/csv"' in client.get("/data").text
    assert client.get("/data/none-such/csv").status_code == 404
