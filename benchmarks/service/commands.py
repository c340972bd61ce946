"""Processor time of commands that train an organism or sweep over a graph's rewrites.

Trained are the organisms of KnowGIC and of `hogwarts`, into a temporary cache. Swept is KnowGIC, by
all methods, on a database in a temporary folder, with the organism from your cache; then the same
with `--matched`. Processor time of all processes of a command but Neo4j, as wall times mean little
where others are busy; those are in the notes. `--rewrites 2` only tries whether it works.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench

from thinkeval.editing import organism
from thinkeval.loaders import formats, graphs
from thinkeval.loaders.records import KnowledgeGraph
from thinkeval.service.base.settings import Settings

SWEEP = ("sweep", "-g", "knowgic", "--json")


def main() -> int:
    """Measure and print."""
    parser = bench.parser(__doc__)
    parser.add_argument("--rewrites", type=int, help="of the sweeps; by default all 26")
    parser.add_argument("--skip-training", action="store_true", help="only the sweeps")
    options = parser.parse_args()
    knowgic = formats.load(bench.data_dir() / "knowgic" / "chains.json").graph
    hogwarts = formats.load(graphs.path("hogwarts")).graph
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # stopped, it stops its database too
    lines, notes = [], []

    def add(what: str, times: tuple[float, float]) -> None:
        lines.append(bench.Line(what, "s", times[0]))
        notes.append(f"{what}: {times[1]:.0f} s by the clock.")

    with tempfile.TemporaryDirectory(prefix="thinkeval-bench-") as folder:
        for graph in () if options.skip_training else (knowgic, hogwarts):
            bench.say(f"training on {graph.name}")
            add(
                f"training, {graph.name}: {len(graph.facts)} facts",
                trained(graph, Path(folder) / "cache"),
            )
        organism.train(knowgic, cache_dir=Settings().cache / "organisms")  # trained before
        chosen = [each.id for each in knowgic.rewrites][: options.rewrites]
        named = chosen if options.rewrites else []
        environment = _environment(Path(folder) / "home")
        try:
            command(environment, "import", str(bench.data_dir() / "knowgic"), "--name", "knowgic")
            for what, more in (("sweep", ()), ("sweep --matched", ("--matched",))):
                bench.say(f"{what} of {len(chosen)} rewrites")
                add(what, timed(lambda m=more: command(environment, *SWEEP, *m, *named)))
        finally:
            command(environment, "db", "stop")
    return bench.show("commands", lines, notes, as_json=options.json)


def trained(graph: KnowledgeGraph, folder: Path) -> tuple[float, float]:
    """Processor time and time of one training."""
    return timed(lambda: organism.train(graph, cache_dir=folder))


def timed(run: Callable[[], object]) -> tuple[float, float]:
    """Processor time of this process and those it waited for, and time by the clock."""
    began, before = time.perf_counter(), _processor()
    run()
    return _processor() - before, time.perf_counter() - began


def command(environment: dict[str, str], *words: str) -> None:
    """Give a command of ThinkEval; its failure ends the benchmark."""
    given = [sys.executable, "-m", "thinkeval", *words]
    subprocess.run(given, env=environment, stdout=subprocess.DEVNULL, check=True)


def _processor() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _environment(home: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("THINKEVAL_NEO4J_")}
    return kept | {"THINKEVAL_HOME": str(home)}


if __name__ == "__main__":
    raise SystemExit(main())
