"""The engine `ray`: a sweep on two nodes, of which one is killed, has the numbers of one process.

Real Ray, in processes of this machine: a head and a second node, with token authentication.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from support.commands import Cli, Mine
from support.leaves import leaves
from support.serving import Service, serving, until
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.cli.crawl import MOST
from thinkeval.service.experiments import edit as store
from thinkeval.service.scoring import record

RAY = Path(sys.executable).with_name("ray")
pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(not RAY.exists(), reason="the extra `ray` is not installed"),
]

REWRITE = "harry-potter--studied-at"
PATIENCE_S = 400
"""An actor imports torch on a processor that it shares with two nodes of Ray."""
NODE = ("--block", "--num-cpus=1", "--object-store-memory=100000000", "--disable-usage-stats")


@dataclass
class Cluster:
    """Nodes of this machine, of one processor each, which know a token of the test's own."""

    env: dict[str, str]
    address: str
    nodes: list[psutil.Popen] = field(default_factory=list)

    def start(self, *options: str) -> None:
        """Start a node; the first one is the head."""
        self.nodes.append(
            psutil.Popen([str(RAY), "start", *options, *NODE], env=os.environ | self.env)
        )

    def kill(self, node: psutil.Popen) -> None:
        """Kill a node with everything that runs on it."""
        gone = [*node.children(recursive=True), node]
        for process in gone:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        node.wait(30)
        psutil.wait_procs(gone, 30)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A head and another node."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": uuid.uuid4().hex, "OMP_NUM_THREADS": "1",
             "RAY_worker_niceness": "0"}  # fmt: skip
    made = Cluster(token, f"127.0.0.1:{port}")
    try:
        made.start("--head", "--node-ip-address=127.0.0.1", f"--port={port}",
                   "--include-dashboard=false")  # fmt: skip
        until(lambda: _answers(port))
        made.start(f"--address={made.address}", "--node-ip-address=127.0.0.1",
                   "--labels=zone=second")  # fmt: skip
        yield made
    finally:
        for node in reversed(made.nodes):
            with suppress(psutil.NoSuchProcess):
                made.kill(node)


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@pytest.fixture(scope="module")
def service(
    cluster: Cluster,
    environment: dict[str, str],
    mine: Mine,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Service]:
    env = environment | cluster.env | {
        "THINKEVAL_MODEL_DIRS": str(Path(mine.model).parent),
        "THINKEVAL_WORKERS": "2",
        "THINKEVAL_ENGINE": "ray",
        "THINKEVAL_RAY_ADDRESS": cluster.address,
    }  # fmt: skip
    with serving(env, tmp_path_factory.mktemp("ray")) as running:
        running.ready()
        yield running


def test_an_address_where_nothing_listens_is_refused_at_once(thinkeval: Cli) -> None:
    """Ray itself tries for many minutes."""
    began = time.monotonic()
    done = thinkeval.process(
        "db", "fleet", "--engine", "ray", "--ray-address", "127.0.0.1:1", code=2
    )
    assert "nothing listens at 127.0.0.1:1" in done.err
    assert time.monotonic() - began < 120


def test_needs_that_no_node_has_are_refused_at_once(cluster: Cluster, thinkeval: Cli) -> None:
    """Ray itself would wait for ever."""
    asked = ["sweep", REWRITE, "-g", "hogwarts", "-m", "none", "--engine", "ray", "--ray-address",
             cluster.address]  # fmt: skip
    env = cluster.env | {"THINKEVAL_EXECUTOR_MEMORY_GB": "100000"}
    done = thinkeval.process(*asked, code=2, **env)
    assert "No node of the cluster has a CPU, 100000 GB of memory for an executor" in done.err
    env = cluster.env | {"THINKEVAL_EXECUTOR_LABELS": "zone=nowhere"}
    done = thinkeval.process(*asked, code=2, **env)
    assert "the label zone=nowhere" in done.err


def test_an_executor_runs_on_a_node_with_its_labels(
    cluster: Cluster, mine: Mine, thinkeval: Cli
) -> None:
    asked = ["sweep", REWRITE, "-g", mine.graph, "--model", mine.model, "-m", "none", "--samples",
             "0", "--seed", "130", "--json"]  # fmt: skip
    address = ("--engine", "ray", "--ray-address", cluster.address, "--workers", "1")
    env = {"THINKEVAL_EXECUTOR_LABELS": "zone=second", "THINKEVAL_EXECUTOR_MEMORY_GB": "0.5"}
    began = thinkeval.start(*asked, *address, **cluster.env, **env)
    (actor,) = until(lambda: _actors(cluster), PATIENCE_S)
    assert cluster.nodes[1] in actor.parents()
    out, err = began.communicate(timeout=PATIENCE_S)
    assert began.returncode == 0, err
    assert json.loads(out)["edits"]


def test_the_fleet_has_two_nodes_that_pass_each_check(cluster: Cluster, thinkeval: Cli) -> None:
    asked = ["db", "fleet", "--engine", "ray", "--ray-address", cluster.address, "--check"]

    def look() -> dict[str, Any] | None:
        found = json.loads(thinkeval.process(*asked, "--json", **cluster.env).out)
        return found if len(found["nodes"]) == 2 else None

    found = until(look, PATIENCE_S)
    assert [node["cpus"] for node in found["nodes"]] == [1, 1]
    checks = [each["check"] for each in found["checks"]]
    assert checks.count("device") == checks.count("neo4j server") == 2
    assert all(each["ok"] for each in found["checks"]), found["checks"]
    assert (found["queued"], found["minutes_left"]) == (0, 0.0)


def test_a_sweep_of_the_command_line_survives_a_killed_actor(
    db: Database, cluster: Cluster, mine: Mine, thinkeval: Cli
) -> None:
    """Two actors on two nodes; one is killed in mid-edit. The numbers are those of one process."""
    asked = ["sweep", REWRITE, "-g", mine.graph, "--model", mine.model, "-m", "none", "-m", "memit",
             "--samples", "2", "--seed", "120", "--seed", "121", "--json"]  # fmt: skip
    address = ("--engine", "ray", "--ray-address", cluster.address)
    env = cluster.env | {"THINKEVAL_LEASE_S": "10"}
    began = thinkeval.start(*asked, *address, **env)
    until(
        lambda: db.read(rows.EditRow, "edits/list_edits", dataset=mine.graph, status="running"),
        PATIENCE_S,
    )
    victim = max(_actors(cluster), key=lambda each: each.cpu_times().user)
    victim.kill()
    out, err = began.communicate(timeout=PATIENCE_S)
    assert began.returncode == 0, err
    assert "an executor died, another takes its task" in err
    found = json.loads(out)
    before = {edit: record.stored_score(db, edit) for edit in found["edits"]}
    assert thinkeval(*asked).json["edits"] == found["edits"]
    again = thinkeval(
        "score", REWRITE, "-g", mine.graph, "--model", mine.model, "-m", "memit",
        "--samples", "2", "--seed", "121", "--force", "--json",
    ).json[0]  # fmt: skip
    stored = before[again["edit"]]
    assert stored is not None
    values = [value.model_dump(mode="json") for value in stored.values]
    assert [_close(value) for value in again["values"]] == values


def test_a_large_graph_is_probed_in_parts_with_the_numbers_of_one_process(
    cluster: Cluster, mine: Mine, thinkeval: Cli, tmp_path: Path
) -> None:
    names = [f"{prefix}-large" for prefix in (mine.graph, f"{mine.graph}-again")]
    lines = [f"Harry Potter,is number {n} of,Hogwarts{n % 7}" for n in range(4_100)]
    file = tmp_path / "large.csv"
    file.write_text("\n".join(["subject,relation,object", *lines]))
    found: list[dict[str, Any]] = []
    address = ("--engine", "ray", "--ray-address", cluster.address)
    for name, engine in zip(names, (address, ()), strict=True):
        thinkeval("import", str(file), "--name", name)
        asked = ["probe", name, "--model", mine.model, "--samples", "0", "--json"]
        done = thinkeval.process(*asked, *engine, **cluster.env)
        found.append(json.loads(done.out))
    by_ray, here = found
    assert by_ray["n_facts"] == here["n_facts"] == 4_100
    assert by_ray["graph"].removeprefix(names[0]) == here["graph"].removeprefix(names[1])
    assert by_ray["mean"] == pytest.approx(here["mean"], rel=1e-5)
    for one, two in zip(by_ray["best"], here["best"], strict=True):
        assert one["p"] == pytest.approx(two["p"], rel=1e-4)


def _actors(cluster: Cluster) -> list[psutil.Process]:
    """The actors of all nodes."""
    return [
        child
        for node in cluster.nodes
        for child in node.children(recursive=True)
        if "ray::Actor" in child.name() or "ray::Actor" in " ".join(child.cmdline())
    ]


def post(service: Service, mine: Mine, **more: object) -> str:
    body = {"graph": mine.graph, "model": mine.model, "rewrite": REWRITE, "samples": 2}
    return service.post(**(body | more))["id"]


def test_a_killed_actor_is_replaced_and_a_cancelled_job_leaves_its_successor_fit(
    db: Database, service: Service, mine: Mine
) -> None:
    """An edit of minutes: its executor is killed, it is begun again by another, and cancelled."""
    edit = post(service, mine, seed=100, samples=200)
    for attempt in (1, 2):
        until(lambda n=attempt: _at_work(db, edit, n), PATIENCE_S)
        if attempt == 1:
            psutil.Process(_pid_of(db, edit)).kill()
    assert service.http.post(f"/v1/edits/{edit}/cancel").status_code == 202
    assert service.ended(edit, PATIENCE_S)["status"] == "cancelled"


def _at_work(db: Database, edit: str, attempt: int) -> bool:
    job = store.job_of(db, edit)
    return job.attempts == attempt and "probe pre" in (job.stage or "")


def test_a_sweep_survives_the_loss_of_a_node_with_the_numbers_of_one_process(
    db: Database, cluster: Cluster, service: Service, mine: Mine, thinkeval: Cli
) -> None:
    body = {"graph": mine.graph, "models": [mine.model], "rewrites": [REWRITE],
            "methods": ["none", "rome"], "seeds": [110, 111, 112], "samples": 2}  # fmt: skip
    answer = service.http.post("/v1/sweeps", json=body)
    assert answer.status_code == 202, answer.text
    sweep = answer.json()["id"]
    until(lambda: service.get(f"/v1/sweeps/{sweep}")["progress"] > 0, PATIENCE_S)
    cluster.kill(cluster.nodes[1])
    until(
        lambda: service.get(f"/v1/sweeps/{sweep}")["status"] in ("succeeded", "failed"), PATIENCE_S
    )
    done = service.get(f"/v1/sweeps/{sweep}")
    assert done["status"] == "succeeded", done
    found = db.read(rows.PageEditRow, "edits/page_edits", dataset=mine.graph, limit=1000)
    scored = [row.id for row in found if store.job_of(db, row.id).status == "succeeded"]
    assert len(scored) == len(set(scored)) >= 6
    again = thinkeval(
        "score", REWRITE, "-g", mine.graph, "--model", mine.model, "-m", "rome",
        "--samples", "2", "--seed", "111", "--force", "--json",
    ).json[0]  # fmt: skip
    stored = service.get(f"/v1/edits/{again['edit']}")["result"]
    assert [_close(value) for value in again["values"]] == stored["values"]


def test_a_crawl_and_a_comparison_have_the_numbers_of_one_process(
    db: Database, service: Service, mine: Mine, thinkeval: Cli
) -> None:
    compared = service.post("/v1/comparisons", base=mine.model, states=[f"{mine.model}+8bit"],
                            graph=mine.graph, samples=0)["id"]  # fmt: skip
    crawled = service.post(
        "/v1/growth", seed="Harry Potter", elicit="crawl", base=mine.graph, samples=2,
        graph=f"{mine.graph}-by-ray", answers={"model": mine.model},
        single_link=False, iterations=1000, chains=MOST,
        crawl={"depth": 1, "wordings": 2, "gate": "stored", "samples": 2},
    )["id"]  # fmt: skip
    for path in (f"/v1/comparisons/{compared}", f"/v1/growth/{crawled}"):
        until(lambda path=path: service.get(path)["status"] in ("succeeded", "failed"), PATIENCE_S)
        assert service.get(path)["status"] == "succeeded", service.get(path)
    (by_ray,) = service.get(f"/v1/comparisons/{compared}")["result"]["states"]
    here = thinkeval("compare", mine.model, "+8bit", "-g", mine.graph, "--samples", "0", "--force",
                     "--json").json["states"][0]  # fmt: skip
    assert here["id"] == by_ray["id"]
    numbers = _numbers(by_ray["drift"])
    assert len(numbers) > 10
    found = _numbers(here["drift"])
    assert found == {
        key: pytest.approx(value, rel=1e-4, abs=1e-6) for key, value in numbers.items()
    }
    made = thinkeval("graph", "crawl", mine.graph, "--start", "Harry Potter", "--samples", "2",
                     "--wordings", "2", "--gate", "stored", "--depth", "1", "--model", mine.model,
                     "--json").json  # fmt: skip
    facts = [
        {
            (row.subject, row.relation, row.object)
            for row in db.read(rows.FactRow, "graph/facts", graph=graph)
        }
        for graph in (f"{mine.graph}-by-ray", made["graph"])
    ]
    assert facts[0] == facts[1] != set()


def _numbers(value: object) -> dict[str, float]:
    """The numbers within some JSON, each by its place."""
    return {place: each for place, each in leaves(value) if isinstance(each, int | float)}


def _close(value: dict[str, Any]) -> dict[str, Any]:
    """A value of a score; nodes may use another number of threads, hence the last digits."""
    return value | {
        key: pytest.approx(value[key], rel=1e-6, abs=1e-9)
        for key in ("value", "low", "high")
        if value[key] is not None
    }


def _pid_of(db: Database, edit: str) -> int:
    job = store.job_of(db, edit).id
    found = until(
        lambda: [row.pid for row in db.read(rows.WorkerRow, "jobs/workers") if row.job == job]
    )
    return int(found[0])
