"""ROME of one fact, MEMIT and AlphaEdit of three, against the plain loop of `yardstick_editors`.

Whole edits on the organism of the graph `hogwarts`, with its hyperparameters: target vectors, keys,
solves and updates. Both sides have the context templates and the covariance; the plain loop's ROME
is its value v* and a dense solve, its AlphaEdit has the dense projector beforehand. Processor time,
in turns; the updates have to agree within 2e-3.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench
import editors
import torch
from torch import Tensor
from yardstick_editors import DenseMemory, Yardstick

from thinkeval.editing import hparams as hparam_files
from thinkeval.editing.architectures import adapter_for
from thinkeval.editing.covariance.projector import null_space
from thinkeval.editing.registry import get

GOAL, CLOSE = 8.0, 2e-3
SIZES = {"rome": 1, "memit": 3, "alphaedit": 3}

Updates = dict[str, Tensor]


def main() -> int:
    """Measure, compare, print; 0 if the target is met."""
    parser = bench.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--organism", type=Path, help="a trained one's folder; else the cache")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    subject = editors.subject("hogwarts", options.organism)
    lines = [line(subject, method, options.repeats) for method in SIZES]
    notes = [
        f"Processor time, medians of {options.repeats} in turns after a warm-up; "
        f"{options.threads} thread(s); updates agree within {CLOSE:g}.",
    ]
    return bench.show("plain_loop", lines, notes, as_json=options.json)


def line(subject: editors.Subject, method: str, repeats: int) -> bench.Line:
    """Both ways of one method, first compared, then timed."""
    hparams: Any = hparam_files.load(method, f"organism-{subject.model.config.model_type}")
    requests, templates = subject.requests(SIZES[method]), subject.templates(hparams)
    covariance = subject.covariance(hparams.layers)
    if method == "rome":
        templates = (tuple(each for group in templates for each in group),)
    plain = Yardstick(subject.model, subject.tokenizer, templates)
    device = torch.device("cpu")

    def ours() -> Updates:
        effect = get(method).execute(
            subject.model, subject.tokenizer, requests, hparams, covariance,
            context_templates=templates,
        )  # fmt: skip
        return effect.deltas

    def projectors() -> dict[str, Tensor]:
        return {
            name: null_space(
                covariance, name, device, threshold=hparams.nullspace_threshold,
                relative=hparams.nullspace_relative, fraction=hparams.nullspace_rank,
            ).times(torch.eye(len(moment), dtype=torch.float64))
            for name, moment in covariance.items()
        }  # fmt: skip

    dense = projectors() if method == "alphaedit" else {}

    def theirs() -> Updates:
        if method == "rome":
            return rome(plain, requests[0], hparams, covariance)
        if method == "memit":
            return plain.memit(requests, hparams, covariance)
        memory = DenseMemory(dense, {name: torch.zeros_like(p) for name, p in dense.items()})
        return plain.alphaedit(requests, hparams, memory)

    _compare(method, ours(), theirs(), adapter_for(subject.model))
    took, instead = [], []
    for _ in range(repeats):
        took.append(_processor(ours))
        instead.append(_processor(theirs))
    return bench.Line(
        f"{method} of {len(requests)} fact(s)",
        "s",
        statistics.median(took),
        statistics.median(instead),
        "the plain loop",
        bench.Goal("ratio", ">=", GOAL),
    )


def rome(plain: Yardstick, request: Any, hparams: Any, covariance: Any) -> Updates:
    """ROME's update by a dense solve: {weight: ΔW [d_out, d_in]}."""
    layer = hparams.layers[0]
    value = plain.value(request, hparams, layer, "mlp")[0].double()
    projection = plain.adapter.mlp_out(layer)
    texts = [plain._text(request, t.format(request.prompt)) for t in plain.templates[0]]
    keys, outputs = (part.double() for part in plain._seen(projection.module, texts))
    mean = keys.mean(0)
    direction = mean
    if hparams.mom2_adjustment:
        moment = covariance[projection.name].double().clone()
        moment.diagonal().add_(hparams.mom2_ridge * moment.diagonal().mean())
        direction = torch.linalg.solve(moment, mean)
    direction = direction / direction.norm()
    key, output = (mean, outputs.mean(0)) if hparams.consistent_key else (keys[0], outputs[0])
    return {projection.weight: torch.outer((value - output) / (key @ direction), direction)}


def _processor(function: Callable[[], Any]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def _compare(method: str, ours: Updates, theirs: Updates, adapter: Any) -> None:
    bench.agree(ours.keys() == theirs.keys(), f"{method}: other weights")
    for name, delta in ours.items():
        module = adapter.model.get_submodule(name.removesuffix(".weight"))
        turned = delta.T if adapter.orientation(module) == "in_out" else delta
        error = float((turned - theirs[name]).norm() / theirs[name].norm())
        bench.agree(error <= CLOSE, f"{method}, {name}: relative error {error:.1e}")


if __name__ == "__main__":
    raise SystemExit(main())
