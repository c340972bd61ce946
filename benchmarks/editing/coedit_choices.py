"""One round of co-edits of six of KnowGIC's rewrites: which further facts are edited, and by whom.

    python benchmarks/editing/coedit_choices.py [--draws 20] [--json]

MEMIT on KnowGIC's organism, all requests of a round edited at once from the unedited model. Beside
the edit alone: a whole leak cut, without and with at most one fact of a key; the two facts that
lower the expected IFR most, without and with anchors; and two random facts of the same chains (the
mean over draws). KnowGIC is a stored graph (`thinkeval import PATH`). What is stored already is not
edited again, so a run that was stopped resumes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench

from thinkeval.service.base.settings import Settings
from thinkeval.service.graphs import datasets, requests
from thinkeval.service.leakcut.coedit import co_edit
from thinkeval.service.models.leakcut import CoEditIn, CutIn, RoundOut
from thinkeval.service.scoring.runtime import Runtime

GRAPH, METHOD = "knowgic", "memit"
REWRITES = ("ward", "bakersfield", "priscilla", "hillary", "hermione", "mark-t")
"""Beginnings of the ids; with 8, 3, 5, 3, 9 and 4 facts in a cut without keys."""
CHOICES: dict[str, dict[str, Any]] = {
    "free cut": {"choose": "cut", "cut": CutIn(keys="off")},
    "cut, one a key": {"choose": "cut"},
    "greedy": {"choose": "budget", "per_round": 2},
    "greedy, anchors": {"choose": "budget", "per_round": 2, "anchors": True},
}
FIGURES = (
    "ifr", "efficacy", "coedit_efficacy", "preservation", "preservation_unedited",
    "subject_retention", "coedited_retention",
)  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = bench.parser(__doc__)
    parser.add_argument("--draws", type=int, default=20, help="random choices a rewrite")
    options = parser.parse_args()
    rows = []
    with Runtime(Settings()) as work:
        datasets.dataset(work.db, GRAPH)  # not stored: an error that says how to import it
        for name in REWRITES:
            rows += choices(work, name, options.draws)
    if options.json:
        print(json.dumps({"benchmark": "coedit_choices", "rows": rows, "draws": options.draws}))
        return
    for row in rows:
        figures = " ".join("   –" if row[key] is None else f"{row[key]:4.2f}" for key in FIGURES)
        print(f"{row['subject']:20} {row['choice']:16} {row['facts']:3} {figures}")


def choices(work: Runtime, name: str, draws: int) -> list[dict[str, Any]]:
    """The rows of one rewrite."""
    rewrite = requests.rewrites(work.db, GRAPH, [name], requests.OwnRewrite(), False)[0]

    def rounds(**options: Any) -> list[RoundOut]:
        base = {
            "graph": GRAPH,
            "rewrite": rewrite.id,
            "method": METHOD,
            "rounds": 1,
            "rule": "papers",
        }
        wanted = CoEditIn.model_validate({**base, "anchors": False, **options})
        return co_edit(work, wanted, rewrite).rounds

    def row(choice: str, of: list[RoundOut]) -> dict[str, Any]:
        means = {key: mean([getattr(each, key) for each in of]) for key in FIGURES}
        return {
            "subject": rewrite.subject, "choice": choice, "facts": of[0].facts - 1, "n": len(of),
            **means,
        }  # fmt: skip

    rows = []
    for choice, options in CHOICES.items():
        bench.say(f"{rewrite.subject}: {choice}")
        found = rounds(**options)
        if not rows:
            rows.append(row("nothing", found[:1]))
        rows.append(row(choice, found[-1:]))
    bench.say(f"{rewrite.subject}: {draws} random choices")
    drawn = [rounds(choose="random", per_round=2, draw=draw)[-1] for draw in range(draws)]
    return [*rows, row("random", drawn)] if drawn else rows


def mean(values: list[float | None]) -> float | None:
    """Over those that are defined; None without any."""
    found = [value for value in values if value is not None]
    return fmean(found) if found else None


if __name__ == "__main__":
    main()
