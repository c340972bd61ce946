"""MEMIT, RECT, PRUNE and AlphaEdit on each rewrite: targets computed once, against separate runs.

The sweep optimises the targets of all rewrites together, then executes each method on each rewrite
with its target passed on (once for all methods whose hyperparameters of the optimisation are the
same). Separate runs are the same calls of `execute` without targets, summed. Both have the same
context templates and covariance; only editing is timed. Updates have to agree within 2e-3. On the
organism of `hogwarts` (six rewrites, then facts with another object) or of KnowGIC's 26.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench
import editors
import torch
from torch import Tensor

from thinkeval.editing import hparams as hparam_files
from thinkeval.editing.architectures import adapter_for
from thinkeval.editing.deltas import EditEffect, preserved
from thinkeval.editing.key_value.values import optimise
from thinkeval.editing.registry import get

METHODS = ("memit", "rect", "prune", "alphaedit")
GOAL, CLOSE = 3.0, 2e-3

Effects = dict[tuple[str, str], EditEffect]


def main() -> int:
    """Measure, compare, print; 0 if the target is met."""
    parser = bench.parser(__doc__)
    parser.add_argument("--graph", choices=["hogwarts", "knowgic"], default="hogwarts")
    parser.add_argument("--requests", type=int, help="by default 26; fewer for a try")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--organism", type=Path, help="a trained one's folder; else the cache")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    subject = editors.subject(options.graph, options.organism)
    sweep = Sweep(subject, options.requests or 26)
    bench.say("covariance")
    sweep.prepare()
    sweep.separate(2)
    bench.say("together")
    took = bench.seconds(sweep.together)
    bench.say(f"{took:.1f} s; now separate runs")
    instead = bench.seconds(lambda: sweep.separate(None))
    worst = sweep.compare()
    n = len(sweep.requests)
    line = bench.Line(
        f"{len(METHODS)} methods x {n} rewrites of {options.graph}",
        "s",
        took,
        instead,
        "sum of separate runs",
        bench.Goal("ratio", ">=", GOAL),
    )
    notes = [
        f"{sweep.n_target_sets} set(s) of targets for {', '.join(METHODS)}; "
        f"{options.threads} thread(s); largest relative difference of an update {worst:.1e}.",
        "RECT's mask decides entry by entry, so that rounding of a target may flip a few: its "
        "updates are compared where both keep an entry.",
    ]
    return bench.show("sweep_shared_targets", [line], notes, as_json=options.json)


class Sweep:
    """All edits, either way."""

    def __init__(self, subject: editors.Subject, n_requests: int) -> None:
        self.subject = subject
        self.requests = subject.requests(n_requests)
        name = f"organism-{subject.model.config.model_type}"
        self.hparams: dict[str, Any] = {m: hparam_files.load(m, name) for m in METHODS}
        self.templates = subject.templates(self.hparams["memit"])
        self.n_target_sets = 0
        self.covariance: Any = None
        self.shared: Effects = {}
        self.alone: Effects = {}

    def prepare(self) -> None:
        """What both ways are given."""
        layers = sorted({layer for h in self.hparams.values() for layer in h.layers})
        self.covariance = self.subject.covariance(layers)

    def together(self) -> None:
        """Targets once, then every method on every request."""
        found: dict[tuple[Any, ...], dict[str, Tensor]] = {}
        for method, hparams in self.hparams.items():
            key = hparams.target_key(get(method).TARGET_SITE)
            if key not in found:
                found[key] = self._targets(hparams)
            for request in self.requests:
                self.shared[method, request.id] = self._edit(method, request, found[key])
        self.n_target_sets = len(found)

    def separate(self, n: int | None) -> None:
        """Every method on every request (or the first n), each with a target of its own."""
        for method in METHODS:
            for request in self.requests[:n]:
                self.alone[method, request.id] = self._edit(method, request, None)

    def compare(self) -> float:
        """The largest relative difference between the two ways' updates."""
        worst = 0.0
        for key, effect in self.shared.items():
            for name, delta in effect.deltas.items():
                other = self.alone[key].deltas[name]
                both = (delta != 0) & (other != 0) if key[0] == "rect" else slice(None)
                error = float((delta[both] - other[both]).norm() / other[both].norm())
                bench.agree(error <= CLOSE, f"{key}, {name}: relative error {error:.1e}")
                worst = max(worst, error)
        return worst

    def _targets(self, hparams: Any) -> dict[str, Tensor]:
        model, tokenizer = self.subject.model, self.subject.tokenizer
        with preserved(model):
            return optimise(
                adapter_for(model),
                tokenizer,
                self.requests,
                hparams,
                self.templates,
                layer=hparams.layers[-1],
                site="layer",
            ).vectors

    def _edit(self, method: str, request: Any, targets: dict[str, Tensor] | None) -> EditEffect:
        return get(method).execute(
            self.subject.model,
            self.subject.tokenizer,
            [request],
            self.hparams[method],
            self.covariance,
            context_templates=self.templates,
            targets=targets,
        )


if __name__ == "__main__":
    raise SystemExit(main())
