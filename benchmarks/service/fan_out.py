"""A sweep over KnowGIC by executors, against the same in one process: seconds, ids and numbers.

`thinkeval sweep -g knowgic` as a user runs it, the start of the program included, with the
organism trained before: in this process, by two processes of this machine, and by two nodes of a
Ray cluster of one processor each. Every run computes all edits anew (`--force`). Ids must be equal,
numbers within 1e-5: a process alone computes on all processors, executors divide them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench
from kills import Cluster
from service_reads import PROGRAM, own_home

from thinkeval.service.base.settings import Settings
from thinkeval.service.scoring import record
from thinkeval.service.scoring.runtime import Runtime

CLOSE = 1e-5
METHODS = ("none", "rome", "memit")

Scores = dict[tuple[object, ...], float]


def main() -> int:
    """Measure, check, print."""
    parser = bench.parser(__doc__)
    parser.add_argument("--rewrites", type=int, default=26, help="of KnowGIC; all are 26")
    parser.add_argument("--no-ray", action="store_true", help="leave the cluster out")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="thinkeval-bench-") as folder:
        env = own_home(Path(folder) / "home")
        try:
            lines, notes = timed(env, options.rewrites, ray=not options.no_ray)
        finally:
            run(env, "db", "stop")
    return bench.show("fan_out", lines, notes, as_json=options.json)


def timed(env: dict[str, str], n: int, *, ray: bool) -> tuple[list[bench.Line], list[str]]:
    """Run the sweep each way; raise SystemExit where ids or numbers differ."""
    run(env, "import", str(bench.data_dir() / "knowgic"), "--name", "knowgic")
    rewrites = [
        each["id"] for each in json.loads(run(env, "graph", "rewrites", "knowgic", "--json"))
    ]
    words = ["sweep", *rewrites[:n], "-g", "knowgic", "--samples", "0", "--force", "--json"]
    words += [word for method in METHODS for word in ("-m", method)]
    run(env, *words[:1], rewrites[0], *words[n + 1 :])  # trains the organism
    alone, reference = swept(env, [*words, "--workers", "1"])
    ways = {"two processes": (env, ["--workers", "2"])}
    cluster = Cluster() if ray else None
    try:
        if cluster is not None:
            cluster.join()
            address = cluster.env["THINKEVAL_RAY_ADDRESS"]
            ways["two nodes of Ray"] = (
                env | cluster.env,
                ["--engine", "ray", "--ray-address", address, "--workers", "2"],
            )
        lines, worst = [], 0.0
        for name, (where, more) in ways.items():
            seconds, found = swept(where, [*words, *more])
            if found.keys() != reference.keys():
                raise SystemExit(f"{name}: other ids or metrics than one process has")
            worst = max(worst, max(abs(found[k] - reference[k]) for k in reference))
            what = f"sweep of {n} rewrites by {len(METHODS)} methods, {name}"
            lines.append(bench.Line(what, "s", seconds, alone, "one process"))
    finally:
        if cluster is not None:
            cluster.close()
    if worst > CLOSE:
        raise SystemExit(f"numbers differ by {worst:.1e}")
    edits = len({key[0] for key in reference})
    return lines, [f"{edits} edits, {len(reference)} numbers; largest difference {worst:.1e}"]


def swept(env: dict[str, str], words: list[str]) -> tuple[float, Scores]:
    """Seconds of a sweep, and its numbers by edit, metric, measure and step."""
    began = time.perf_counter()
    told = json.loads(run(env, *words))
    seconds = time.perf_counter() - began
    found: Scores = {}
    with Runtime(Settings(home=Path(env["THINKEVAL_HOME"]))) as runtime:
        for edit in told["edits"]:
            for value in record.get_score(runtime.db, edit).values:
                if value.value is not None:
                    found[edit, value.metric, value.measure, value.step] = value.value
    return seconds, found


def run(env: dict[str, str], *words: str) -> str:
    """The standard output of a command that has to succeed."""
    done = subprocess.run(
        [str(PROGRAM), *words], env=env, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.stderr[-2000:]}")
    return done.stdout


if __name__ == "__main__":
    os.environ.pop("THINKEVAL_NEO4J_URI", None)
    raise SystemExit(main())
