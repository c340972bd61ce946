"""One knowledge set established, updated three times and scored on the organism of `atlas`.

A set of the paper's size (24 + 5 facts, 12 implications, 3 copies of 20 updates) whose facts the
model does not know beforehand. Timed is everything from the loaded model to the stored run's seven
metrics; the organism and its covariance statistics are computed before. The processor's time is
beside the wall time, as a machine may be busy. Gradient similarity is timed against one backward
pass a fact.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench
import torch

from thinkeval.editing.mend import similarity as gradients
from thinkeval.loaders.knowledge_sets import KnowledgeSet
from thinkeval.service.base.settings import Settings
from thinkeval.service.depedit import editor, protocol, store
from thinkeval.service.depedit.editor import request
from thinkeval.service.depedit.sets import SetOptions, build
from thinkeval.service.graphs import datasets
from thinkeval.service.models.depedit import RunsIn
from thinkeval.service.scoring.runtime import Runtime

GRAPH = "atlas"
METHODS = ("finetune", "memit", "finetune+forwchain", "finetune+backchain", "memit+forwchain")
GOAL_S = 60.0


def main() -> int:
    """Measure, print; 0 if every method is quick enough."""
    parser = bench.parser(__doc__)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with Runtime(Settings()) as work:
        bench.say("organism and covariance statistics")
        made = _knowledge(work)
        try:
            lines, notes = _lines(work, made)
        finally:
            store.delete_set(work.db, made.id)
    notes.append(f"{options.threads} thread(s).")
    return bench.show("depedit_set", lines, notes, as_json=options.json)


def _knowledge(work: Runtime) -> KnowledgeSet:
    datasets.get_or_import(work.db, GRAPH)
    sets = build(work.db, GRAPH, SetOptions(init="shuffled", seed=1)).sets
    found = next(one for one in sets if one.rule.shape == "x→y→z")
    made = replace(found, id=f"bench-{found.id}-{os.getpid()}")
    store.save_set(work.db, made)
    protocol.run(work, [made], protocol.methods(["memit"]), RunsIn(seed=9))
    return made


def _lines(work: Runtime, made: KnowledgeSet) -> tuple[list[bench.Line], list[str]]:
    lines, notes = [], []
    for name in METHODS:
        bench.say(name)
        wall, cpu = time.perf_counter(), time.process_time()
        done = protocol.run(work, [made], protocol.methods([name]), RunsIn(force=True))[0]
        metrics = store.metrics_of(work.db, done.run)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        goal = bench.Goal("value", "<=", GOAL_S)
        lines.append(bench.Line(f"{name}, one set", "s", wall, goal=goal))
        told = ", ".join(
            f"{key} {share.value:.2f} ({share.n})"
            for key, share in metrics.items()
            if share.value is not None
        )
        notes.append(f"{name}: {cpu:.0f} s of processor time; {told}.")
    lines.append(_gradients(work, made))
    return lines, notes


def _gradients(work: Runtime, made: KnowledgeSet) -> bench.Line:
    loaded = work.model("organism", GRAPH).loaded
    pairs = editor.pairs_of(made, editor.wordings(work.db, GRAPH))
    asked = [replace(request(qa), id=str(i)) for i, qa in enumerate(pairs.facts)]
    rows = gradients.rows_of(loaded.tokenizer, asked)
    batched = bench.median_seconds(
        lambda: gradients.linear_products(loaded.model, loaded.tokenizer, rows), 3
    )
    single = bench.median_seconds(
        lambda: gradients.whole_products(loaded.model, loaded.tokenizer, rows), 3
    )
    what = f"inner products of {len(rows)} gradients"
    return bench.Line(what, "s", batched, single, "one backward pass a fact, all parameters")


if __name__ == "__main__":
    raise SystemExit(main())
