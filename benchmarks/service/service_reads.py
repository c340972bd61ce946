"""Reads of the service with 16 clients while an edit runs; posts; the time to start.

`thinkeval serve` runs as a user starts it, with one worker, on a database of its own. One edit of
KnowGIC's rewrite with most chains is scored first; then 16 clients read its status, score and
chains in turns, each as soon as it has its answer, while the worker scores other edits. The same
reads with the worker idle are shown beside it. Then many edits are submitted at once and counted.
"""

from __future__ import annotations

import asyncio
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench
import httpx

CLIENTS = 16
P99 = bench.Goal("ours", "<=", 100)
PROGRAM = Path(sys.executable).with_name("thinkeval")


def main() -> None:
    """Measure, check, print."""
    parser = bench.parser(__doc__)
    parser.add_argument("--seconds", type=float, default=15.0, help="of reading")
    parser.add_argument("--posts", type=int, default=1000)
    parser.add_argument("--home", type=Path, help="keep the database there instead of deleting it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="thinkeval-bench-") as folder:
        home = options.home or Path(folder)
        try:
            lines = measured(home, options.seconds, options.posts)
        finally:
            env = own_database(home)
            subprocess.run([str(PROGRAM), "db", "stop"], env=env, capture_output=True, check=False)
    notes = [
        f"{CLIENTS} clients in one more process, each asking again as soon as it is answered;"
        " status, score and chains in turns. `instead`: the same with the worker idle."
    ]
    sys.exit(bench.show("service_reads", lines, notes, as_json=options.json))


def measured(home: Path, seconds: float, posts: int) -> list[bench.Line]:
    """Every line of the table."""
    with service(home) as (client, _):
        edit, rewrite = scored(client)
        paths = [f"/v1/edits/{edit}", f"/v1/edits/{edit}/chains"]
        idle = read(client.base_url, paths, seconds)
        running = client.post("/v1/edits", json=body(rewrite, samples=200, seed=9)).json()["id"]
        others = [
            client.post("/v1/edits", json=body(rewrite, samples=200, seed=seed)).json()["id"]
            for seed in range(10, 40)
        ]
        wait(client, running, ("running", "succeeded"))
        busy = read(client.base_url, paths, seconds)
        left = client.get(f"/v1/edits/{others[-1]}").json()["status"]
        if left in ("succeeded", "failed"):
            raise SystemExit("The worker was done before the reading was; read for less long.")
        for other in (running, *others):
            client.post(f"/v1/edits/{other}/cancel")
        took = posted(client, rewrite, posts)
        for each in pages(client, status="queued"):
            client.post(f"/v1/edits/{each['id']}/cancel")
        for edit in took["edits"]:  # each is found by the id it was submitted under
            if client.get(f"/v1/edits/{edit}").status_code != 200:
                raise SystemExit(f"{edit} was accepted and is lost.")
    with service(home) as (_, started):
        pass
    return [
        line("p99 of a read while edits are scored", busy, idle, 0.99, P99),
        line("median", busy, idle, 0.5),
        bench.Line("reads a second", "reads/s", len(busy) / seconds, len(idle) / seconds, "idle"),
        bench.Line(f"{posts} edits submitted by {CLIENTS} clients, all there", "edits/s",
                   posts / took["seconds"]),
        bench.Line("start until /ready, Neo4j running", "s", started, None, "",
                   bench.Goal("ours", "<=", 3.0)),
    ]  # fmt: skip


def line(
    what: str,
    busy: Sequence[float],
    idle: Sequence[float],
    part: float,
    goal: bench.Goal | None = None,
) -> bench.Line:
    """A quantile of the milliseconds, busy and idle."""
    ours, instead = (sorted(times)[int(part * (len(times) - 1))] for times in (busy, idle))
    return bench.Line(what, "ms", ours, instead, "worker idle", goal)


def body(rewrite: str, **more: Any) -> dict[str, Any]:
    """The submitted edit."""
    return {"graph": "knowgic", "rewrite": rewrite, "method": "rome"} | more


def own_home(home: Path) -> dict[str, str]:
    """An environment with an embedded database in `home`."""
    others = {k: v for k, v in os.environ.items() if k != "THINKEVAL_NEO4J_URI"}
    return others | {"THINKEVAL_HOME": str(home)}


def own_database(home: Path) -> dict[str, str]:
    """The same, from which published data sets can be imported over REST."""
    return own_home(home) | {"THINKEVAL_IMPORT_DIR": str(bench.data_dir())}


@contextmanager
def service(home: Path) -> Iterator[tuple[httpx.Client, float]]:
    """The service on a database in `home`: a client, and the seconds until it was ready."""
    env = own_database(home)
    began = time.perf_counter()
    process = subprocess.Popen(
        [str(PROGRAM), "serve", "--port", "0"], env=env, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        found = None
        for told in process.stderr:
            found = re.search(r"http://\S+?(?=/ \(REST)", told)
            if found:
                break
        if found is None:
            raise SystemExit("The service did not start.")
        with httpx.Client(base_url=found[0], timeout=120) as client:
            while client.get("/ready").status_code != 200:
                time.sleep(0.05)
            yield client, time.perf_counter() - began
    finally:
        process.terminate()
        process.communicate(timeout=60)


def scored(client: httpx.Client) -> tuple[str, str]:
    """The scored edit of KnowGIC's rewrite with most chains: (edit, rewrite)."""
    client.post("/v1/graphs/import", json={"source": "knowgic", "name": "knowgic"})
    rewrites = client.get("/v1/rewrites?graph=knowgic&limit=1000").json()["items"]
    rewrite = max(rewrites, key=lambda each: sum(each["chains"].values()))["id"]
    edit = client.post("/v1/edits", json=body(rewrite)).json()["id"]
    return wait(client, edit, ("succeeded",)), rewrite


def wait(client: httpx.Client, edit: str, wanted: Sequence[str]) -> str:
    """Wait for a status; the edit's id then."""
    while True:
        told = client.get(f"/v1/edits/{edit}").json()
        if told["status"] in wanted:
            return told["id"]
        if told["status"] == "failed":
            raise SystemExit(f"{told['error']} {told['remedy']}")
        time.sleep(0.1)


def read(base: httpx.URL, paths: Sequence[str], seconds: float) -> list[float]:
    """Milliseconds of every read of all clients; an answer other than 200 ends the benchmark."""

    async def client(number: int, until: float) -> list[float]:
        reader, writer = await asyncio.open_connection(base.host, base.port)
        times = []
        turn = number
        while time.perf_counter() < until:
            began = time.perf_counter()
            path = paths[turn % len(paths)]
            writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = re.search(r"content-length: (\d+)", head)
            if not head.startswith("http/1.1 200") or length is None:
                raise SystemExit(f"{path}: {head}")
            await reader.readexactly(int(length[1]))
            times.append(1000 * (time.perf_counter() - began))
            turn += 1
        writer.close()
        return times

    async def all_of_them() -> list[float]:
        until = time.perf_counter() + seconds
        found = await asyncio.gather(*(client(number, until) for number in range(CLIENTS)))
        return [each for times in found for each in times]

    times = asyncio.run(all_of_them())
    print(f"{len(times)} reads, median {statistics.median(times):.1f} ms", file=sys.stderr)
    return times


def posted(client: httpx.Client, rewrite: str, count: int) -> dict[str, Any]:
    """Post `count` different edits from all clients; their ids and the seconds."""

    async def all_of_them() -> set[str]:
        limits = httpx.Limits(max_connections=CLIENTS)
        async with httpx.AsyncClient(
            base_url=client.base_url, limits=limits, timeout=300
        ) as poster:
            answers = await asyncio.gather(
                *(
                    poster.post("/v1/edits", json=body(rewrite, seed=1000 + n, method="none"))
                    for n in range(count)
                )
            )
        refused = [each.text for each in answers if each.status_code not in (200, 202)]
        if refused:
            raise SystemExit(f"{len(refused)} posts were refused: {refused[0]}")
        return {each.json()["id"] for each in answers}

    began = time.perf_counter()
    edits = asyncio.run(all_of_them())
    if len(edits) != count:
        raise SystemExit(f"{count} posts gave {len(edits)} edits.")
    return {"edits": edits, "seconds": time.perf_counter() - began}


def pages(client: httpx.Client, **filters: str) -> Iterator[dict[str, Any]]:
    """Every edit of a list."""
    cursor = None
    while True:
        params = {"limit": "500"} | filters | ({"skip": cursor} if cursor else {})
        page = client.get("/v1/edits", params=params).json()
        yield from page["items"]
        cursor = page["next"]
        if cursor is None:
            return


if __name__ == "__main__":
    main()
