"""Rules by REST, on the real database: mine, write, label, ground, delete; and what is refused."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from support.own_graphs import hogwarts_as, own_graphs
from thinkeval.cypher.run import Database

WRITTEN = {
    "if": ["person was sorted into house", "house is a house at school"],
    "then": "person studied at school",
    "kinds": {"person": "person"},
    "templates": {"person studied at school": ["[person] studied at [school]."]},
}


@pytest.fixture(scope="module")
def dataset(db: Database) -> Iterator[str]:
    with own_graphs(db) as prefix:
        yield hogwarts_as(db, prefix)


def test_a_rule_from_mining_to_its_groundings(client: TestClient, dataset: str) -> None:
    rules = f"/v1/graphs/{dataset}/rules"
    mined = client.post(f"{rules}/mine", json={"min_support": 5}).json()
    assert mined["total"] == mined["created"] == len(mined["items"]) == 17
    best = mined["items"][0]
    bounds = [rule["statistics"]["lower"] for rule in mined["items"]]
    assert bounds == sorted(bounds, reverse=True)
    again = client.post(f"{rules}/mine", json={"min_support": 5, "rank": "support"}).json()
    supports = [rule["support"] for rule in again["items"]]
    assert supports == sorted(supports, reverse=True)
    assert {r["id"]: r for r in again["items"]} == {r["id"]: r for r in mined["items"]}
    assert again["items"] != mined["items"]
    for rank, told in (("lower", mined), ("support", again)):
        assert client.get(rules, params={"rank": rank}).json()["items"] == told["items"]
    few = client.get(rules, params={"limit": 2}).json()
    assert (few["items"], few["total"]) == (mined["items"][:2], 17)
    assert best["status"] == "candidate"
    assert best["confidence"] == pytest.approx(best["support"] / best["body"])
    one = f"{rules}/{best['id']}"
    examples = client.get(one).json()
    assert examples.pop("examples")
    assert examples == best
    label = client.post(f"{one}/labels", json={"annotator": f"{dataset} ann", "label": "a"})
    assert label.json()["status"] == "candidate"
    assert label.json()["statistics"] == best["statistics"]
    waiting = client.get(rules, params={"annotator": f"{dataset} ann"}).json()
    assert waiting["total"] == 16
    label = client.post(f"{one}/labels", json={"annotator": f"{dataset} bob", "label": "b"})
    assert label.json()["status"] == "kept"
    kept = client.get(rules, params={"status": "kept"}).json()["items"]
    assert [rule["id"] for rule in kept] == [best["id"]]
    agreed = client.get(f"{rules}/agreement").json()
    assert (agreed["n"], agreed["raw"], agreed["raw_plausible"]) == (1, 0.0, 1.0)
    grounded = f"/v1/graphs/{dataset}/groundings"
    found = client.get(grounded, params={"rules": best["id"], "show": "predicted"}).json()
    assert len(found["items"]) == best["body"] - best["support"]
    assert not any(g["known"] or g["conclusion"]["fact"] for g in found["items"])
    assert found["rules"] == 1
    some = client.get(grounded, params={"limit": 3}).json()
    assert (len(some["items"]), some["more"]) == (3, True)


def test_a_written_rule_is_kept_and_goes_again(client: TestClient, dataset: str) -> None:
    rules = f"/v1/graphs/{dataset}/rules"
    added = client.post(rules, json={"rules": [WRITTEN]})
    assert added.status_code == 201
    (rule,) = added.json()["items"]
    assert (rule["status"], rule["support"], rule["body"]) == ("kept", 7, 9)
    # Seven persons are known to study at the one school of their one house, and two are not.
    assert (rule["statistics"]["known"], rule["statistics"]["conclusions"]) == (7, 9)
    assert rule["conclusion"]["templates"] == ["[Person] studied at [School]."]
    assert client.delete(f"{rules}/{rule['id']}").status_code == 204
    assert client.get(f"{rules}/{rule['id']}").status_code == 404


@pytest.mark.parametrize(
    ("change", "status", "detail"),
    [
        ({"then": "ruler studied at school", "templates": {}}, 422, "'ruler', which no premise"),
        ({"if": ["person was sortet into house", WRITTEN["if"][1]]}, 404, "'was sorted into'"),
        ({"kinds": {"person": "persn"}}, 422, "'persn'"),
        ({"if": ["one"]}, 422, ""),
    ],
)
def test_rules_that_cannot_be_are_refused(
    client: TestClient, dataset: str, change: dict[str, object], status: int, detail: str
) -> None:
    answer = client.post(f"/v1/graphs/{dataset}/rules", json={"rules": [WRITTEN | change]})
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("application/problem+json")
    assert detail in answer.json()["detail"]
    assert answer.json()["remedy"]


def test_the_page_lists_rules_with_their_statistics(client: TestClient, dataset: str) -> None:
    rules = f"/v1/graphs/{dataset}/rules"
    (kept,) = client.post(rules, json={"rules": [WRITTEN]}).json()["items"]
    asked = {"graph": dataset, "status": "kept"}
    page = client.get("/rules", params=asked).text
    statistics = kept["statistics"]
    text = html.unescape(page)
    assert kept["text"] in text
    shown = {"known": "7", "conclusions": "9"} | {
        column: f"{statistics[name]:.3f}"
        for column, name in (
            ("lower", "lower"), ("PCA", "pca_confidence"), ("coverage", "head_coverage")
        )
    }  # fmt: skip
    for column, cell in shown.items():
        assert re.search(rf'<td class="n" data-label="{column}">\s*{re.escape(cell)}\s*</td>', page)
    both = client.get("/rules", params={"graph": dataset, "rank": "support"}).text
    listed = client.get(rules, params={"rank": "support"}).json()["items"]
    places = [both.index(f'data-label="rule">{rule["id"]}') for rule in listed]
    assert places == sorted(places)
    assert len(places) == 17 + 1 - (kept["source"] == "mined")
    assert client.get("/rules", params={"graph": dataset, "rank": "x"}).status_code == 422
    missing = client.get(
        "/rules", params={"graph": f"{dataset}-none"}, headers={"Accept": "text/html"}
    )
    assert missing.status_code == 404
    client.delete(f"{rules}/{kept['id']}")


def test_what_is_not_there(client: TestClient, dataset: str) -> None:
    assert client.get(f"/v1/graphs/{dataset}-none/rules").status_code == 404
    answer = client.post(
        f"/v1/graphs/{dataset}/rules/zzz/labels", json={"annotator": "ann", "label": "a"}
    )
    assert answer.status_code == 404
    said = client.post(
        f"/v1/graphs/{dataset}/rules/zzz/labels", json={"annotator": "ann", "label": "f"}
    )
    assert said.status_code == 422
