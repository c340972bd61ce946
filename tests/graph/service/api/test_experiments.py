"""Every kind of experiment at every door: REST, client, commands, pages. No worker, no model.

A growth run makes its graph, and is stored as it grows: `test_growth.py` tries it at these doors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from support.commands import Cli
from support.experiments import (
    SAMPLES,
    Sample,
    delete_result,
    one_state,
    store_result,
    store_sample,
    three_states,
)
from support.own_graphs import hogwarts_as, own_graphs
from support.stored_edits import random_facts, store_edit
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.base.settings import Settings
from thinkeval.service.client.rest import Client
from thinkeval.service.depedit import store as sets
from thinkeval.service.depedit.sets import SetOptions, build
from thinkeval.service.experiments.edit import EDIT
from thinkeval.service.experiments.kind import Kind
from thinkeval.service.experiments.sweep import SWEEP
from thinkeval.service.graphs import datasets
from thinkeval.service.graphs.delete import delete_graph
from thinkeval.service.growth.kind import GROWTH
from thinkeval.service.kinds import KINDS
from thinkeval.service.leakcut.coedit_kind import COEDIT
from thinkeval.service.models.edit import Score
from thinkeval.service.models.experiment import Result
from thinkeval.service.scoring import record
from thinkeval.service.states.kind import COMPARISON

ALIKE = [kind for kind in KINDS if kind is not GROWTH]
SMALL = SetOptions(facts=6, unrelated=2, implications=3, copies=1, updates=2, seed=2)


@dataclass(frozen=True)
class Place:
    """A graph of this module's own, with a knowledge set and three scored edits."""

    graph: str
    edits: list[str]


@pytest.fixture(scope="module")
def place(db: Database) -> Iterator[Place]:
    datasets.get_or_import(db, "atlas")
    with own_graphs(db) as prefix:
        graph = hogwarts_as(db, f"{prefix}-hogwarts")
        drawn = replace(build(db, "atlas", SMALL).sets[0], id=f"{prefix}-set", dataset=graph)
        sets.save_set(db, drawn)
        edits = [
            store_edit(db, f"{prefix}-e{n}", random_facts(n), dataset=graph).edit for n in range(3)
        ]
        yield Place(graph, edits)
        for kind in KINDS:
            for job in db.read(rows.PageJobRow, "jobs/page", kind=kind.name, limit=1000):
                if json.loads(job.request or "{}").get("graph") == graph:
                    db.write(int, "jobs/delete", id=job.id)
        sets.delete_set(db, drawn.id)


def name_of(kind: Kind[Any, Any]) -> str:
    return kind.name


@pytest.fixture(params=ALIKE, ids=name_of)
def kind(request: pytest.FixtureRequest) -> Kind[Any, Any]:
    return request.param


@pytest.fixture
def sample(kind: Kind[Any, Any]) -> Sample:
    return SAMPLES[kind.name]


@pytest.fixture
def stored(db: Database, kind: Kind[Any, Any], place: Place) -> Iterator[Result]:
    """A stored result without a job, as a command leaves it."""
    out = store_sample(db, kind.name, f"{kind.name}-{place.graph}", place.graph, place.edits)
    yield out
    delete_result(db, out.id)


@pytest.fixture(scope="module")
def remote(client: TestClient) -> Iterator[Client]:
    def answered(asked: httpx.Request) -> httpx.Response:
        found = client.request(
            asked.method, asked.url.raw_path.decode(), content=asked.content,
            headers={"content-type": "application/json"},
        )  # fmt: skip
        return httpx.Response(found.status_code, content=found.content, headers=found.headers)

    with Client("http://localhost", transport=httpx.MockTransport(answered)) as made:
        yield made


@pytest.fixture(scope="module")
def cli(server: dict[str, str], test_settings: Settings, tmp_path_factory: Any) -> Cli:
    homes = {
        "THINKEVAL_HOME": str(test_settings.home),
        "THINKEVAL_CACHE": str(test_settings.cache),
    }
    return Cli(server | homes, tmp_path_factory.mktemp("commands"))


def test_a_request_is_one_job_until_it_is_cancelled_and_deleted(
    client: TestClient, kind: Kind[Any, Any], sample: Sample, place: Place
) -> None:
    path = f"/v1/{kind.plural}"
    body = {"graph": place.graph, **sample.request}
    posted = client.post(path, json=body)
    assert posted.status_code == 202, posted.text
    job = posted.json()
    assert (job["kind"], job["graph"]) == (kind.name, place.graph)
    assert (job["status"], job["result"]) == ("queued", None)
    assert posted.headers["location"] == job["links"]["self"] == f"{path}/{job['id']}"
    assert client.post(path, json=body).json()["id"] == job["id"]
    other = client.post(path, json=body | sample.other).json()
    assert other["id"] != job["id"]
    listed = client.get(path, params={"graph": place.graph}).json()["items"]
    made = [each["id"] for each in listed if each["id"] not in place.edits]
    assert sorted(made) == sorted([job["id"], other["id"]])
    page = client.get(job["links"]["page"]).text
    assert "queued" in page
    if kind is not SWEEP:  # its page shows cell by cell
        assert f'data-live="{path}/{job["id"]}"' in page, "the script polls the record"
    unfinished = client.get(f"{path}/{job['id']}/tables/{sample.first[0]}")
    assert unfinished.status_code == 404
    assert "is queued and has no result" in unfinished.json()["detail"]
    refused = client.delete(f"{path}/{job['id']}")
    assert (refused.status_code, refused.json()["remedy"]) == (409, "Cancel it first.")
    for each in (job, other):
        assert client.post(f"{path}/{each['id']}/cancel").json()["status"] == "cancelled"
    again = EDIT.again if kind is SWEEP else kind.again
    assert again in client.get(job["links"]["page"]).text
    assert client.post(path, json=body).json()["status"] == "queued", "submitted again"
    client.post(f"{path}/{job['id']}/cancel")
    for each in (job, other):
        assert client.delete(f"{path}/{each['id']}").status_code == 204
        assert client.get(f"{path}/{each['id']}").status_code == 404


@pytest.mark.parametrize(
    ("kind", "change", "problem"),
    [
        pytest.param(kind, change, problem, id=f"{kind.name}-{number}")
        for kind in ALIKE
        for number, (change, problem) in enumerate(SAMPLES[kind.name].wrong)
    ],
)
def test_a_wrong_request_is_refused_at_once(
    client: TestClient, place: Place, kind: Kind[Any, Any], change: dict[str, Any], problem: str
) -> None:
    body = {"graph": place.graph, **SAMPLES[kind.name].request, **change}
    answer = client.post(f"/v1/{kind.plural}", json=body)
    assert answer.status_code in (404, 409, 422), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    said = answer.json()
    assert problem in said["detail"] + said["remedy"]
    assert said["remedy"]


def test_rest_client_command_and_page_show_the_same_result(
    db: Database, client: TestClient, remote: Client, cli: Cli, kind: Kind[Any, Any],
    sample: Sample, stored: Result, place: Place,
) -> None:  # fmt: skip
    path = f"/v1/{kind.plural}/{stored.id}"
    got = client.get(path).json()
    assert got["status"] == "succeeded"
    if isinstance(stored, Score):  # the sentence is read off the graph, not stored
        assert got["result"]["verdict"].startswith("The edit took;")
        stored = stored.model_copy(update={"verdict": got["result"]["verdict"]})
    assert got["result"] == stored.model_dump(mode="json")
    assert remote.experiments.get(kind.plural, stored.id).result == stored
    assert stored.id in remote.experiments.list(kind.plural, graph=place.graph)["id"].tolist()
    assert json.loads(cli("results", kind.plural, stored.id, "--json").out) == got["result"]
    assert sample.said in " ".join(cli("results", kind.plural, stored.id).out.split())
    shown = client.get(f"/{kind.plural}/{stored.id}").text
    assert sample.said in shown
    listing = "/" if kind is EDIT else f"/{kind.plural}"
    assert f'href="/{kind.plural}/{stored.id}"' in client.get(listing).text
    listed = cli("results", kind.plural, "-g", place.graph)
    assert stored.id in listed.out
    name, header, part = sample.first
    for format, content in (("csv", header), ("markdown", part), ("latex", ""), ("json", "[")):
        table = client.get(f"{path}/tables/{name}", params={"format": format})
        assert table.status_code == 200, table.text
        assert content in table.text
        if format != "json":
            assert (
                cli("results", kind.plural, stored.id, "-f", format).out.strip()
                == table.text.strip()
            )
    assert len(remote.experiments.table(kind.plural, stored.id, name)) == len(
        kind.all_tables(db, stored)[0].rows
    )


def test_a_result_is_listed_by_graph_and_by_the_edits_that_it_scored(
    client: TestClient, kind: Kind[Any, Any], stored: Result, place: Place
) -> None:
    edits = [stored.id, *place.edits] if kind is EDIT else []

    def ids(**filters: str) -> list[str]:
        found = client.get(f"/v1/{kind.plural}", params=filters).json()["items"]
        return [each["id"] for each in found]

    found = ids(graph=place.graph)
    if edits:  # those of the sweeps of this graph are listed too
        assert set(edits) <= set(found)
    else:
        assert found == [stored.id]
    for edit in place.edits:
        assert ids(edit=edit) == ([edit] if edits else [stored.id])
    assert ids(edit="other") == ids(graph="other") == []


def test_figures_are_drawn_by_name(
    client: TestClient, cli: Cli, kind: Kind[Any, Any], stored: Result
) -> None:
    path = f"/v1/{kind.plural}/{stored.id}/figures"
    for name in kind.figures:
        if name == "retention":
            continue  # of several states, below
        for format, type in (("svg", "image/svg+xml"), ("png", "image/png"), ("pdf", "pdf")):
            drawn = client.get(f"{path}/{name}.{format}")
            assert drawn.status_code == 200, drawn.text
            assert type in drawn.headers["content-type"]
        cli("results", kind.plural, stored.id, "--figure", f"{kind.name}.svg", "--drawing", name)
        assert (cli.cwd / f"{kind.name}.svg").read_bytes() == client.get(
            f"{path}/{name}.svg"
        ).content
    if kind.figures:
        assert client.get(f"{path}/none.svg").status_code == 404
    assert client.get(f"{path}/drift.gif").status_code in (404, 422)


def test_an_unknown_id_table_or_measure_is_refused(
    client: TestClient, cli: Cli, kind: Kind[Any, Any], stored: Result
) -> None:
    path = f"/v1/{kind.plural}"
    for asked in (path, f"/{kind.plural}"):
        assert client.get(f"{asked}/none-such").status_code == 404
    assert client.delete(f"{path}/none-such").status_code == 404
    assert client.post(f"{path}/none-such/cancel").status_code == 404
    close = client.get(f"{path}/{stored.id[:-1]}").json()
    assert stored.id in close["detail"]
    table = client.get(f"{path}/{stored.id}/tables/none")
    assert table.status_code == 404
    assert "no table" in table.json()["detail"]
    assert client.get(f"{path}/{stored.id}/tables/x", params={"format": "html"}).status_code == 422
    for words, problem in (
        (("none-such",), "none-such"),
        (("--delete",), f"Name {kind.one}"),
        (("--cancel",), f"Name {kind.one}"),
        ((stored.id, "--table", "none"), "no table"),
        ((stored.id, "-f", "html"), "not a table format"),
    ):
        done = cli("results", kind.plural, *words, code=2)
        assert problem in done.err, (words, done.err)


@pytest.mark.parametrize("kind", [kind for kind in ALIKE if kind is not EDIT], ids=name_of)
def test_a_result_is_deleted_and_its_edits_stay_or_go_with_it(
    db: Database, client: TestClient, kind: Kind[Any, Any], place: Place
) -> None:
    edits = [
        store_edit(db, f"{edit}-own-{kind.name}", random_facts(n), dataset=place.graph).edit
        for n, edit in enumerate(place.edits)
    ]
    out = store_sample(db, kind.name, f"{kind.name}-{place.graph}-gone", place.graph, edits)
    if (made := SAMPLES[kind.name].result) is not None:
        kept = made(f"{kind.name}-{place.graph}-kept", place.graph, [*place.edits])
        store_result(db, kind.name, kept, edits[:1])
    else:
        kept = store_sample(
            db, kind.name, f"{kind.name}-{place.graph}-kept", place.graph, edits[:1]
        )
    assert client.delete(f"/v1/{kind.plural}/{out.id}").status_code == 204
    assert client.get(f"/v1/{kind.plural}/{out.id}").status_code == 404
    assert client.get(f"/v1/{kind.plural}/{kept.id}").status_code == 200
    left = [edit for edit in edits if db.read(rows.GetEditRow, "edits/get_edit", id=edit)]
    assert left == (edits[:1] if kind.owns_edits else edits), "another experiment scored the first"
    delete_result(db, kept.id)
    for edit in left:
        record.delete(db, edit)


@pytest.mark.parametrize("kind", [kind for kind in ALIKE if kind is not SWEEP], ids=name_of)
def test_a_data_set_is_deleted_with_its_experiments(
    db: Database, client: TestClient, kind: Kind[Any, Any], sample: Sample
) -> None:
    with own_graphs(db) as prefix:
        graph = hogwarts_as(db, f"{prefix}-gone")
        edits = [
            store_edit(db, f"{prefix}-e{n}", random_facts(n), dataset=graph).edit for n in range(3)
        ]
        out = store_sample(db, kind.name, f"{prefix}-{kind.name}", graph, edits)
        refused = client.delete(f"/v1/graphs/{graph}")
        assert refused.status_code == 409
        if kind is not EDIT:  # they are counted
            assert out.id in refused.json()["detail"]
        if kind.name != "depedit":  # needs a knowledge set of this graph
            body = {"graph": graph, **sample.request}
            queued = client.post(f"/v1/{kind.plural}", json=body).json()["id"]
            busy = client.delete(f"/v1/graphs/{graph}", params={"with_dependents": True})
            assert busy.status_code == 409
            client.post(f"/v1/{kind.plural}/{queued}/cancel")
        removed = delete_graph(db, graph, with_dependents=True)
        assert set(edits) <= set(removed)
        assert kind.store.find(db, out.id) is None
        if kind.name != "depedit":
            assert client.get(f"/v1/{kind.plural}/{queued}").status_code == 404


def test_every_kind_has_a_sample() -> None:
    assert SAMPLES.keys() == {kind.name for kind in ALIKE}


# What one kind adds to its doors.


def test_several_states_have_a_curve_of_retention_on_page_and_command(
    db: Database, client: TestClient, cli: Cli, place: Place
) -> None:
    out = three_states(f"several-{place.graph}", place.graph, place.edits)
    store_result(db, COMPARISON.name, out, place.edits[:1])
    path = f"/v1/comparisons/{out.id}"
    try:
        page = client.get(f"/comparisons/{out.id}").text
        assert "0.400 of the change is left" in page
        assert "Ada knows Bob (0.900 → 0.100 → 0.800)" in page
        assert f"{path}/figures/retention.svg" in page
        for state in out.states:
            assert f"/v1/comparisons/{state.id}/audit" in page
        drawn = client.get(f"{path}/figures/retention.svg")
        assert drawn.headers["content-type"] == "image/svg+xml"
        table = client.get(f"{path}/tables/states", params={"format": "markdown"}).text
        assert "| +finetune:graph:steps=200 | 0.400 |" in table
        wrong = client.get(f"{path}/tables/states", params={"measure": "p"})
        assert wrong.status_code == 422
        assert "not compared by" in wrong.json()["detail"]
        cli("results", "comparisons", out.id, "--figure", "curve.svg", "--drawing", "retention")
        assert (cli.cwd / "curve.svg").read_bytes() == drawn.content
        unnamed = client.get(f"{path}/audit")
        assert unnamed.status_code == 422
        assert "an audit is of one" in unnamed.json()["detail"]
    finally:
        delete_result(db, out.id)


def test_one_state_has_no_curve_of_retention(
    db: Database, client: TestClient, place: Place
) -> None:
    out = one_state(f"single-{place.graph}", place.graph, place.edits)
    store_result(db, COMPARISON.name, out, place.edits[:1])
    drawn = client.get(f"/v1/comparisons/{out.id}/figures/retention.svg")
    delete_result(db, out.id)
    assert drawn.status_code == 422
    assert "several states" in drawn.json()["detail"]


def test_the_page_starts_a_comparison_without_scripts(client: TestClient, place: Place) -> None:
    edit = place.edits[0]
    asked = client.get("/comparisons", params={"edit": edit}).text
    assert f"+edit:{edit}" in asked
    assert "+finetune:graph:steps=200" in asked
    form = {
        "base": "organism", "states": "organism:seed=2\n\n +8bit ", "graph": place.graph,
        "forget": "Draco Malfoy | studied at | Hogwarts School of Witchcraft and Wizardry",
    }  # fmt: skip
    assert f'value="+edit:{edit}" selected' in asked or f"<option selected>+edit:{edit}" in asked
    assert f"/comparisons?edit={edit}" in client.get(f"/edits/{edit}/export").text
    picked = {"base": "organism", "source": "folder", "place": "organism:seed=3", "bits": "+8bit"}
    done = client.post("/comparisons", data=picked | {"graph": place.graph}, follow_redirects=False)
    where = f"/v1{done.headers['location']}"
    (state,) = client.get(where).json()["request"]["states"]
    assert (state["model"], state["quantized"]) == ("organism:seed=3", "8bit")
    client.post(f"{where}/cancel")
    done = client.post("/comparisons", data=form, follow_redirects=False)
    assert done.status_code == 303, done.text
    where = f"/v1{done.headers['location']}"
    request = client.get(where).json()["request"]
    assert [each["model"] for each in request["states"]] == ["organism:seed=2"] * 2
    assert [each["quantized"] for each in request["states"]] == [None, "8bit"]
    client.post(f"{where}/cancel")
    for change, status, reason in (
        ({"states": "/etc"}, 422, "not one this service may load"),
        ({"states": "+9bit"}, 422, "no change of a state"),
        ({"states": ""}, 422, "states: "),
        ({"implications": "on"}, 404, "no kept rules"),
    ):
        wrong = client.post("/comparisons", data=form | change, follow_redirects=False)
        assert wrong.status_code == status, wrong.text
        assert reason in wrong.text
        assert form["forget"] in wrong.text, "the form keeps the values that were filled in"
    assert 'name="implications" checked' in wrong.text


def test_the_page_of_a_co_edit_leads_to_each_round(
    db: Database, client: TestClient, place: Place
) -> None:
    out = SAMPLES["coedit"].result(f"frontier-{place.graph}", place.graph, place.edits)
    store_result(db, COEDIT.name, out, place.edits)
    text = client.get(f"/coedits/{out.id}").text
    edit = client.get(f"/edits/{place.edits[1]}").text
    delete_result(db, out.id)
    for each in place.edits:
        assert f'href="/edits/{each}"' in text, "a point of the frontier"
    assert "Ron Weasley, studied at" in text
    assert f'href="/coedits/{out.id}"' in edit
