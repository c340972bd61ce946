"""26 edited states of one model asked together, against one state after the other.

    python benchmarks/editing/probe_states.py [--requests 26] [--facts 345] [--rounds 3]
        [--threads 2] [--json]

The states are ROME's and MEMIT's edits for KnowGIC's rewrites on its organism. All states are asked
all facts of KnowGIC (with all aliases), and 15 of them. "One after the other" is `probe` inside
`applied(model, effect)`, state by state. Both ways run in turns; counted is the least processor
time of each, as others may be busy on the machine; wall times are in the notes. Target: 4 times
faster, all likelihoods within 1e-5, and the weights bit-identical afterwards.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench
import editors
import torch

from thinkeval.editing import hparams as hparam_files
from thinkeval.editing.deltas import EditEffect, applied
from thinkeval.editing.models import LoadedModel, weights_digest, wrap
from thinkeval.editing.probe import ProbeItem, ProbeResult, ProbeSettings, probe
from thinkeval.editing.probe.edited_states import probe_states
from thinkeval.editing.registry import get

METHODS = ("rome", "memit")
GOAL, CLOSE, FEW = 4.0, 1e-5, 15
SETTINGS = ProbeSettings(measures=("likelihood", "likelihood_norm"), chat="never")

Answers = list[list[ProbeResult]]


def main() -> int:
    """Measure, compare, print; 0 if the target is met."""
    parser = bench.parser(__doc__)
    parser.add_argument("--requests", type=int, default=26)
    parser.add_argument("--facts", type=int, help="of KnowGIC; by default all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--organism", type=Path, help="a trained one's folder; else the cache")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    subject = editors.subject("knowgic", options.organism)
    loaded = wrap(subject.model, subject.tokenizer, name="organism of knowgic")
    before = weights_digest(loaded.model)
    items = questions(subject)[: options.facts]
    lines, notes = [], []
    for method in METHODS:
        states = edits(subject, method, options.requests)
        for asked in (items, items[:: max(1, len(items) // FEW)][:FEW]):
            line, note = measured(loaded, method, states, asked, options.rounds)
            lines.append(line)
            notes.append(note)
            bench.say(note)
    bench.agree(weights_digest(loaded.model) == before, "the weights were changed")
    notes.append(f"{options.threads} thread(s), best of {options.rounds}, in turns.")
    return bench.show("probe_states", lines, notes, as_json=options.json)


def questions(subject: editors.Subject) -> list[ProbeItem]:
    """The cloze of every fact, with the aliases of its object."""
    graph = subject.graph
    return [
        ProbeItem(
            fact.id,
            fact.prompt.replace("{}", fact.subject).rstrip(),
            fact.object,
            aliases=tuple(graph.aliases(fact.object)),
        )
        for fact in sorted(graph.facts, key=lambda fact: fact.id)
    ]


def edits(subject: editors.Subject, method: str, n: int) -> list[EditEffect]:
    """The method's edits of the first n rewrites, each of the unedited model."""
    bench.say(f"{n} edits by {method}")
    name = f"organism-{subject.model.config.model_type}"
    hparams: Any = hparam_files.load(method, name)
    templates = subject.templates(hparam_files.load("memit", name))
    covariance = subject.covariance(sorted(hparams.layers))
    return [
        get(method).execute(
            subject.model, subject.tokenizer, [request], hparams, covariance,
            context_templates=templates,
        )
        for request in subject.requests(n)
    ]  # fmt: skip


def measured(
    loaded: LoadedModel,
    method: str,
    effects: list[EditEffect],
    items: list[ProbeItem],
    rounds: int,
) -> tuple[bench.Line, str]:
    """Both ways in turns; a line of processor times and a note of wall times."""

    def together() -> Answers:
        return probe_states(loaded, [[effect] for effect in effects], items, SETTINGS)

    def one_by_one() -> Answers:
        found = []
        for effect in effects:
            with applied(loaded.model, effect):
                found.append(probe(loaded, items, SETTINGS))
        return found

    # A first call of each is not counted: it fills caches.
    worst = difference(together(), one_by_one())
    best = dict.fromkeys((together, one_by_one), (math.inf, math.inf))
    for _ in range(rounds):
        for way, (processor, wall) in best.items():
            one, other = timed(way)
            best[way] = (min(processor, one), min(wall, other))
    what = f"{method}: {len(effects)} states x {len(items)} facts"
    bench.agree(worst <= CLOSE, f"{what}: likelihoods differ by {worst:.1e}")
    ours, instead = best[together], best[one_by_one]
    line = bench.Line(
        what, "s", ours[0], instead[0], "one after the other", bench.Goal("ratio", ">=", GOAL)
    )
    note = (
        f"{what}: {ours[1]:.2f} s by the clock against {instead[1]:.2f} s "
        f"({instead[1] / ours[1]:.1f} x); largest difference of a likelihood {worst:.1e}."
    )
    return line, note


def timed(way: Callable[[], Answers]) -> tuple[float, float]:
    """Processor time and wall time of one call, in seconds."""
    processor, wall = time.process_time(), time.perf_counter()
    way()
    return time.process_time() - processor, time.perf_counter() - wall


def difference(one: Answers, other: Answers) -> float:
    """The largest difference of a likelihood or a normalised one."""
    return max(
        abs((getattr(a, name) or 0.0) - (getattr(b, name) or 0.0))
        for ours, theirs in zip(one, other, strict=True)
        for a, b in zip(ours, theirs, strict=True)
        for name in SETTINGS.measures
    )


if __name__ == "__main__":
    sys.exit(main())
