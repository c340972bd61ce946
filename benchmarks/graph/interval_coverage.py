"""How often intervals of sampled metrics hold the truth, and how wide they are.

IFR, IFR beyond the subject, and subject retention.

On the chains of KnowGIC's rewrites, with simulated answers (`tests/support/coverage.py`): k answers
a prompt, one-to-many prompts included, chains of 1 to 5 links, all facts at one level from .02 to
.98 or mixtures, and edits that nearly remove the facts about the subject. Rewrites that share their
chains are taken once. The interval is nominally of 95 %; below `--least` in any line the exit code
is 1.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import fmean

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from support.coverage import LOST, METRICS, SCENARIOS, Run, Structure, all_runs, structure
from thinkeval.service.graphs import datasets

COLUMNS = ("runs", "coverage", "too low", "too high", "width", "least of a rewrite")
Columns = dict[str, dict[str, float]]


def main() -> int:
    """Simulate, print; 0 if every line holds the truth often enough."""
    parser = bench.parser(__doc__)
    parser.add_argument("--runs", type=int, default=40, help="of each rewrite, k and scenario")
    parser.add_argument("--least", type=float, default=0.93)
    options = parser.parse_args()
    graph = datasets.read(str(bench.data_dir() / "knowgic")).graph
    found = {(s.prompts, s.chains): s for s in (structure(graph, r) for r in graph.rewrites)}
    columns: Columns = {name: {} for name in COLUMNS}
    for k in (5, 10, 20):
        for scenario in (*SCENARIOS, *LOST):
            bench.say(f"k = {k}, {scenario}")
            _add(columns, f"k = {k}, {scenario}", list(found.values()), k, scenario, options.runs)
    notes = [
        f"{options.runs} runs of each of {len(found)} structures a line; a run without an observed"
        " chain is left out.",
        "too low, too high: the fraction of runs whose interval lies below or above the truth.",
        "least of a rewrite: among structures with 20 runs or more.",
    ]
    bench.show_columns("interval_coverage", "case", columns, notes, as_json=options.json)
    return int(min(columns["coverage"].values()) < options.least)


def _add(
    columns: Columns, name: str, structures: list[Structure], k: int, scenario: object, n: int
) -> None:
    simulated = [list(all_runs(s, k, scenario, n)) for s in structures]
    for metric in METRICS:
        by_structure = [[run[metric] for run in of if metric in run] for of in simulated]
        _add_metric(columns, f"{name}, {metric}", by_structure)


def _add_metric(columns: Columns, name: str, by_structure: list[list[Run]]) -> None:
    every = [run for each in by_structure for run in each]
    columns["coverage"][name] = fmean(run.holds for run in every)
    columns["too low"][name] = fmean(run.truth > run.high for run in every)
    columns["too high"][name] = fmean(run.truth < run.low for run in every)
    columns["width"][name] = fmean(run.high - run.low for run in every)
    columns["runs"][name] = len(every)
    enough = [fmean(run.holds for run in each) for each in by_structure if len(each) >= 20]
    if enough:
        columns["least of a rewrite"][name] = min(enough)


if __name__ == "__main__":
    raise SystemExit(main())
