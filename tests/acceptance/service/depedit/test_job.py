"""Runs of the protocol over REST as a user has them: posted, watched, cancelled, and survived.

Real processes, a real Neo4j, the organism of `atlas` (trained once and cached by content).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from support.commands import Cli
from support.own_graphs import ATLAS_ORGANISM, own_graphs
from support.serving import ENDED, Service, Start, until
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.base.leases import MAX_CRASHES
from thinkeval.service.client.http import ProblemError
from thinkeval.service.client.rest import Client
from thinkeval.service.depedit import store
from thinkeval.service.depedit.kind import DEPEDIT
from thinkeval.service.depedit.sets import SetOptions, build
from thinkeval.service.experiments import queue
from thinkeval.service.graphs import datasets
from thinkeval.service.scoring.runtime import Runtime

GRAPH = "atlas"
LONG = {"num_steps": 100_000, "stop_loss": 0.0}
"""Fine-tuning that goes on until it is stopped."""
QUICK = {"num_steps": 10}


@pytest.fixture(scope="module")
def service(start: Start) -> Iterator[Service]:
    with start(holding_workers=True) as running:
        running.ready()
        yield running


@pytest.fixture(scope="module")
def sets(db: Database, runtime: Runtime) -> Iterator[list[str]]:
    """Two small sets; the model is trained before anybody is in a hurry."""
    datasets.get_or_import(runtime.db, GRAPH)
    runtime.train(ATLAS_ORGANISM, GRAPH)
    drawn = SetOptions(
        init="shuffled", facts=6, unrelated=2, implications=3, copies=2, updates=3, seed=4
    )
    with own_graphs(db) as prefix:
        made = [
            replace(one, id=f"{prefix}-{number}")
            for number, one in enumerate(build(db, GRAPH, drawn).sets[:2])
        ]
        for one in made:
            store.save_set(db, one)
        yield [one.id for one in made]
        for one in made:
            store.delete_set(db, one.id)
        for job in db.read(rows.PageJobRow, "jobs/page", kind=DEPEDIT.name, limit=1000):
            if prefix in (job.request or ""):
                db.write(int, "jobs/delete", id=job.id)
        for row in db.read(rows.ExperimentRow, "experiments/page", kind=DEPEDIT.name, limit=1000):
            if prefix in row.request:
                db.write(rows.DeleteExperimentRow, "experiments/delete", id=row.id)


def post(service: Service, sets: list[str], *strategies: str, **more: Any) -> dict[str, Any]:
    """The job as it was accepted."""
    body = {"sets": sets, "strategies": list(strategies), "model": ATLAS_ORGANISM} | more
    answer = service.http.post("/v1/protocols", json=body)
    assert answer.status_code == 202, answer.text
    told = answer.json()
    assert answer.headers["location"] == f"/v1/protocols/{told['id']}"
    return told


def ended(service: Service, job: str, timeout_s: float = 400) -> dict[str, Any]:
    """The job once it has ended."""

    def look() -> dict[str, Any] | None:
        told = service.get(f"/v1/protocols/{job}")
        return told if told["status"] in ENDED else None

    return until(look, timeout_s)


def row_of(db: Database, job: str) -> rows.JobRow:
    found = queue.find(db, DEPEDIT.name, job)
    assert found is not None
    return found


def numbers(methods: list[dict[str, Any]]) -> dict[str, float]:
    """Every defined number of the tables by method, metric and name."""
    return {
        f"{row['method']} {part} {metric} {name}": value
        for row in methods
        for part in ("means", "gains")
        for metric, mean in row[part].items()
        for name, value in mean.items()
        if value is not None
    }


def in_stage(db: Database, job: str, words: str) -> None:
    """Wait until it is at something, as the worker's beat tells."""
    until(lambda: words in (row_of(db, job).stage or ""))


def released(db: Database, job: str, attempt: int) -> bool:
    """Return True if an attempt is over; the next one may be under way already."""
    row = row_of(db, job)
    return row.status != "running" or row.attempts > attempt


def answers(db: Database, run: str) -> dict[str, str]:
    return {row.question: row.answer for row in store.answers_of(db, run)}


def test_runs_are_done_watched_and_equal_to_the_command_lines(
    db: Database, service: Service, sets: list[str], thinkeval: Cli
) -> None:
    names = ("random", "base", "finetune", "forwchain")
    told = post(service, sets, *names, overrides=QUICK)
    assert (told["total"], told["parts"], told["request"]["sets"]) == (8, [], sets)
    wrapped = ["random", "base", "finetune", "finetune+forwchain"]
    assert told["request"]["strategies"] == wrapped
    assert (
        post(service, sets, *names, overrides=QUICK)["id"] == told["id"]
    )  # the same post is the same job
    seen: list[tuple[float, str]] = []

    def look() -> dict[str, Any] | None:
        now = service.get(f"/v1/protocols/{told['id']}")
        seen.append((now["progress"], now["stage"] or ""))
        return now if now["status"] in ENDED else None

    done = until(look, 400, 0.02)
    assert (done["status"], done["error"], done["attempts"]) == ("succeeded", None, 1), done
    assert (len(done["parts"]), done["progress"], done["stage"]) == (8, 1.0, "done")
    result = done["result"]
    assert result["runs"] == done["parts"]
    assert [each for each, _ in seen] == sorted(each for each, _ in seen)
    assert any(words.startswith("set 1 of 2: ") for _, words in seen)
    assert any(words.startswith("set 2 of 2: finetune") for _, words in seen)
    kept = row_of(db, told["id"]).events
    assert sum("set 1 of 2: base" in event for event in kept) == 2, "begun, and stored"
    by_rest = {run: answers(db, run) for run in result["runs"]}
    again = thinkeval(
        "lab", "depedit", "run", *sets, *(word for name in names for word in ("-s", name)),
        "--force",
        "--set", "num_steps=10", "--model", ATLAS_ORGANISM, "--json",
    ).json  # fmt: skip
    assert again["runs"] == result["runs"]
    assert not again["reused"]
    first, second = (numbers(each["methods"]) for each in (result, again))
    assert len(first) > 4 * 7
    # Sets are added up in the order of their runs, which decides the last digit.
    assert second == pytest.approx(first, rel=1e-9)
    assert {run: answers(db, run) for run in result["runs"]} == by_rest
    # All is stored now: posted again it is there at once, and a larger job does only the rest.
    body = {"sets": sets, "strategies": names, "model": ATLAS_ORGANISM, "overrides": QUICK}
    answer = service.http.post("/v1/protocols", json=body)
    assert (answer.status_code, answer.json()["id"]) == (200, told["id"])
    more = ended(service, post(service, sets[:1], "base", "backchain", overrides=QUICK)["id"])
    reused = [event for event in row_of(db, more["id"]).events if "stored before" in event]
    assert len(reused) == 1
    # Where a run was deleted, the same post makes it anew.
    assert service.http.delete(f"/v1/depedit/runs/{result['runs'][0]}").status_code == 204
    anew = post(service, sets, *names, overrides=QUICK)
    assert anew["id"] == told["id"]
    assert ended(service, anew["id"])["result"]["runs"] == result["runs"]


def test_a_worker_killed_in_the_middle_does_no_run_twice(
    db: Database, service: Service, sets: list[str]
) -> None:
    # A seed of its own makes them runs that nobody did; forced, what is stored would be done again.
    with service.held("finetune: establishing"):
        job = post(service, sets, "base", "finetune", seed=11, force=True, overrides=QUICK)["id"]
        in_stage(db, job, "finetune: establishing")
        (first,) = row_of(db, job).parts
        stored = {row.id: row.created_at for row in store.list_runs(db, sets=sets)}
        for worker in service.workers():
            worker.kill()
    told = ended(service, job)
    assert (told["status"], told["attempts"], len(told["parts"])) == ("succeeded", 2, 4), told
    after = {row.id: row.created_at for row in store.list_runs(db, sets=sets)}
    assert after[first] == stored[first]


def test_a_job_that_kills_its_worker_every_time_fails_with_the_reason(
    db: Database, service: Service, sets: list[str]
) -> None:
    stage = "finetune: establishing"
    with service.held(stage):
        job = post(service, sets[:1], "base", "finetune", seed=12)["id"]
        # The first attempt stores a run: the crashes after it count. The others are killed at the
        # start, before they have imported torch.
        for attempt in range(1, MAX_CRASHES + 1):
            until(lambda n=attempt: row_of(db, job).attempts == n)
            in_stage(db, job, stage)
            service.hold(stage, "starting")
            stage = "starting"
            for worker in until(service.workers):
                worker.kill()
            until(lambda n=attempt: released(db, job, n))
        told = ended(service, job)
    assert (told["status"], len(told["parts"])) == ("failed", 1)
    assert "killed" in told["error"]
    assert told["remedy"]


def test_cancelling_takes_a_moment_keeps_what_is_stored_and_leaves_the_worker_fit(
    db: Database, service: Service, sets: list[str]
) -> None:
    job = post(service, sets[:1], "base", "finetune", seed=13, overrides=LONG)["id"]
    waiting = post(service, sets[:1], "base", seed=14)["id"]
    in_stage(db, job, "finetune: establishing")
    workers = {worker.pid for worker in service.workers()}
    ready = service.get("/ready")
    assert ready["jobs"]["running"] == 1
    assert job in {each["job"] for each in ready["workers"]}
    assert service.http.delete(f"/v1/protocols/{waiting}").status_code == 409
    assert service.http.post(f"/v1/protocols/{waiting}/cancel").status_code == 202
    assert ended(service, waiting)["status"] == "cancelled"
    assert service.http.post(f"/v1/protocols/{job}/cancel").status_code == 202
    told = ended(service, job, 30)
    assert (told["status"], len(told["parts"])) == ("cancelled", 1)
    assert store.answers_of(db, told["parts"][0])
    # The same worker does the next one, which finds what was stored.
    again = ended(service, post(service, sets[:1], "base", seed=13, overrides=LONG)["id"])
    assert (again["status"], again["result"]["runs"]) == ("succeeded", told["parts"])
    assert {worker.pid for worker in service.workers()} == workers
    assert service.http.delete(f"/v1/protocols/{job}").status_code == 204
    assert service.http.get(f"/v1/protocols/{job}").status_code == 404
    assert store.answers_of(db, told["parts"][0])  # runs are results of their own


def test_a_run_that_cannot_be_done_fails_with_words_and_keeps_the_ones_before(
    service: Service, sets: list[str]
) -> None:
    job = post(service, sets[:1], "base", "finetune", seed=15, overrides={"layers": [900]})["id"]
    told = ended(service, job)
    assert (told["status"], len(told["parts"]), told["attempts"]) == ("failed", 1, 1)
    assert "900" in told["error"]
    assert told["remedy"]
    assert "finetune" in told["stage"]


def test_from_a_notebook(service: Service, sets: list[str]) -> None:
    told: list[tuple[str, float]] = []
    with Client(service.url) as te:
        assert set(sets) <= set(te.depedit.sets(GRAPH)["id"])
        job = te.depedit.run(
            sets,
            strategies=["base", "finetune"],
            model=ATLAS_ORGANISM,
            seed=18,
            overrides=QUICK,
            progress=lambda *now: told.append(now),
        )
        assert len(job.runs) == 4
        assert told[-1] == ("done", 1.0)
        assert job.id in set(te.experiments.list("protocols")["id"])
        facts = te.experiments.table("protocols", job.id, "specificity")
        assert list(facts["Method"]) == ["base", "finetune"]
        runs = te.depedit.runs(GRAPH, knowledge_set=sets[0])
        assert set(job.runs[:2]) <= set(runs["id"])
        said = te.depedit.answers(job.runs[1])
        assert len(said) == runs.set_index("id").loc[job.runs[1], "n_answers"]
        assert said.attrs["metrics"]["est_s"]["n"] == 6
        table = te.depedit.report(GRAPH)
        row = table[(table["method"] == "finetune") & (table["n_specific"] == 6)].iloc[0]
        assert row["n_est_s"] >= 2
        again = {"strategies": ["finetune"], "model": ATLAS_ORGANISM, "seed": 18}
        with pytest.raises(ProblemError, match="no_such"):
            te.depedit.run(sets[:1], **again, overrides={"no_such": 1})
        with pytest.raises(ProblemError, match="Did you mean 'memit"):
            te.depedit.run(sets[:1], strategies=["memitt"])
        with pytest.raises(TimeoutError, match=r"after 0\.1 s"):
            te.depedit.run(sets[:1], **again, overrides=LONG, timeout=0.1)
        late = te.experiments.list("protocols")["id"][0]
        assert te.experiments.cancel("protocols", late) in ("running", "cancelled")
    assert ended(service, late, 30)["status"] == "cancelled"


def test_edits_and_jobs_wait_in_one_row(
    db: Database, service: Service, sets: list[str], mine: Any
) -> None:
    """An edit that was posted after a job, of another model, is scored after it."""
    first = post(service, sets, "base", seed=16)["id"]
    edit = service.post(
        graph=mine.graph, model=mine.model, rewrite="harry-potter--studied-at", method="none",
        samples=0,
    )["id"]  # fmt: skip
    last = post(service, sets, "base", seed=17)["id"]
    ends = [ended(service, first), service.ended(edit), ended(service, last)]
    assert [each["status"] for each in ends] == ["succeeded"] * 3
    moments = [each["finished_at"] for each in ends]
    assert moments[0] < moments[1]
