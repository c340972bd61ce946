"""How long `thinkeval demo` takes, by stage: with a new database, and once more.

Each column is a process of its own; the embedded Neo4j lies in a temporary folder (a server that
THINKEVAL_NEO4J_URI names is not used) and is stopped at the end. In the column `new database` Neo4j
is started on an empty folder, with its files and the trained model from your cache if they are
there; `again` finds the server running and the edits scored. --cold uses a temporary cache and adds
a column `nothing cached`: Neo4j is downloaded (about 150 MB) and the model trained or fetched. All
columns must give the same scores. The demo's co-edit is not part of it.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench

CLOSE = 1e-6
Values = dict[tuple[str, str, str, int | None], float | None]


@dataclass(frozen=True, slots=True)
class Told:
    """What one `thinkeval demo --json` printed.

    Attributes:
        stages: seconds by stage, with the start of Python among them, and all of them.
        values: by method, metric, measure and step.
        reused: how many of the scores were stored before.
    """

    stages: dict[str, float]
    values: Values
    reused: int


def main() -> None:
    """Measure, compare, print."""
    parser = bench.parser(__doc__)
    parser.add_argument("--cold", action="store_true", help="also with nothing cached")
    parser.add_argument("--model", default="organism", help="as `thinkeval demo --model`")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="thinkeval-bench-") as name:
        columns = measured(Path(name), options.cold, options.model)
    _compare(columns)
    reused = ", ".join(f"{told.reused} ({what})" for what, told in columns.items())
    notes = [f"Scores taken from the database: {reused}. All columns give the same values."]
    seconds = {what: told.stages for what, told in columns.items()}
    bench.show_columns("demo_wall_time", "s", seconds, notes, as_json=options.json)


def measured(folder: Path, cold: bool, model: str) -> dict[str, Told]:
    """Each column in turn."""
    first, second = (_environment(folder / f"home-{n}") for n in (1, 2))
    if cold:
        for environment in (first, second):
            environment["THINKEVAL_CACHE"] = str(folder / "cache")
    columns: dict[str, Told] = {}
    try:
        if cold:
            columns["nothing cached"] = demo(first, model)
            stop(first)
        columns["new database"] = demo(second, model)
        columns["again"] = demo(second, model)
    finally:
        stop(first)
        stop(second)
    return columns


def demo(environment: dict[str, str], model: str) -> Told:
    """Give the command as a user would and read what it says."""
    bench.say("thinkeval demo ...")
    began = time.perf_counter()
    command = [sys.executable, "-m", "thinkeval", "demo", "--json", "--model", model]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
    took = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(f"thinkeval demo failed with exit code {done.returncode}.")
    told = json.loads(done.stdout)
    stages = {"start of Python": took - told["seconds"], **told["stages"], "all": took}
    scores = told["scores"]
    values = {
        (score["method"], value["metric"], value["measure"], value["step"]): value["value"]
        for score in scores
        for value in score["values"]
    }
    bench.agree(bool(values), "the demo scored nothing")
    return Told(stages, values, sum(score["reused"] for score in scores))


def stop(environment: dict[str, str]) -> None:
    """Stop the embedded server of that environment; nothing happens if there is none."""
    if Path(environment["THINKEVAL_HOME"]).is_dir():
        command = [sys.executable, "-m", "thinkeval", "db", "stop"]
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)


def _environment(home: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("THINKEVAL_NEO4J_")}
    return kept | {"THINKEVAL_HOME": str(home)}


def _compare(columns: dict[str, Told]) -> None:
    (what, first), *others = columns.items()
    for other, told in others:
        apart = [
            key
            for key in first.values.keys() | told.values.keys()
            if not _close(first.values.get(key, math.nan), told.values.get(key, math.nan))
        ]
        bench.agree(not apart, f"{what} and {other}: {apart[:5]}")


def _close(one: float | None, other: float | None) -> bool:
    """Return True if two values are equal but for rounding; None is an undefined one."""
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE)


if __name__ == "__main__":
    main()
