"""REST's answers about a scored edit, held against brute force over all of its chains; lists.

The edit is scored by the command line; the service reads it, and has no worker.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from support.commands import Cli, Mine
from support.problems import BASE, problem
from support.serving import until
from thinkeval import cypher
from thinkeval.cypher.metric_options import of_kind
from thinkeval.cypher.run import Database
from thinkeval.editing import registry
from thinkeval.service.base.settings import Settings
from thinkeval.service.models.edit import Score
from thinkeval.service.reports.verdict import with_verdict
from thinkeval.service.scoring import deltas, record
from thinkeval.service.scoring.metrics import chain_rows, leakage_rows
from thinkeval.service.web.app import create_app

FACT = "harry-potter--studied-at"


@pytest.fixture(scope="module")
def score(thinkeval: Cli, mine: Mine, db: Database) -> Score:
    done = thinkeval(
        "score", "-g", mine.graph, "--model", mine.model, FACT, "-m", "rome", "--samples", "2",
        "--json",
    )  # fmt: skip
    return record.get_score(db, done.json[0]["edit"])


@pytest.fixture(scope="module")
def client(environment: dict[str, str], mine: Mine) -> Iterator[TestClient]:
    with pytest.MonkeyPatch.context() as patch:
        for key, value in environment.items():
            patch.setenv(key, value)
        settings = Settings(queue_limit=2, model_dirs=(Path(mine.model).parent,))
    with TestClient(create_app(settings, workers=0), base_url=BASE) as client:
        until(lambda: client.get("/ready").status_code == 200)
        yield client


def get(client: TestClient, path: str, **params: Any) -> Any:
    answer = client.get(path, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def all_chains(client: TestClient, edit: str, **params: Any) -> list[dict[str, Any]]:
    """Every chain, page by page."""
    found, cursor = [], None
    while True:
        more = params | ({"cursor": cursor} if cursor else {})
        page = get(client, f"/v1/edits/{edit}/chains", **more)
        found += page["items"]
        cursor = page["next"]
        if cursor is None:
            assert page["total"] == len(found)
            assert page["surviving"] == sum(each["surviving"] for each in found)
            return found


@pytest.mark.parametrize("measure", ["likelihood", "p"])
def test_pages_of_chains_are_all_chains_in_order(
    client: TestClient, db: Database, score: Score, measure: str
) -> None:
    rows = chain_rows(db, score, measure)
    for limit in (7, 1000):
        found = all_chains(client, score.edit, measure=measure, limit=limit)
        assert [tuple(each["entities"]) for each in found] == [row.entities for row in rows]
        assert [each["r_post"] for each in found] == [row.r_post for row in rows]
    assert len(rows) > 50


def test_filters_are_those_of_brute_force(client: TestClient, score: Score) -> None:
    chains = all_chains(client, score.edit, limit=1000)
    fact = Counter(link["id"] for each in chains for link in each["links"]).most_common()[3][0]
    options = product((False, True), (None, 3), (5, 2), (0.0, 0.3), (None, fact))
    sizes = set()
    for surviving, steps, max_steps, min_ratio, through in options:
        asked = {"surviving": surviving, "steps": steps, "max_steps": max_steps,
                 "min_ratio": min_ratio, "fact": through}  # fmt: skip
        asked = {key: value for key, value in asked.items() if value is not None}
        expected = [
            each
            for each in chains
            if (each["surviving"] or not surviving)
            and (steps is None or each["steps"] == steps)
            and each["steps"] <= max_steps
            and (each["ratio"] or 0.0) >= min_ratio
            and (through is None or through in {link["id"] for link in each["links"]})
        ]
        assert all_chains(client, score.edit, limit=50, **asked) == expected, asked
        sizes.add(len(expected))
    assert len(sizes) > 8  # the filters do something


def test_leakage_and_graph_count_the_chains_through_a_fact(
    client: TestClient, db: Database, score: Score
) -> None:
    chains = all_chains(client, score.edit, limit=1000)
    through = Counter(link["id"] for each in chains for link in each["links"])
    alive = Counter(link["id"] for c in chains if c["surviving"] for link in c["links"])
    graph = get(client, f"/v1/edits/{score.edit}/graph")
    edges = {edge["id"]: edge for edge in graph["edges"]}
    assert {key: edge["chains"] for key, edge in edges.items() if edge["chains"]} == through
    assert {key: edge["surviving"] for key, edge in edges.items() if edge["surviving"]} == alive
    for link in (link for each in chains for link in each["links"]):
        assert (edges[link["id"]]["pre"], edges[link["id"]]["post"]) == (link["pre"], link["post"])
    names = {node["id"] for node in graph["nodes"]}
    assert names == {e[side] for e in edges.values() for side in ("source", "target")}
    roles = {node["role"]: node["name"] for node in graph["nodes"]}
    assert (roles["subject"], roles["target_true"]) == (score.subject, score.target_true)
    leaks = get(client, f"/v1/edits/{score.edit}/tables/leaks", format="json")
    assert {each["id"]: each["chains"] for each in leaks} == alive
    assert [each["id"] for each in leaks] == [
        row.id for row in leakage_rows(db, score, "likelihood")
    ]


def test_what_has_ended_is_told_once(client: TestClient, db: Database, score: Score) -> None:
    for part in ("", "/chains", "/graph", "/queries/metrics/ifr"):
        path = f"/v1/edits/{score.edit}{part}"
        first = client.get(path)
        tag = first.headers["etag"]
        for known in (tag, f'"x", {tag}', f"W/{tag}", "*"):
            again = client.get(path, headers={"If-None-Match": known})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert client.get(path, headers={"If-None-Match": '"x"'}).content == first.content
    assert Score.model_validate(get(client, f"/v1/edits/{score.edit}")["result"]) == with_verdict(
        db, score
    )


@pytest.mark.parametrize("name", [*cypher.names("metrics/"), *cypher.names("chains/")])
def test_every_query_of_an_edit_is_shown_as_it_is_run(
    client: TestClient, db: Database, score: Score, name: str
) -> None:
    shown = get(client, f"/v1/edits/{score.edit}/queries/{name}")
    assert shown["text"] == cypher.query(name).text
    lines, _, query = shown["browser_text"].partition("// 2. then this query\n")
    assert query.strip() == shown["text"].strip()
    assert {line.split()[1].rstrip(":") for line in lines.splitlines() if line[:6] == ":param"} or (
        ":params" in lines
    )
    if name.startswith("metrics/"):
        short = name.removeprefix("metrics/")
        params = {key: shown["params"][key] for key in shown["params"]}
        expected = [
            (value.step, value.value, value.n)
            for value in score.values
            if (value.metric, value.measure) == (short, "likelihood")
        ]
        found = [(row.step, row.value, row.n) for row in db.metric(short, **params)]
        if short not in of_kind(score.kind):
            assert expected == [], "a metric of requests to forget"
            return
        assert [(step, n) for step, _, n in found] == [(step, n) for step, _, n in expected]
        assert [v for _, v, _ in found] == pytest.approx([v for _, v, _ in expected], rel=1e-12)


def test_a_query_about_something_else_is_refused(client: TestClient, score: Score) -> None:
    refused = problem(client.get(f"/v1/edits/{score.edit}/queries/jobs/get"), 422)
    assert "$id" in refused["detail"]
    problem(client.get(f"/v1/edits/{score.edit}/queries/metrics/nothing"), 404)


def test_what_there_is_is_listed_whole(client: TestClient, mine: Mine) -> None:
    listed = get(client, "/v1/methods")["items"]
    assert [each["name"] for each in listed] == list(registry.names())
    assert "organism" in get(client, "/v1/models")["names"]
    items = get(client, "/v1/queries")["items"]
    assert {each["name"]: each["text"] for each in items} == {
        name: cypher.query(name).text for name in cypher.names("")
    }
    metrics = get(client, "/v1/queries", folder="metrics/")["items"]
    assert get(client, "/v1/queries/metrics/ifr") in metrics
    assert all(each["name"].startswith("metrics/") for each in metrics)
    page = get(client, "/v1/rewrites", graph=mine.graph)
    rewrites = page["items"]
    assert (page["total"], page["next"]) == (len(rewrites), None)
    found, cursor = [], None
    while True:
        page = get(client, "/v1/rewrites", limit=4, **({"cursor": cursor} if cursor else {}))
        found += page["items"]
        cursor = page["next"]
        if cursor is None:
            break
    assert [each for each in found if each["graph"] == mine.graph] == rewrites
    assert page["total"] == len({(each["graph"], each["id"]) for each in found})


def test_a_file_uploaded_twice_is_stored_once(client: TestClient, mine: Mine) -> None:
    text = "Ada:\n  worked with: [Charles]\nCharles:\n  lived in: [London]\n"
    name = f"{mine.prefix}-uploaded"

    def upload(content: str, **more: str) -> Any:
        file = {"file": ("own.yaml", io.BytesIO(content.encode()))}
        return client.post("/v1/graphs", files=file, data={"name": name, **more})

    first, again = upload(text), upload(text)
    assert (first.status_code, first.json()["status"]) == (201, "imported")
    assert first.headers["location"] == f"/v1/graphs/{name}"
    assert (again.status_code, again.json()["status"]) == (200, "unchanged")
    other = text.replace("London", "Paris")
    assert "other content" in problem(upload(other), 409)["detail"]
    replaced = upload(other, replace="true")
    assert (replaced.status_code, replaced.json()["status"]) == (201, "replaced")
    assert get(client, f"/v1/graphs/{name}")["n_facts"] == 2
    assert client.delete(f"/v1/graphs/{name}").status_code == 204
    problem(client.get(f"/v1/graphs/{name}"), 404)


def test_an_upload_gets_the_name_of_its_data_set(client: TestClient, mine: Mine) -> None:
    """Never that of the temporary folder, which would be another one at each upload."""
    name = f"{mine.prefix}-own-name"
    own = f"name: {name}\nrelations: {{r: {{prompt: '{{}} is'}}}}\nfacts: {{a: {{r: b}}}}\n"
    for text, graph in ((own, name), ("Ada:\n  worked with: [Charles]\n", "triples")):
        file = {"file": ("kg.yaml", io.BytesIO(text.encode()))}
        done = client.post("/v1/graphs", files=file)
        assert (done.status_code, done.json()["graph"]) == (201, graph)
        assert client.delete(f"/v1/graphs/{graph}").status_code == 204


HOSTILE = {
    "deep.yaml": "relations: {r: {prompt: '{} is'}}\nfacts:\n  " + "- " * 100_000 + "a",
    "big.json": f'[{{"case_id": {"9" * 5000}, "requested_rewrite": 1, "paraphrase_prompts": []}}]',
    "half.json": '{"name": "Ro\\ud800me", "prompt_templates": ["{} is"], "samples": []}',
    "long.csv": f"Entity,Relationship,Attribute\n{'a' * 60_000},is,b\n",
    "nul.csv": "Entity,Relationship,Attribute\na\0,is,b\n",
    "wide.csv": ",".join(map(str, range(100_000))) + "\n1\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_an_upload_that_cannot_be_read_is_a_422(client: TestClient, name: str) -> None:
    options = {"format": "triples"} if name == "wide.csv" else {}
    file = {"file": (name, io.BytesIO(HOSTILE[name].encode()))}
    detail = problem(client.post("/v1/graphs", files=file, data=options), 422)["detail"]
    assert detail.startswith(f"{name}: ")
    assert len(detail) < 500


def test_a_full_queue_says_when_to_come_back(client: TestClient, mine: Mine, score: Score) -> None:
    """Unless others' edits wait as well, the third post is one too many."""
    body = {"graph": mine.graph, "rewrite": FACT, "model": mine.model, "samples": 0}
    accepted: list[str] = []
    try:
        answer = client.post("/v1/edits", json=body | {"seed": 900})
        while answer.status_code == 202 and len(accepted) < 3:
            accepted.append(answer.json()["id"])
            answer = client.post("/v1/edits", json=body | {"seed": 901 + len(accepted)})
        refused = problem(answer, 429)
        assert "the limit is 2" in refused["detail"]
        assert int(answer.headers["retry-after"]) > 0
        sweep = {"graph": mine.graph, "models": [mine.model], "methods": ["none", "rome", "memit"]}
        assert problem(client.post("/v1/sweeps", json=sweep), 429)
    finally:
        for edit in accepted:
            client.post(f"/v1/edits/{edit}/cancel")
            assert client.delete(f"/v1/edits/{edit}").status_code == 204
    assert (
        len(get(client, "/v1/edits", graph=mine.graph)["items"]) == 1
    )  # the scored one: nothing is left


def test_requests_are_counted_by_route(client: TestClient, score: Score) -> None:
    def counted() -> dict[tuple[str, str], float]:
        families = text_string_to_metric_families(client.get("/metrics").text)
        found = {family.name: family for family in families}
        assert {"thinkeval_edits", "thinkeval_request_seconds"} <= set(found)
        return {
            (each.labels["route"], each.labels["status"]): each.value
            for each in found["thinkeval_requests"].samples
            if each.name == "thinkeval_requests_total" and each.labels["method"] == "GET"
        }

    route = "/v1/edits/{edit}/chains"
    before = counted()
    for _ in range(3):
        client.get(f"/v1/edits/{score.edit}/chains")
    client.get("/v1/edits/nowhere/chains")
    after = counted()
    assert after[route, "200"] - before.get((route, "200"), 0) == 3
    assert after[route, "404"] - before.get((route, "404"), 0) == 1
    assert not any(score.edit in name for name, _ in after)


def test_the_service_never_imports_torch(environment: dict[str, str], score: Score) -> None:
    program = f"""
import sys
from fastapi.testclient import TestClient
from thinkeval.service.web.app import create_app
with TestClient(create_app(workers=0), base_url="{BASE}") as client:
    client.app.state.thinkeval.connection.get(wait_s=60)
    edit = "/v1/edits/{score.edit}"
    for path in (edit, *(edit + "/" + part for part in (
        "chains", "tables/leaks", "graph", "queries/metrics/ifr", "figures/leakage.svg")),
        "/v1/methods", "/v1/models", "/v1/queries", "/v1/edits", "/v1/sweeps",
        "/v1/leaderboard?graph={score.dataset}", "/", "/methods", "/edits/{score.edit}",
        "/rules", "/v1/rewrites", "/v1/graphs", "/ready", "/openapi.json"):
        assert client.get(path).status_code == 200, path
    client.post("/v1/edits", json={{"rewrite": "nobody", "method": "memit"}})
    # Hyperparameters are checked here, where no method is imported.
    for overrides, said in (
        ({{"v_num_grad_steps": 10**9}},
         "'v_num_grad_steps' is 1000000000; it must be from 1 to 10,000"),
        ({{"__class__": 1}}, "unknown key '__class__'"),
        ({{"layers": [10**9]}}, "'layers' is 1000000000; it must be from 0 to 9,999"),
        ({{"v_lr": "fast"}}, "it must be a number"),
    ):
        posted = {{"rewrite": "{score.rewrite}", "graph": "{score.dataset}", "method": "rome"}}
        answer = client.post("/v1/edits", json=posted | {{"overrides": overrides}})
        assert answer.status_code == 422, answer.text
        assert said in answer.json()["detail"], answer.text
    client.post("/v1/graphs/import", json={{"source": "hogwarts"}})
print(sorted({{"torch", "transformers"}} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr[-2000:]


def test_an_edit_goes_with_its_saved_update(
    client: TestClient, mine: Mine, score: Score, test_settings: Settings
) -> None:
    """The last test here, as the others look at this edit."""
    saved = deltas.path_of(test_settings, score.edit)
    assert saved.is_file()
    before = get(client, "/v1/leaderboard", graph=mine.graph)
    assert before == get(client, "/v1/leaderboard", graph=mine.graph)
    assert client.delete(f"/v1/edits/{score.edit}").status_code == 204
    assert not saved.exists()
    problem(client.get("/v1/leaderboard", params={"graph": mine.graph}), 404)
