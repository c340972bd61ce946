"""One leak cut everywhere: command, REST, client and Python have the same numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from support.commands import Cli
from support.own_graphs import hogwarts_as, own_graphs
from support.stored_edits import random_facts, store_edit
from thinkeval.cypher.run import Database
from thinkeval.service.base.settings import Settings
from thinkeval.service.client.http import ProblemError
from thinkeval.service.client.rest import Client
from thinkeval.service.leakcut.request import leak_cut
from thinkeval.service.scoring.runtime import Runtime


@pytest.fixture(scope="module")
def prefix(db: Database) -> Iterator[str]:
    with own_graphs(db) as prefix:
        yield prefix


@pytest.fixture(scope="module")
def edit(db: Database, prefix: str) -> str:
    facts = random_facts(5, others=3, links=16)
    return store_edit(db, f"{prefix}-edit", facts, dataset=f"{prefix}-g", method="mend").edit


@pytest.fixture(scope="module")
def remote(client: TestClient) -> Iterator[Client]:
    def answered(asked: httpx.Request) -> httpx.Response:
        found = client.request(asked.method, asked.url.raw_path.decode())
        return httpx.Response(found.status_code, content=found.content, headers=found.headers)

    with Client("http://localhost", transport=httpx.MockTransport(answered)) as made:
        yield made


def same(cut: dict[str, Any]) -> dict[str, Any]:
    """A cut without the seconds that it took."""
    return {key: value for key, value in cut.items() if key != "seconds"}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"keys": "subject", "leak": 0.2, "collateral": 0.5},
        {"only_subject": True, "max_steps": 3, "measure": "likelihood"},
    ],
)
def test_command_rest_client_and_python_agree(
    server: dict[str, str], tmp_path: Any, test_settings: Settings, client: TestClient,
    remote: Client, edit: str, options: dict[str, Any],
) -> None:  # fmt: skip
    got = client.get(f"/v1/edits/{edit}/leakcut", params=options)
    assert got.status_code == 200, got.text
    cut = got.json()
    assert cut["leaking"] > 0
    assert cut["facts"] or cut["keys"] == "subject"
    assert same(remote.leak_cut(edit, **options).model_dump(mode="json")) == same(cut)
    flags = []
    for name, value in options.items():
        flags += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    homes = {
        "THINKEVAL_HOME": str(test_settings.home),
        "THINKEVAL_CACHE": str(test_settings.cache),
    }
    printed = Cli(server | homes, tmp_path)("lab", "leakcut", edit, "--json", *flags)
    assert same(json.loads(printed.out)) == same(cut)


def test_python_agrees(runtime: Runtime, client: TestClient, edit: str) -> None:
    found = leak_cut(runtime, edit, lock=("E1",), keys="off")
    cut = client.get(f"/v1/edits/{edit}/leakcut", params={"lock": "E1", "keys": "off"}).json()
    assert cut["options"]["lock"] == ["E1"]
    assert same(found.model_dump(mode="json")) == same(cut)


def test_a_rewrite_of_a_graph(
    db: Database, client: TestClient, remote: Client, prefix: str
) -> None:
    graph = hogwarts_as(db, f"{prefix}-hogwarts")
    route = f"/v1/graphs/{graph}/rewrites/harry-potter--studied-at/leakcut"
    cut = client.get(route, params={"lock": ["Ron Weasley", "Hedwig"]}).json()
    assert (cut["edit"], cut["ifr"], cut["keys"]) == (None, None, "off")
    assert cut["options"]["lock"] == ["Ron Weasley", "Hedwig"]
    found = remote.leak_cut("harry-potter--studied-at", graph=graph, lock=["Ron Weasley", "Hedwig"])
    assert same(found.model_dump(mode="json")) == same(cut)


@pytest.mark.parametrize(
    ("params", "status", "said"),
    [
        ({"lock": "Nobody"}, 404, "Nobody"),
        ({"measure": "p"}, 404, "not measured"),
        ({"leak": "2"}, 422, "leak"),
        ({"seconds": "600"}, 422, "seconds"),
        ({"wrong": "1"}, 422, "wrong"),
    ],
)
def test_what_cannot_be_is_a_problem(
    client: TestClient, edit: str, params: dict[str, str], status: int, said: str
) -> None:
    got = client.get(f"/v1/edits/{edit}/leakcut", params=params)
    assert got.status_code == status
    assert got.headers["content-type"] == "application/problem+json"
    assert said in got.text


def test_an_unknown_edit_is_a_problem_of_the_client(remote: Client) -> None:
    with pytest.raises(ProblemError, match="no edit"):
        remote.leak_cut("no-such-edit")
