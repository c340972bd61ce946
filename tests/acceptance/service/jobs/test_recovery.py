"""A worker killed -9, or told to stop, in the middle of the work: nothing is lost.

Real processes, a real Neo4j, the real small model. An edit is caught in a stage by asking the
database how it stands.
"""

from __future__ import annotations

from typing import Any

import psutil
import pytest

from support.commands import Cli, Mine
from support.serving import Service, in_stage, until
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.jobs import queue, recovery

REWRITE = "harry-potter--studied-at"
STAGES = ("probe pre", "edit", "probe post", "write")
SEEDS = {stage: 10 + number for number, stage in enumerate(STAGES)}


def post(service: Service, mine: Mine, **more: object) -> str:
    body = {"graph": mine.graph, "model": mine.model, "rewrite": REWRITE, "samples": 10}
    return service.post(**(body | more))["id"]


@pytest.mark.parametrize("stage", STAGES)
def test_a_worker_killed_in_the_middle_is_replaced_and_the_edit_is_scored(
    db: Database, service: Service, mine: Mine, stage: str
) -> None:
    edit = killed_in(db, service, mine, stage)
    told = service.ended(edit)
    assert (told["status"], told["attempts"]) == ("succeeded", 2), told
    assert told["score"]["edit"] == told["id"]
    found = db.read(rows.PageEditRow, dataset=mine.graph, limit=1000)
    assert [row.id for row in found].count(told["id"]) == 1
    assert service.get(f"/v1/edits/{edit}/chains")["total"] > 50


def killed_in(db: Database, service: Service, mine: Mine, stage: str) -> str:
    """An edit whose worker was killed while it was in that stage.

    A seed of its own makes it an edit that nobody has scored. Some stages last a fraction of a
    second: a kill that came after the end of the whole edit shows nothing, and another is tried.
    """
    for attempt in range(5):
        edit = post(service, mine, seed=SEEDS[stage] + 100 * attempt)
        in_stage(db, edit, stage)
        workers = service.workers()
        for worker in workers:
            worker.kill()
        psutil.wait_procs(workers, timeout=30)
        if queue.job_of(db, edit).status != "succeeded":
            return edit
    raise AssertionError(f"five edits were through before anybody saw them in {stage!r}")


def test_the_score_after_a_kill_is_the_score_without_one(
    db: Database, service: Service, mine: Mine, thinkeval: Cli
) -> None:
    """An edit that was begun twice, scored again by the command line, gives the same numbers."""
    edit = post(service, mine, seed=SEEDS["probe pre"])  # the first one above
    told = service.ended(edit)
    done = thinkeval(
        "score", REWRITE, "-g", mine.graph, "--model", mine.model, "--samples", "10",
        "--seed", str(SEEDS["probe pre"]), "--force", "--json",
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
        until(lambda n=attempt: queue.job_of(db, edit).attempts == n, pause_s=0.005)
        until(lambda: queue.job_of(db, edit).status == "running", pause_s=0.005)
        for worker in until(service.workers):
            worker.kill()
        until(lambda: queue.job_of(db, edit).status != "running", pause_s=0.005)
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
