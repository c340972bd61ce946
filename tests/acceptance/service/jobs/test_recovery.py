"""A worker killed -9, stopped and resumed, or cancelled, in the middle: nothing is lost.

Real processes, a real Neo4j, the real small model. The worker is held in a stage by a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import neo4j
import psutil
import pytest

from support.commands import Cli, Mine
from support.serving import Service, Start, in_stage, serving, until
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.base.leases import MAX_CRASHES
from thinkeval.service.experiments import edit as store

REWRITE = "harry-potter--studied-at"
STAGES = ("probe pre", "edit", "probe post", "write")
SEEDS = {stage: 10 + number for number, stage in enumerate(STAGES)}


@pytest.fixture(scope="module")
def driver(server: dict[str, str]) -> Iterator[neo4j.Driver]:
    auth = (server["THINKEVAL_NEO4J_USER"], server["THINKEVAL_NEO4J_PASSWORD"])
    with neo4j.GraphDatabase.driver(server["THINKEVAL_NEO4J_URI"], auth=auth) as connected:
        yield connected


@pytest.fixture(scope="module")
def service(start: Start) -> Iterator[Service]:
    with start(holding_workers=True) as running:
        running.ready()
        yield running


def post(service: Service, mine: Mine, **more: object) -> str:
    body = {"graph": mine.graph, "model": mine.model, "rewrite": REWRITE, "samples": 2}
    return service.post(**(body | more))["id"]


@pytest.mark.parametrize("stage", STAGES)
def test_a_worker_killed_in_the_middle_is_replaced_and_the_edit_is_scored(
    db: Database, service: Service, mine: Mine, stage: str
) -> None:
    with service.held(stage):
        # A seed of its own makes it an edit that nobody has scored.
        edit = post(service, mine, seed=SEEDS[stage])
        in_stage(db, edit, stage)
        for worker in service.workers():
            worker.kill()
    told = service.ended(edit)
    assert (told["status"], told["attempts"]) == ("succeeded", 2), told
    assert told["result"]["edit"] == told["id"]
    found = db.read(rows.PageEditRow, "edits/page_edits", dataset=mine.graph, limit=1000)
    assert [row.id for row in found].count(told["id"]) == 1
    assert service.get(f"/v1/edits/{edit}/chains")["total"] > 50


def test_the_score_after_a_kill_is_the_score_without_one(
    db: Database, service: Service, mine: Mine, thinkeval: Cli
) -> None:
    """An edit that was begun twice, scored again by the command line, gives the same numbers."""
    edit = post(service, mine, seed=SEEDS["probe pre"])  # the first one above
    told = service.ended(edit)
    done = thinkeval(
        "score", REWRITE, "-g", mine.graph, "--model", mine.model, "--samples", "2",
        "--seed", str(SEEDS["probe pre"]), "--force", "--json",
    )  # fmt: skip
    again = done.json[0]
    assert again["edit"] == told["id"]
    assert [exact(value) for value in again["values"]] == [
        exact(value) for value in told["result"]["values"]
    ]


def exact(value: dict[str, Any]) -> dict[str, Any]:
    """A value of a score; the server adds up in the order it finds facts, hence the last bits."""
    return value | {
        key: pytest.approx(value[key], rel=1e-12, abs=1e-15)
        for key in ("value", "low", "high")
        if value[key] is not None
    }


def test_an_edit_that_kills_its_worker_every_time_fails_with_the_reason(
    db: Database, service: Service, mine: Mine
) -> None:
    # At the start: no worker takes the seconds to import torch only to be killed.
    with service.held("starting"):
        edit = post(service, mine, seed=20)
        for attempt in range(1, MAX_CRASHES + 1):
            until(lambda n=attempt: at_work(db, edit, n, "starting"))
            for worker in until(service.workers):
                worker.kill()
        told = service.ended(edit)
    assert (told["status"], told["attempts"]) == ("failed", MAX_CRASHES)
    assert told["error"] == "The worker process exited unexpectedly (killed or crashed)."
    assert told["remedy"]
    assert service.http.get(f"/v1/edits/{edit}/chains").status_code == 404


def at_work(db: Database, edit: str, attempt: int, stage: str) -> bool:
    job = store.job_of(db, edit)
    return (job.status, job.attempts, job.stage) == ("running", attempt, stage)


def test_cancelling_a_running_edit_takes_a_moment_and_leaves_the_worker_fit(
    db: Database, service: Service, mine: Mine
) -> None:
    with service.held("probe post"):
        edit = post(service, mine, seed=30)
        in_stage(db, edit, "probe post")
        assert service.http.post(f"/v1/edits/{edit}/cancel").status_code == 202
        told = service.ended(edit, 30)
    assert (told["status"], told["result"]) == ("cancelled", None)
    graphs = {row.graph for row in db.read(rows.GraphRow, "graph/list_graphs", incomplete=True)}
    assert told["id"] not in graphs
    # The same worker scores the next one, and the cancelled one when it is asked for again.
    workers = {worker.pid for worker in service.workers()}
    assert service.ended(post(service, mine, seed=31))["status"] == "succeeded"
    assert {worker.pid for worker in service.workers()} == workers


def short(environment: dict[str, str], mine: Mine) -> dict[str, str]:
    """The environment of a service of two workers, whose leases last ten seconds."""
    return environment | {
        "THINKEVAL_MODEL_DIRS": str(Path(mine.model).parent),
        "THINKEVAL_LEASE_S": "10",
        "THINKEVAL_STOP_GRACE_S": "4",
        "THINKEVAL_WORKERS": "2",
    }


@pytest.fixture(scope="module")
def short_leases(
    db: Database,
    environment: dict[str, str],
    mine: Mine,
    service: Service,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Service]:
    """A service of two workers, whose leases last ten seconds; both have the model loaded.

    The other service is stopped: its worker would claim from the same queue.
    """
    service.stop()
    with serving(
        short(environment, mine), tmp_path_factory.mktemp("short"), holding_workers=True
    ) as running:
        running.ready()
        # Each worker has loaded torch before a lease is tested: on a busy machine that may starve
        # the heartbeat for seconds. Two edits held in a stage at once are held by two workers.
        with running.held("write"):
            first = [post(running, mine, seed=90 + n, method="none") for n in range(2)]
            until(lambda: all(store.job_of(db, one).stage == "write" for one in first))
        assert [running.ended(one)["status"] for one in first] == ["succeeded"] * 2
        yield running


def worker_of(db: Database, edit: str) -> psutil.Process:
    """The worker process that scores an edit."""
    job = store.job_of(db, edit).id

    def look() -> psutil.Process | None:
        pids = [
            row.pid for row in db.read(rows.WorkerRow, "jobs/workers") if row.job == job and row.pid
        ]
        return psutil.Process(pids[0]) if pids else None

    return until(look)


def everything(driver: neo4j.Driver, edit: str) -> list[Any]:
    """The record of an edit with its graph, property by property."""
    found, _, _ = driver.execute_query(
        "MATCH (n) WHERE n.id = $id OR n.key STARTS WITH $id + '|' OPTIONAL MATCH (n)-[r]->(m)"
        " WITH elementId(n) AS node, elementId(r) AS link, properties(n) AS n, properties(r) AS r"
        " RETURN node, link, n, r ORDER BY node, link",
        id=edit,
    )
    return [record.values() for record in found]


@pytest.mark.parametrize("stage", ["edit", "write"])
def test_a_service_that_was_stopped_and_resumes_overwrites_nothing(
    db: Database,
    driver: neo4j.Driver,
    short_leases: Service,
    environment: dict[str, str],
    mine: Mine,
    stage: str,
    tmp_path: Path,
) -> None:
    """Stopped with its workers, as a machine that sleeps: another service takes its edit over."""
    service = short_leases
    with service.held(stage):
        edit = post(service, mine, seed=60 + len(stage))
        in_stage(db, edit, stage)
        asleep = [*service.workers(), psutil.Process(service.process.pid)]
        for process in asleep:
            process.suspend()
    try:
        with serving(short(environment, mine), tmp_path) as other:
            told = other.ended(edit)
        assert (told["status"], told["attempts"]) == ("succeeded", 1), told  # nobody crashed
        before = everything(driver, told["id"])
        lost = service.text.count("is not ours any more")
    finally:
        for process in asleep:
            process.resume()
    until(lambda: service.text.count("is not ours any more") == lost + 1)
    assert everything(driver, told["id"]) == before
    assert all(process.is_running() for process in asleep)  # and they are fit for the next
    more = [post(service, mine, seed=70 + len(stage) + n, method="none") for n in range(4)]
    assert [service.ended(each)["status"] for each in more] == ["succeeded"] * 4


def test_a_worker_that_hangs_is_replaced_when_its_lease_ends(
    db: Database, short_leases: Service, mine: Mine
) -> None:
    service = short_leases
    with service.held("edit"):
        edit = post(service, mine, seed=85)
        in_stage(db, edit, "edit")
        hung = worker_of(db, edit)
        hung.suspend()
    told = service.ended(edit)
    assert (told["status"], told["attempts"]) == ("succeeded", 2), told
    assert psutil.wait_procs([hung], 30)[1] == []


def test_a_worker_that_does_not_stop_is_killed(
    db: Database, short_leases: Service, mine: Mine
) -> None:
    service = short_leases
    with service.held("probe pre"):
        edit = post(service, mine, seed=80)
        in_stage(db, edit, "probe pre")
        stuck = worker_of(db, edit)
        stuck.suspend()  # it can do nothing, not even exit
        assert service.http.post(f"/v1/edits/{edit}/cancel").status_code == 202
        assert service.ended(edit, 60)["status"] == "cancelled"
    assert psutil.wait_procs([stuck], 30)[1] == []  # before its lease had expired
    assert service.ended(post(service, mine, seed=81))["status"] == "succeeded"
