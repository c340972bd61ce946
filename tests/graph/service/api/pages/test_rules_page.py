"""The page of rules: what ships can be loaded, candidates wait for a review."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from fastapi.testclient import TestClient

from support.own_graphs import own_graphs
from thinkeval.cypher.run import Database
from thinkeval.loaders import rules as shipped
from thinkeval.loaders.rules_yaml import load_rules
from thinkeval.service.graphs import datasets
from thinkeval.service.web.pages import rules as page

FILE = cast("Path", shipped.path("hogwarts"))


@pytest.fixture
def dataset(db: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The graph that ships, under another name, with the rules that ship for it."""
    with own_graphs(db) as prefix:
        name = f"{prefix}-school"
        datasets.store(db, datasets.read("hogwarts", name=name))
        monkeypatch.setattr(page.shipped, "path", lambda asked: FILE if asked == name else None)
        yield name


def embedded(text: str, id: str) -> object:
    found = re.search(rf'id="{id}">(.*?)</script>', text, re.DOTALL)
    assert found, id
    return json.loads(found[1])


def test_rules_that_ship_are_loaded_by_what_the_button_sends(
    client: TestClient, dataset: str
) -> None:
    text = client.get("/rules", params={"graph": dataset}).text
    body = embedded(text, "shipped")
    added = client.post(f"/v1/graphs/{dataset}/rules", json=body)
    assert added.status_code == 201, added.text
    assert {rule["id"] for rule in added.json()["items"]} == {r.id for r in load_rules(FILE)}
    assert 'id="review"' not in client.get("/rules", params={"graph": dataset}).text


def test_candidates_wait_until_two_have_labelled_them(client: TestClient, dataset: str) -> None:
    mined = client.post(f"/v1/graphs/{dataset}/rules/mine", json={"min_support": 5}).json()

    def waiting(by: str = "") -> list[str]:
        asked = {"graph": dataset, "by": by}
        found = client.get("/rules/review" if by else "/rules", params=asked).text
        return re.findall(r'data-candidate="([^"]+)"', found)

    total = mined["total"]
    rule = waiting()[0]
    assert len(waiting()) == total
    for annotator, left in (("ann", total), ("bob", total - 1)):
        body = {"annotator": f"{dataset} {annotator}", "label": "a"}
        client.post(f"/v1/graphs/{dataset}/rules/{rule}/labels", json=body)
        assert len(waiting()) == left
        assert len(waiting(f"{dataset} {annotator}")) == total - 1
    other = client.get("/rules/review", params={"graph": dataset, "candidate": waiting()[1]}).text
    assert f'data-chosen="{waiting()[1]}"' in other
    assert "For instance: " in other
