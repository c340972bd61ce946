"""What is killed -9 in the middle of the work: the worker, the service, Neo4j. Nothing is lost.

Real processes, a real Neo4j, the real small model. An edit is caught in a stage by asking the
database how it stands.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from serving import Service, serving, until

from conftest import PROGRAM, Cli, Mine
from cypher import rows
from cypher.run import Database
from service import recovery
from service.settings import Settings

REWRITE = "harry-potter--studied-at"
STAGES = ("probe pre", "edit", "probe post", "write")


@pytest.fixture(scope="module")
def env(environment: dict[str, str], mine: Mine) -> dict[str, str]:
    return environment | {"THINKEVAL_MODEL_DIRS": str(Path(mine.model).parent)}


@pytest.fixture(scope="module")
def start(env: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Callable[[], object]:
    return partial(serving, PROGRAM, env, tmp_path_factory.mktemp("serve"))


@pytest.fixture(scope="module")
def service(start: Callable[[], Iterator[Service]]) -> Iterator[Service]:
    with start() as running:  # type: ignore[attr-defined]
        running.ready()
        yield running


def post(service: Service, mine: Mine, **more: object) -> str:
    body = {"graph": mine.graph, "model": mine.model, "rewrite": REWRITE, "samples": 10}
    return service.post(**(body | more))["id"]


def in_stage(db: Database, edit: str, stage: str) -> None:
    """Wait until the edit has entered a stage: the record of it is kept with the edit."""
    until(
        lambda: any(
            f'"stage": "{stage}"' in told for told in db.read(rows.EditJobRow, id=edit)[0].events
        ),
        pause_s=0.005,
    )


@pytest.mark.parametrize("stage", STAGES)
def test_a_worker_killed_in_the_middle_is_replaced_and_the_edit_is_scored(
    db: Database, service: Service, mine: Mine, stage: str
) -> None:
    # A seed of its own makes it an edit that nobody has scored.
    edit = post(service, mine, seed=10 + STAGES.index(stage))
    in_stage(db, edit, stage)
    for worker in service.workers():
        worker.kill()
    told = service.ended(edit)
    assert (told["status"], told["attempts"]) == ("succeeded", 2), told
    assert told["score"]["edit"] == told["id"]
    found = db.read(rows.PageEditRow, dataset=mine.graph, limit=1000)
    assert [row.id for row in found].count(told["id"]) == 1
    assert service.get(f"/v1/edits/{edit}/chains")["total"] > 50


def test_the_score_after_a_kill_is_the_score_without_one(
    db: Database, service: Service, mine: Mine, thinkeval: Cli
) -> None:
    """An edit that was begun twice, scored again by the command line, gives the same numbers."""
    edit = post(service, mine, seed=10)  # the first one above
    told = service.ended(edit)
    done = thinkeval(
        "score", REWRITE, "-g", mine.graph, "--model", mine.model, "--samples", "10",
        "--seed", "10", "--force", "--json",
    )  # fmt: skip
    again = done.json[0]
    assert again["edit"] == told["id"]
    assert [exact(value) for value in again["values"]] == [
        exact(value) for value in told["score"]["values"]
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
    edit = post(service, mine, seed=20)
    for attempt in range(1, recovery.MAX_ATTEMPTS + 1):
        until(lambda n=attempt: db.read(rows.EditJobRow, id=edit)[0].attempts == n, pause_s=0.005)
        until(lambda: db.read(rows.EditJobRow, id=edit)[0].status == "running", pause_s=0.005)
        for worker in until(service.workers):
            worker.kill()
        until(lambda: db.read(rows.EditJobRow, id=edit)[0].status != "running", pause_s=0.005)
    told = service.ended(edit)
    assert told["status"] == "failed"
    assert "killed" in told["error"]
    assert told["remedy"]
    assert service.http.get(f"/v1/edits/{edit}/score").status_code == 404


def test_cancelling_a_running_edit_takes_a_moment_and_leaves_the_worker_fit(
    db: Database, service: Service, mine: Mine
) -> None:
    edit = post(service, mine, seed=30, samples=100)
    in_stage(db, edit, "probe pre")
    assert service.http.post(f"/v1/edits/{edit}/cancel").status_code == 202
    told = service.ended(edit, 30)
    assert (told["status"], told["score"]) == ("cancelled", None)
    graphs = {row.graph for row in db.read(rows.GraphRow, incomplete=True)}
    assert told["id"] not in graphs
    # The same worker scores the next one, and the cancelled one when it is asked for again.
    workers = {worker.pid for worker in service.workers()}
    assert service.ended(post(service, mine, seed=31))["status"] == "succeeded"
    assert {worker.pid for worker in service.workers()} == workers


def test_a_killed_service_takes_its_workers_along_and_the_next_one_goes_on(
    db: Database, start: Callable[[], Iterator[Service]], mine: Mine
) -> None:
    with start() as first:  # type: ignore[attr-defined]
        first.ready()
        edits = [post(first, mine, seed=seed, method="none") for seed in range(40, 44)]
        in_stage(db, edits[0], "probe pre")
        workers = first.workers()
        first.process.kill()
        _, alive = psutil.wait_procs(workers, timeout=30)
        assert alive == []
        first.process.wait()
    with start() as second:  # type: ignore[attr-defined]
        second.ready()
        assert [second.ended(edit)["status"] for edit in edits] == ["succeeded"] * 4
        assert max(second.get(f"/v1/edits/{edit}")["attempts"] for edit in edits) <= 2


def test_a_service_that_ends_in_good_order_puts_its_edit_back(
    db: Database, start: Callable[[], Iterator[Service]], mine: Mine
) -> None:
    with start() as first:  # type: ignore[attr-defined]
        first.ready()
        edit = post(first, mine, seed=50, samples=100)
        in_stage(db, edit, "probe pre")
        assert first.stop(signal.SIGTERM) in (0, -signal.SIGTERM)
    job = db.read(rows.EditJobRow, id=edit)[0]
    assert (job.status, job.attempts) == ("queued", 0)
    with start() as second:  # type: ignore[attr-defined]
        second.ready()
        assert second.ended(edit)["status"] == "succeeded"


@pytest.fixture(scope="module")
def own_home(test_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An installation with an embedded Neo4j of its own, which may be killed."""
    return {
        "THINKEVAL_NEO4J_URI": "",
        "THINKEVAL_HOME": str(tmp_path_factory.mktemp("own-home")),
        "THINKEVAL_CACHE": str(test_settings.cache),
        "OMP_NUM_THREADS": "1",
    }


def test_a_killed_database_comes_back_and_every_edit_ends(
    own_home: dict[str, str], mine: Mine, tmp_path: Path
) -> None:
    allowed = own_home | {"THINKEVAL_MODEL_DIRS": str(Path(mine.model).parent)}
    with serving(PROGRAM, allowed, tmp_path) as service:
        service.ready()
        service.post("/v1/graphs/import", source="hogwarts")
        edits = []
        for number, stage in enumerate(("probe pre", "edit", "write")):
            edit = service.post(
                graph="hogwarts", model=mine.model, rewrite=REWRITE, seed=number, samples=10
            )["id"]
            edits.append(edit)
            until(
                lambda e=edit, s=stage: s in service.get(f"/v1/edits/{e}")["stage"], pause_s=0.005
            )
            os.kill(database_process(own_home), signal.SIGKILL)
            refused = until(lambda: unavailable(service))
            assert refused["remedy"]
            service.ready()
            told = service.ended(edit)
            assert told["status"] == "succeeded" or told["error"], told
            if told["status"] == "failed":
                assert service.post(
                    graph="hogwarts", model=mine.model, rewrite=REWRITE, seed=number, samples=10
                )
        for edit in edits:
            told = service.ended(edit)
            assert told["status"] == "succeeded", (told, service.text)
        assert service.get("/v1/edits")["total"] == len(edits)
        graphs = service.get("/v1/graphs", kind="edit")["items"]
        assert {graph["id"] for graph in graphs} == {
            service.get(f"/v1/edits/{edit}")["id"] for edit in edits
        }
    stop_database(own_home)


def database_process(env: dict[str, str]) -> int:
    home = env["THINKEVAL_HOME"]
    found = [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if "java" in (process.info["cmdline"] or [""])[0]
        and any(home in part for part in process.info["cmdline"])
    ]
    assert len(found) == 1, found
    return found[0]


def unavailable(service: Service) -> dict[str, str] | None:
    answer = service.http.get("/v1/edits")
    assert answer.status_code in (200, 503), answer.text
    return answer.json() if answer.status_code == 503 else None


def stop_database(env: dict[str, str]) -> None:
    subprocess.run([str(PROGRAM), "db", "stop"], env=os.environ | env, check=True, timeout=120)
