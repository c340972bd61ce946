"""The service killed or ended, and Neo4j killed, in the middle of the work: the next start goes on.

Real processes, a real Neo4j, the real small model. No service outlives its test here: two that
share a database would take each other's edits.
"""

from __future__ import annotations

import os
import signal
import subprocess
from functools import partial
from pathlib import Path

import psutil
import pytest

from support.commands import PROGRAM, Mine
from support.serving import Service, Start, in_stage, serving, until
from thinkeval.cypher.run import Database
from thinkeval.service.base.settings import Settings
from thinkeval.service.experiments import edit as store

REWRITE = "harry-potter--studied-at"


def post(service: Service, mine: Mine, **more: object) -> str:
    body = {"graph": mine.graph, "model": mine.model, "rewrite": REWRITE, "samples": 1}
    return service.post(**(body | more))["id"]


def test_a_service_killed_and_one_that_ends_are_followed_by_one_that_goes_on(
    db: Database, start: Start, mine: Mine
) -> None:
    """Three services in a row: the first is killed, the second ends in good order."""
    with start(holding_workers=True) as first:
        first.ready()
        with first.held("starting"):
            edits = [post(first, mine, seed=seed, method="none") for seed in range(40, 44)]
            in_stage(db, edits[0], "starting")
            workers = first.workers()
            first.process.kill()
            _, alive = psutil.wait_procs(workers, timeout=30)
        assert alive == []
        first.process.wait()
    with start(holding_workers=True) as second:
        second.ready()
        assert [second.ended(edit)["status"] for edit in edits] == ["succeeded"] * 4
        # The service's death is no fault of the edit.
        assert {second.get(f"/v1/edits/{edit}")["attempts"] for edit in edits} == {1}
        with second.held("probe pre"):
            edit = post(second, mine, seed=50)
            in_stage(db, edit, "probe pre")
            assert second.stop(signal.SIGTERM) in (0, -signal.SIGTERM)
    # It puts its edit back.
    job = store.job_of(db, edit)
    assert (job.status, job.attempts) == ("queued", 0)
    with start() as third:
        third.ready()
        assert third.ended(edit)["status"] == "succeeded"


@pytest.fixture(scope="module")
def own_home(test_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An installation with an embedded Neo4j of its own, which may be killed."""
    return {
        "THINKEVAL_NEO4J_URI": "",
        "THINKEVAL_BROWSER_URL": "",
        "THINKEVAL_HOME": str(tmp_path_factory.mktemp("own-home")),
        "THINKEVAL_CACHE": str(test_settings.cache),
        "OMP_NUM_THREADS": "1",
    }


def test_a_killed_database_comes_back_and_every_edit_ends(
    own_home: dict[str, str], mine: Mine, tmp_path: Path
) -> None:
    """It is killed once, under three workers: one probes, one edits, one writes its results.

    Without samples: what they add is computed by more queries, which a new server plans anew.
    """
    allowed = own_home | {"THINKEVAL_MODEL_DIRS": str(Path(mine.model).parent)}
    stages = ("write", "edit", "probe pre")  # backwards, so that each edit gets to its own
    workers = "--workers", str(len(stages))
    with serving(allowed, tmp_path, *workers, holding_workers=True) as service:
        service.ready()
        service.post("/v1/graphs/import", source="hogwarts")
        post = partial(service.post, graph="hogwarts", model=mine.model, rewrite=REWRITE, samples=0)
        edits: list[str] = []
        with service.held(stages[0]):
            for seed, stage in enumerate(stages):
                service.hold(*stages[: seed + 1])
                edits.append(post(seed=seed)["id"])
                until(partial(reached, service, edits[-1], stage))
            for edit, stage in zip(edits, stages, strict=True):
                assert reached(service, edit, stage), service.get(f"/v1/edits/{edit}")
            os.kill(database_process(own_home), signal.SIGKILL)
            refused = until(lambda: unavailable(service))
        assert refused["remedy"]
        service.ready()
        for edit in edits:
            told = service.ended(edit)
            # The database's death is no fault of the edit.
            assert (told["status"], told["attempts"]) == ("succeeded", 1), (told, service.text)
        assert len(service.get("/v1/edits", limit=1000)["items"]) == len(edits)
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


def reached(service: Service, edit: str, stage: str) -> bool:
    return service.get(f"/v1/edits/{edit}")["stage"] == stage


def unavailable(service: Service) -> dict[str, str] | None:
    answer = service.http.get("/v1/edits")
    assert answer.status_code in (200, 503), answer.text
    return answer.json() if answer.status_code == 503 else None


def stop_database(env: dict[str, str]) -> None:
    subprocess.run([str(PROGRAM), "db", "stop"], env=os.environ | env, check=True, timeout=120)
