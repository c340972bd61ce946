"""Random kills while edits are scored: is every accepted edit scored once, with the same numbers?

`thinkeval serve` runs as a user starts it, with one worker, on a database of its own. Edits of the
demo graph are submitted and scored without disturbance; their numbers are the reference. Then the
same edits are scored again with other seeds of nothing but the queue: `--force`, so that each is
computed anew, while a seeded random source sends SIGKILL to the worker, the service or Neo4j, and
SIGSTOP/SIGCONT to the worker for longer than its lease. The service is started again after it was
killed. At the end every edit has to be `succeeded` once, with the numbers of the reference.

With `--engine ray` the worker is an actor of a cluster that the benchmark starts here; its
node is killed too, and another one joins.

It exits with 1 where an edit is lost, scored twice, failed, or differs. An edit whose worker died
three times fails by design, as it may be what kills it, so no edit's worker is killed or stopped
more than twice: where that would be next, the service or Neo4j is killed instead.

After a worker or a node was killed, the seconds until its edit is queued again are measured.
"""

from __future__ import annotations

import json
import os
import random
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench
import httpx
import psutil
from service_reads import PROGRAM, own_home

LEASE_S = 6
TARGETS = ("worker", "worker", "service", "neo4j", "stop")
OF_RAY = (*TARGETS, "node")
OF_THE_EDIT = ("worker", "stop", "node")
"""What uses up one of the three attempts of the edit that is scored at that moment."""
GRAPH = "hogwarts"


class Cluster:
    """A Ray cluster of this machine: a head without processors, and one node for the worker."""

    PORT = 26379
    """Outside the range that Ray gives to its workers, 10002 to 19999."""

    def __init__(self) -> None:
        self.env = {
            "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16),
            "RAY_worker_niceness": "0", "OMP_NUM_THREADS": "1",
            "THINKEVAL_ENGINE": "ray", "THINKEVAL_RAY_ADDRESS": f"127.0.0.1:{self.PORT}",
        }  # fmt: skip
        self.head = self._started(
            "--head", f"--port={self.PORT}", "--num-cpus=0", "--include-dashboard=false"
        )
        time.sleep(15)
        self.join()

    def join(self) -> None:
        """Start a node."""
        self.node = self._started(f"--address=127.0.0.1:{self.PORT}", "--num-cpus=1")

    def _started(self, *options: str) -> psutil.Popen:
        always = ("--block", "--node-ip-address=127.0.0.1", "--disable-usage-stats",
                  "--object-store-memory=100000000")  # fmt: skip
        return psutil.Popen(
            [str(Path(sys.executable).with_name("ray")), "start", *options, *always],
            env=os.environ | self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def lose_a_node(self) -> None:
        """Kill the node with all that runs there; another one joins."""
        kill_all(self.node)
        self.join()

    def close(self) -> None:
        """End the cluster."""
        kill_all(self.node)
        kill_all(self.head)


def kill_all(root: psutil.Popen) -> None:
    """Kill a process with those that it started."""
    for each in [*root.children(recursive=True), root]:
        with suppress(psutil.Error):
            each.kill()
    root.wait(30)


class Disturbed:
    """A service that is killed and started again; one client follows it."""

    def __init__(self, home: Path, cluster: Cluster | None = None, **more: str) -> None:
        self.cluster = cluster
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.env = own_home(home) | more | {
            "THINKEVAL_LEASE_S": str(LEASE_S),
            "THINKEVAL_RESTART_PAUSE_S": "0.2",
            "THINKEVAL_PORT": str(port),
        } | (cluster.env if cluster else {})  # fmt: skip
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60)
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start the service, and wait until it is ready."""
        self._spawn()
        self.ready()

    def _spawn(self) -> None:
        log = Path(self.env["THINKEVAL_HOME"]) / "serve.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as file:
            self.process = subprocess.Popen(
                [str(PROGRAM), "serve"], env=self.env, stdout=file, stderr=file
            )

    def ready(self, limit_s: float = 240) -> None:
        """Wait until the service answers with its database."""
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            assert self.process is not None
            if self.process.poll() is not None:  # no node had joined the cluster yet
                self._spawn()
            with suppress(httpx.HTTPError):
                if self.client.get("/ready").status_code == 200:
                    return
            time.sleep(0.2)
        raise SystemExit(f"The service was not ready after {limit_s:.0f} s.")

    def workers(self) -> list[psutil.Process]:
        """The worker processes of the service."""
        if self.cluster is not None:
            below = self.cluster.node.children(recursive=True)
            return [each for each in below if "ray::Actor" in " ".join(each.cmdline())]
        found = []
        assert self.process is not None
        with suppress(psutil.Error):
            service = self.process.pid
            for child in psutil.Process(service).children(recursive=True):
                with suppress(psutil.Error):
                    # Forked by another process of the service, or started beside a GPU.
                    if child.ppid() != service or "--multiprocessing-fork" in child.cmdline():
                        found.append(child)
        return found

    def neo4j(self) -> psutil.Process | None:
        """The database's process."""
        done = subprocess.run(
            [str(PROGRAM), "db", "status", "--json"], env=self.env, capture_output=True, check=False
        )
        pid = json.loads(done.stdout or b"{}").get("pid")
        return psutil.Process(pid) if pid else None

    def disturb(self, what: str) -> bool:
        """Kill or stop one of them; False where it was not there."""
        if what == "service":
            assert self.process is not None
            self.process.kill()
            self.process.wait()
            self.start()
            return True
        if what == "node":
            assert self.cluster is not None
            self.cluster.lose_a_node()
            return True
        victims = self.workers() if what in ("worker", "stop") else [self.neo4j()]
        hit = False
        for victim in victims:
            if victim is None:
                continue
            with suppress(psutil.Error):
                if what == "stop":
                    victim.send_signal(signal.SIGSTOP)
                    time.sleep(LEASE_S * 1.7)
                    victim.send_signal(signal.SIGCONT)
                else:
                    victim.kill()
                hit = True
        return hit

    def requeued(self, edits: list[dict[str, Any]], limit_s: float = 60) -> list[float]:
        """Seconds until each edit is queued again or given to another worker, up to a limit."""
        begun, took = time.monotonic(), []
        for was in edits:
            waited = 0.0
            while waited < limit_s:
                time.sleep(0.02)
                now = was
                with suppress(httpx.HTTPError, ValueError):
                    now = self.client.get(f"/v1/edits/{was['id']}").json()
                waited = time.monotonic() - begun
                if any(now[key] != was[key] for key in ("status", "attempts")):
                    break
            took.append(waited)
        return took

    def submit(self, body: dict[str, Any]) -> str:
        """Submit an edit until it is accepted; the id it is accepted under."""
        for _ in range(600):
            with suppress(httpx.HTTPError):
                answer = self.client.post("/v1/edits", json=body)
                if answer.status_code in (200, 201, 202):
                    return str(answer.json()["id"])
            time.sleep(0.2)
        raise SystemExit("No submission was accepted for two minutes.")

    def finished(self, edit: str, limit_s: float = 600) -> dict[str, Any]:
        """The edit once it is finished."""
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            with suppress(httpx.HTTPError, ValueError):
                answer = self.client.get(f"/v1/edits/{edit}")
                if answer.status_code == 404:
                    raise SystemExit(f"{edit} was accepted and is lost.")
                if answer.status_code == 200 and answer.json()["status"] in (
                    "succeeded", "failed", "cancelled",
                ):  # fmt: skip
                    return answer.json()
            time.sleep(0.3)
        raise SystemExit(f"{edit} was not finished after {limit_s:.0f} s.")

    def close(self) -> None:
        """Stop the service and its database."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(30)
            self.process.kill()
            self.process.wait()
        subprocess.run([str(PROGRAM), "db", "stop"], env=self.env, capture_output=True, check=False)
        self.client.close()


def body(method: str, seed: int, **more: object) -> dict[str, Any]:
    """An edit that takes some seconds."""
    return {
        "graph": GRAPH, "rewrite": "harry-potter--studied-at", "method": method, "samples": 60,
        "seed": seed, **more,
    }  # fmt: skip


def values(edit: dict[str, Any]) -> dict[tuple[object, ...], float]:
    """The numbers of a score by metric, measure and step."""
    return {(v["metric"], v["measure"], v["step"]): v["value"] for v in edit["result"]["values"]}


def same(a: dict[tuple[object, ...], float], b: dict[tuple[object, ...], float]) -> bool:
    """Equal but for the last bits: the server adds in the order in which it finds facts."""
    return a.keys() == b.keys() and all(abs(a[k] - b[k]) <= 1e-9 + 1e-9 * abs(a[k]) for k in a)


def main() -> None:
    """Run, check, print."""
    parser = bench.parser(__doc__)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--edits", type=int, default=24)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pause", type=float, default=20.0, help="most seconds between two kills")
    parser.add_argument("--engine", choices=("local", "ray"), default="local")
    parser.add_argument("--targets", nargs="+", choices=OF_RAY, help="only these")
    options = parser.parse_args()
    targets = options.targets or (OF_RAY if options.engine == "ray" else TARGETS)
    source = random.Random(options.seed)
    methods = ("rome", "memit", "fine_tuning", "none")
    with tempfile.TemporaryDirectory(prefix="thinkeval-kills-") as folder:
        cluster = Cluster() if options.engine == "ray" else None
        service = Disturbed(Path(folder), cluster)
        try:
            subprocess.run(
                [str(PROGRAM), "import", GRAPH], env=service.env, check=True, capture_output=True
            )
            wanted = [body(methods[i % 4], 100 + i // 4) for i in range(options.edits)]
            reference = {}
            for each in wanted:
                edit = service.finished(service.submit(each))
                if edit["status"] != "succeeded":
                    raise SystemExit(f"Undisturbed, {edit['id']} failed: {edit.get('error')}")
                reference[edit["id"]] = values(edit)
            ids = [service.submit(each | {"force": True}) for each in wanted]
            kills: Counter[str] = Counter()
            deaths: Counter[str] = Counter()
            requeued: dict[str, list[float]] = {"worker": [], "node": []}
            while sum(kills.values()) < options.kills:
                time.sleep(source.uniform(0.2, options.pause))
                what = source.choice(targets)
                running = [each for each in listed(service) if each["status"] == "running"]
                scored = [each["id"] for each in running]
                if what in OF_THE_EDIT and any(deaths[edit] == 2 for edit in scored):
                    left = [each for each in targets if each not in OF_THE_EDIT]
                    if not left:
                        continue
                    what = source.choice(left)
                done = service.disturb(what)
                kills[what] += done
                if done and what in OF_THE_EDIT:
                    deaths.update(scored)
                if done and what in requeued:
                    requeued[what] += service.requeued(running)
                if not any(s["status"] in ("queued", "running") for s in listed(service)):
                    deaths.clear()  # submitted anew, an edit has three attempts again
                    ids += [service.submit(each | {"force": True}) for each in wanted]
            service.ready()
            found = [service.finished(each) for each in dict.fromkeys(ids)]
            wrong = [
                (edit["id"], edit["status"], edit.get("error"))
                for edit in found
                if edit["status"] != "succeeded"
                or not same(values(edit), reference.get(edit["id"], {}))
            ]
            count = Counter(item["id"] for item in listed(service))
            twice = [edit for edit, n in count.items() if n > 1]
        finally:
            service.close()
            if cluster is not None:
                cluster.close()
    told = {
        "engine": options.engine, "kills": dict(kills), "submissions": len(ids),
        "edits": len(reference),
        "deaths": dict(Counter(deaths.values())), "wrong": wrong, "twice": twice,
        "attempts": Counter(e["attempts"] for e in found),
        "requeued_s": {
            what: {"n": len(took), "median": round(median(took), 2), "most": round(max(took), 2)}
            for what, took in requeued.items() if took
        },
    }  # fmt: skip
    print(json.dumps(told, indent=2))
    sys.exit(1 if wrong or twice or set(count) - set(reference) else 0)


def listed(service: Disturbed) -> list[dict[str, Any]]:
    """All recorded edits."""
    for _ in range(600):
        with suppress(httpx.HTTPError, KeyError, ValueError):
            return list(service.client.get("/v1/edits", params={"limit": 500}).json()["items"])
        time.sleep(0.3)
    raise SystemExit("The list of edits was not answered.")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
