"""Growth runs by REST: submitted, cancelled, continued; candidates decided, as by the modules."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import httpx
import neo4j
import pytest
from fastapi.testclient import TestClient

from support.growth_runs import candidate, grown
from support.own_graphs import hogwarts_as
from thinkeval.cypher import query, rows
from thinkeval.cypher.run import Database
from thinkeval.service.client.http import ProblemError
from thinkeval.service.client.rest import Client
from thinkeval.service.graphs import datasets
from thinkeval.service.growth import review
from thinkeval.service.growth.export import exported
from thinkeval.service.growth.schemas import ExportFormat, GrowthOut

TRIPLET = {"subject": "A", "relation": "b", "object": "C"}


@pytest.fixture
def run(db: Database, graph_id: str) -> Iterator[str]:
    with grown(db, f"{graph_id}-run", [candidate(place) for place in range(7)]) as name:
        yield name


@pytest.fixture
def submitted(db: Database, graph_id: str) -> Iterator[dict[str, object]]:
    """A crawl of a graph of the test's own, as a client submits it."""
    base = hogwarts_as(db, f"{graph_id}-base")
    yield {"seed": "Harry Potter", "elicit": "crawl", "base": base, "graph": f"{graph_id}-grown"}
    for row in db.read(GrowthOut, "growth/runs"):
        if row.graph.startswith(graph_id):
            db.autocommit(int, "growth/delete_run", id=row.id)


def test_a_run_is_submitted_cancelled_continued_and_deleted(
    client: TestClient, submitted: dict[str, object]
) -> None:
    posted = client.post("/v1/growth", json=submitted)
    assert posted.status_code == 202, posted.text
    place = posted.headers["Location"]
    run = posted.json()
    assert (place, run["status"]) == (f"/v1/growth/{run['id']}", "queued")
    assert client.post("/v1/growth", json=submitted).json()["id"] == run["id"]
    assert client.get(place).json()["graph"] == submitted["graph"]
    assert run["id"] in [each["id"] for each in client.get("/v1/growth").json()["items"]]
    assert client.get(f"{place}/tables/iterations", params={"format": "json"}).json() == []
    assert client.delete(place).status_code == 409
    cancelled = client.post(f"{place}/cancel").json()
    assert (cancelled["status"], cancelled["result"]["state"]) == ("cancelled", "growing")
    another = client.post("/v1/growth", json=submitted | {"as_new": True}).json()
    assert another["id"] == f"{run['id']}-2"
    for body in (cancelled["request"], another["request"], submitted):
        assert body["graph"] == submitted["graph"]
    assert client.post(f"/v1/growth/{another['id']}/cancel").json()["status"] == "cancelled"
    assert client.delete(f"/v1/growth/{another['id']}").status_code == 204
    for body in (cancelled["request"], submitted):  # either way it is the same run
        again = client.post("/v1/growth", json=body).json()
        assert (again["id"], again["status"]) == (run["id"], "queued")
    assert client.post(f"{place}/cancel").json()["status"] == "cancelled"
    assert client.delete(place).status_code == 204
    assert client.get(place).status_code == 404


def test_what_a_run_may_not_be_is_refused(client: TestClient, submitted: dict[str, object]) -> None:
    for wrong, status in [
        ({"seed": "A|b"}, 422),
        ({"seed": "A|b|A", "elicit": "cot"}, 422),
        ({"answers": {"model": "x", "url": "http://10.0.0.1/v1"}}, 422),
        ({"answers": {"model": "not-allowed"}}, 422),
        ({"base": "no-such-graph"}, 404),
        ({"samples": 0}, 422),
        ({"unknown": 1}, 422),
    ]:
        answer = client.post("/v1/growth", json=submitted | wrong)
        assert answer.status_code == status, (wrong, answer.text)
        assert answer.json()["remedy"]
        assert answer.headers["content-type"] == "application/problem+json"


def test_candidates_decisions_and_reports(db: Database, client: TestClient, run: str) -> None:
    place = f"/v1/growth/{run}"
    first = client.get(f"{place}/candidates", params={"state": "review", "limit": 3}).json()
    assert first == review.page(db, run, ["review"], limit=3).model_dump(mode="json")
    rest = client.get(f"{place}/candidates", params={"cursor": first["next"], "limit": 50}).json()
    assert [each["id"] for each in first["items"] + rest["items"]] == [f"c{n}" for n in range(7)]
    found = client.get(f"{place}/candidates/c0").json()
    assert found["evidence"][0]["answer"] == "1. Subject 0 studied at Object 0."
    corrected = {"verb": "correct", "by": "ann", "after": TRIPLET, "reason": "as in the book"}
    done = client.post(f"{place}/candidates/c0/decision", json=corrected)
    assert (done.status_code, done.json()["waiting"], done.json()["resumed"]) == (201, 6, False)
    added = {"triplet": TRIPLET | {"object": "D"}, "by": "bob"}
    assert client.post(f"{place}/candidates", json=added).status_code == 201
    review.decide(db, run, "c0", "prune", "m@local", role="judge")
    told = client.get(f"{place}/decisions").json()
    assert told == review.decisions_of(db, run).model_dump(mode="json")
    assert [each["verb"] for each in told["items"]] == ["correct", "add", "prune"]
    made = client.get(place).json()["result"]
    assert made["judged"] == [row.model_dump() for row in review.judge_rows(db, run)]
    assert made["judged"][-1]["fn"] == 1
    assert sum(each["candidates"] for each in made["counts"]) == made["candidates"] == 8


def test_candidates_and_decisions_go_out_and_in_as_csv(
    db: Database, client: TestClient, run: str
) -> None:
    """As in a spreadsheet: verbs are filled in, and the file is given back; here to two runs."""
    place = f"/v1/growth/{run}"
    sent = client.get(f"{place}/candidates", params={"format": "csv", "limit": 2})
    assert sent.headers["content-type"] == "text/csv; charset=utf-8"
    assert f'"{run}-candidates.csv"' in sent.headers["content-disposition"]
    table = list(csv.DictReader(io.StringIO(sent.text)))
    assert [row["candidate"] for row in table] == [f"c{n}" for n in range(7)]
    assert table[0]["statements"] == "Subject 0 studied at Object 0."
    table[0]["verb"], table[1]["verb"], table[2]["verb"] = "keep", "Prune", "correct"
    table[1]["reason"], table[2]["object"] = "wrong", "Hogwarts, the school"
    table.append(dict.fromkeys(table[0], "") | {"verb": "add"} | TRIPLET)
    with io.StringIO() as out:
        writer = csv.DictWriter(out, list(table[0]))
        writer.writeheader()
        writer.writerows(table)
        body = "\ufeff" + out.getvalue()
    file = {"file": ("filled.csv", body.encode(), "text/csv")}
    refused = client.post(f"{place}/decisions", files=file)
    assert (refused.status_code, "line 2: nothing says who" in refused.text) == (422, True)
    done = client.post(f"{place}/decisions", files=file, data={"by": "ann"})
    assert done.status_code == 201, done.text
    assert {key: done.json()[key] for key in ("recorded", "undecided", "judged", "waiting")} == {
        "recorded": 4, "undecided": 4, "judged": 0, "waiting": 4,
    }  # fmt: skip
    review.decide(db, run, "c0", "prune", "m@local", role="judge")
    made = client.get(f"{place}/decisions", params={"format": "csv"})
    kept = review.decisions_of(db, run).items
    assert [(d.verb, d.by, d.reason) for d in kept[:4]] == [
        ("keep", "ann", None), ("prune", "ann", "wrong"), ("correct", "ann", None),
        ("add", "ann", None),
    ]  # fmt: skip
    assert kept[2].after is not None
    assert kept[2].after.object == "Hogwarts, the school"
    with grown(db, f"{run}-2", [candidate(place) for place in range(7)]) as other:
        file = {"file": ("decisions.csv", made.content, "text/csv")}
        again = client.post(f"/v1/growth/{other}/decisions", files=file).json()
        assert (again["recorded"], again["judged"]) == (4, 1)
        found = review.decisions_of(db, other).items
    assert [(d.verb, d.by, d.reason, d.before, d.after) for d in found] == [
        (d.verb, d.by, d.reason, d.before, d.after) for d in kept[:4]
    ]
    judged = client.get(f"{place}/tables/judge").text.splitlines()
    assert judged[0] == (
        "iteration,judged,both,TP,FP,FN,TN,precision,recall,F1,rated,pairwise,unanimous,AC1,alpha"
    )
    assert judged[-1] == "all,1,1,0,0,1,0,,0.0,,0,,,,"


@pytest.mark.parametrize(
    ("text", "status", "why"),
    [
        ("a;b\n1;2\n", 422, "its columns are a;b"),
        ("candidate,verb\nc0,\n", 422, "has no decision of a person"),
        ("candidate,verb\nc0,keep\nc1,burn\n", 422, "d.csv, line 3: 'burn' is no decision"),
        ("candidate,verb\nc0,keep\nc99,keep\n", 404, "d.csv, line 3: "),
        ("candidate,verb,subject\nc0,keep,\nc1,correct,A\n", 422, "line 3 is no triplet: rel"),
        ("candidate,verb,subject,relation,object\nc0,keep,,,\n,add,A,b,a\n", 422, "the same"),
        ("candidate,verb\nc0,keep\nc1,prüne\n".encode("latin-1"), 422, "byte 28"),
    ],
)
def test_a_file_with_one_bad_decision_records_none(
    client: TestClient, run: str, text: str | bytes, status: int, why: str
) -> None:
    body = text if isinstance(text, bytes) else text.encode()
    file = {"file": ("d.csv", body, "text/csv")}
    answer = client.post(f"/v1/growth/{run}/decisions", files=file, data={"by": "ann"})
    assert (answer.status_code, bool(answer.json()["remedy"])) == (status, True), answer.text
    assert why in answer.json()["detail"]
    assert client.get(f"/v1/growth/{run}/decisions").json()["total"] == 0


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("candidates/c99/decision", {"verb": "keep", "by": "ann"}, 404),
        ("candidates/c0/decision", {"verb": "add", "by": "ann"}, 422),
        ("candidates/c0/decision", {"verb": "keep", "by": ""}, 422),
        ("candidates/c0/decision", {"verb": "correct", "by": "ann"}, 422),
        ("candidates",
         {"triplet": {"subject": "A", "relation": "b", "object": "a"}, "by": "x"}, 422),
        ("candidates",
         {"triplet": {"subject": "Subject 1", "relation": "studied at", "object": "Object 1"},
          "by": "x"}, 409),
    ],
)  # fmt: skip
def test_decisions_that_are_refused(
    client: TestClient, run: str, path: str, body: dict[str, object], status: int
) -> None:
    answer = client.post(f"/v1/growth/{run}/{path}", json=body)
    assert (answer.status_code, bool(answer.json()["remedy"])) == (status, True), answer.text
    assert client.get(f"/v1/growth/{run}/decisions").json()["total"] == 0


def test_the_last_decision_queues_a_waiting_run_again(
    db: Database, client: TestClient, submitted: dict[str, object]
) -> None:
    run = client.post("/v1/growth", json=submitted).json()["id"]
    client.post(f"/v1/growth/{run}/cancel")
    db.write(
        float, "growth/set_run", id=run, state="waiting_review", stop_reason="waits for review"
    )
    made = [candidate(0), candidate(1, state="conflict"), candidate(2, state="validated")]
    db.write(rows.WrittenRow, "growth/write_candidates", run=run, rows=made)
    decide = f"/v1/growth/{run}/candidates/{{}}/decision"
    body = {"verb": "keep", "by": "ann"}
    assert client.post(decide.format("c0"), json=body).json()["resumed"] is False
    assert client.get(f"/v1/growth/{run}").json()["status"] != "queued"
    assert client.post(decide.format("c1"), json=body).json()["resumed"] is True
    assert client.get(f"/v1/growth/{run}").json()["status"] == "queued"
    client.post(f"/v1/growth/{run}/cancel")


def test_a_page_reads_the_same_however_many_candidates_there_are(
    db: Database, client: TestClient, graph_id: str, server: dict[str, str]
) -> None:
    """In database hits; benchmarks/growth/review_queue.py measures the time."""
    auth = (server["THINKEVAL_NEO4J_USER"], server["THINKEVAL_NEO4J_PASSWORD"])
    hits = {}
    for total in (300, 2000):
        many = [candidate(n) for n in range(total)]
        with grown(db, f"{graph_id}-{total}", many) as run:
            path = f"/v1/growth/{run}/candidates?state=review&state=conflict&cursor=200~c200"
            assert len(client.get(path).json()["items"]) == 50
            given = {
                "run": run, "states": ["review", "conflict"], "after": 200, "after_id": "c200",
                "undecided_by": None, "limit": 51,
            }  # fmt: skip
            with neo4j.GraphDatabase.driver(server["THINKEVAL_NEO4J_URI"], auth=auth) as driver:
                _, summary, _ = driver.execute_query(
                    "PROFILE\n" + query("growth/candidate_page").text, given
                )
            assert summary.profile is not None
            hits[total] = db_hits(summary.profile)
    assert hits[2000] == pytest.approx(hits[300], abs=20), hits


def db_hits(plan: dict[str, Any]) -> int:
    return int(plan["args"].get("DbHits", 0)) + sum(map(db_hits, plan.get("children", [])))


@pytest.fixture
def te(client: TestClient) -> Iterator[Client]:
    """The Python client on these routes."""

    def answered(request: httpx.Request) -> httpx.Response:
        told = client.request(
            request.method, str(request.url), content=request.content, headers=dict(request.headers)
        )
        return httpx.Response(told.status_code, headers=dict(told.headers), content=told.content)

    with Client("http://localhost", transport=httpx.MockTransport(answered)) as made:
        yield made


def test_the_python_client_reads_and_writes_the_same(te: Client, run: str, tmp_path: Path) -> None:
    assert list(te.growth.candidates(run, "review").id) == [f"c{n}" for n in range(7)]
    assert te.growth.decide(run, "c0", "correct", "ann", after=TRIPLET).waiting == 6
    te.growth.add(run, TRIPLET | {"object": "D"}, "ann")
    assert list(te.growth.decisions(run).verb) == ["correct", "add"]
    (tmp_path / "more.csv").write_text("candidate,verb\nc1,keep\nc2,\n")
    more = te.growth.decide_by_file(run, tmp_path / "more.csv", "bob")
    assert (more.recorded, more.undecided, more.waiting) == (1, 1, 5)
    assert te.growth.candidate(run, "c0").verdict == "correct"
    found = te.experiments.get("growth", run).result
    assert isinstance(found, GrowthOut)
    assert (found.decisions, found.iterations, found.scored_as) == (3, [], "organism:gpt2")
    assert list(te.experiments.table("growth", run, "judge").rated) == [0, 0]
    assert run in set(te.experiments.list("growth").id)
    with pytest.raises(ProblemError, match="candidate"):
        te.growth.decide(run, "c99", "keep", "ann")
    te.experiments.delete("growth", run)
    with pytest.raises(ProblemError, match="growth run"):
        te.experiments.get("growth", run)


@pytest.fixture
def finished(db: Database, run: str) -> str:
    """The run, with the graph that it made."""
    datasets.store(db, datasets.read("hogwarts", name=f"{run}-graph"))
    return run


@pytest.mark.parametrize("format", ["knowgic", "csv"])
def test_an_export_has_the_same_files_as_the_command(
    db: Database,
    client: TestClient,
    te: Client,
    finished: str,
    tmp_path: Path,
    format: ExportFormat,
) -> None:
    made = exported(db, finished, format)
    place = f"/v1/growth/{finished}/export"
    zipfile = client.get(place, params={"format": format})
    assert zipfile.headers["content-type"] == "application/zip"
    assert f'"{finished}-{format}.zip"' in zipfile.headers["content-disposition"]
    with ZipFile(BytesIO(zipfile.content)) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == made.files
    body = client.get(place, params={"format": format, "packed": False}).json()
    assert {name: text.encode() for name, text in body["files"].items()} == made.files
    assert (body["format"], body["lost"]) == (format, made.lost)
    assert te.growth.export(finished, tmp_path / "out", format) == made.lost
    assert te.growth.export(finished, tmp_path / "out.zip", format) == made.lost
    written = {p.relative_to(tmp_path / "out").as_posix(): p.read_bytes()
               for p in (tmp_path / "out").rglob("*") if p.is_file()}  # fmt: skip
    assert written == made.files
    assert (tmp_path / "out.zip").read_bytes() == zipfile.content


def test_the_options_of_an_export_count_and_bad_ones_are_refused(
    client: TestClient, finished: str, run: str
) -> None:
    place = f"/v1/growth/{finished}/export"
    one = client.get(place, params={"packed": False}).json()
    short = client.get(place, params={"packed": False, "max_steps": 2}).json()
    assert len(short["files"]["chains.json"]) < len(one["files"]["chains.json"])
    for wrong in ({"format": "rdf"}, {"max_steps": 6}):
        assert client.get(place, params=wrong).status_code == 422


def test_a_run_without_a_graph_exports_nothing(client: TestClient, run: str) -> None:
    place = f"/v1/growth/{run}/export"
    assert client.get(place).status_code == 404
    assert client.get("/v1/growth/no-such-run/export").status_code == 404
