"""The diff of two edits as a user asks for it: by the command line and by REST."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from support.commands import Cli, Done, Mine
from support.serving import until
from thinkeval.service.web.app import create_app

Call = Callable[..., Done]
FACT = "harry-potter--studied-at"


@pytest.fixture(scope="module")
def edits(thinkeval: Cli, mine: Mine) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two scores: of the control that changes nothing, and of ROME."""
    asked = ("score", "-g", mine.graph, "--model", mine.model, FACT, "--samples", "3", "--json")
    none, rome = thinkeval(*asked, "-m", "none", "-m", "rome").json
    return none, rome


@pytest.fixture
def rest(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    for key, value in environment.items():
        monkeypatch.setenv(key, value)
    with TestClient(create_app(workers=0), base_url="http://127.0.0.1:8000") as client:
        until(lambda: client.get("/ready").status_code == 200)
        yield client


def ids(edits: tuple[dict[str, Any], dict[str, Any]]) -> tuple[str, str]:
    return edits[0]["edit"], edits[1]["edit"]


def test_every_number_is_that_of_the_scores_and_chains(
    at_once: Call, edits: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    a, b = ids(edits)
    found = at_once("results", "diff", a, b, "--json").json
    values = [{(v["metric"], v["measure"], v["step"]): v for v in e["values"]} for e in edits]
    assert len(found["metrics"]) == len(values[0]) > 30
    for metric in found["metrics"]:
        key = (metric["metric"], metric["measure"], metric["step"])
        assert (metric["a"], metric["b"]) == (values[0][key]["value"], values[1][key]["value"])
        assert metric["delta"] == metric["b"] - metric["a"]
        paired = metric["measure"] == "p" and metric["metric"] in ("ifr", "ifr_by_steps")
        assert (metric["delta_low"] is not None) == (paired and metric["delta"] is not None)
        if paired and metric["delta"]:
            assert metric["delta_low"] < metric["delta"] < metric["delta_high"]
    alive = []
    for edit in (a, b):
        rows = at_once("results", "chains", edit, "--limit", "0", "--json").json
        alive.append({tuple(row["entities"]): row["surviving"] for row in rows})
    closed = {tuple(chain["entities"]) for chain in found["chains"]["closed"]}
    assert closed == {c for c, there in alive[0].items() if there and not alive[1][c]}
    assert closed  # ROME cuts some, or there would be nothing to see
    # The edited fact in its old and its new form.
    roles = {fact["role"] for fact in found["facts"]["flipped"]}
    assert {"target_true", "target_new"} <= roles


def test_the_tables_say_what_the_json_says(
    at_once: Call, edits: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    a, b = ids(edits)
    found = at_once("results", "diff", a, b, "--json").json
    shown = at_once("results", "diff", a, b, "--limit", "1").out
    assert f"showing 1 of {len(found['chains']['closed'])}" in shown
    assert f"{len(found['facts']['flipped'])} of the {found['facts']['shared']} facts" in shown
    ifr = next(m for m in found["metrics"] if (m["metric"], m["measure"]) == ("ifr", "likelihood"))
    assert f"{ifr['delta']:+.3f}" in shown


def test_rest_gives_the_same(
    at_once: Call, rest: TestClient, edits: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    a, b = ids(edits)
    done = rest.get(f"/v1/edits/{a}/diff/{b}")
    assert done.status_code == 200, done.text
    assert done.json() == at_once("results", "diff", a, b, "--json").json
    assert rest.get(f"/v1/edits/{a}/diff/{a}").json()["empty"] is True
    again = rest.get(f"/v1/edits/{a}/diff/{b}", headers={"If-None-Match": done.headers["ETag"]})
    assert again.status_code == 304


def test_the_json_goes_to_a_file(
    at_once: Call, edits: tuple[dict[str, Any], dict[str, Any]], tmp_path: Path
) -> None:
    a, b = ids(edits)
    at_once("results", "diff", a, b, "--json", "-o", tmp_path / "diff.json")
    assert json.loads((tmp_path / "diff.json").read_text())["a"]["edit"] == a
    assert "--json" in at_once("results", "diff", a, b, "-o", tmp_path / "other.json").error


def test_against_itself_it_says_that_nothing_differs(
    at_once: Call, edits: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    a, _ = ids(edits)
    assert "do not differ" in at_once("results", "diff", a, a).out
    assert at_once("results", "diff", a, a, "--json").json["empty"] is True


def test_what_cannot_be_compared_is_an_error_with_a_remedy(
    at_once: Call, rest: TestClient, mine: Mine, edits: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    a, b = ids(edits)
    assert "Did you mean" in at_once("results", "diff", a, f"{b}x").error
    unsampled = ("score", "-g", mine.graph, "--model", mine.model, FACT, "-m", "none")
    b = at_once(*unsampled, "--samples", "0", "--json").json[0]["edit"]
    assert "not measured by 'p'" in at_once("results", "diff", a, b, "--measure", "p").error
    for path, status in ((f"{a}/diff/nothing-like-it", 404), (f"{a}/diff/{b}?measure=p", 422)):
        done = rest.get(f"/v1/edits/{path}")
        assert done.status_code == status
        assert done.headers["content-type"].startswith("application/problem+json")
        assert done.json()["remedy"]
