"""The solves of MEMIT and AlphaEdit on n x n numbers, against dense ones over d_in x d_in.

MEMIT factors a layer's covariance C once; AlphaEdit finds the null space of C once. `first` is the
first batch of edits, with that; `further` is each later one, on new keys. The dense side is the
published form: an LU solve over d_in x d_in for every batch (for AlphaEdit with a dense projector,
which it is given, and a dense sum of past keys). Keys and C are random, C of rank 64 upon a
diagonal that falls from 1 to 1e-4. Results have to agree within 1e-6. `kept` is what AlphaEdit
holds for a layer: basis of the null space (or of its complement, the smaller) and past keys in
float64, against projector and sum of past keys in float32 as published.
"""

from __future__ import annotations

import math
import statistics
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench
import torch
from torch import Tensor

from thinkeval.editing.covariance.projector import null_space
from thinkeval.editing.covariance.statistics import Covariance
from thinkeval.editing.methods import alphaedit, memit

NAME = "layer"
CLOSE = 1e-6
GOAL = 5.0
"""How many times faster a further batch has to be from d_in = 2048 on."""


def main() -> int:
    """Measure, compare, print; 0 if the targets are met."""
    parser = bench.parser(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[512, 2048, 4096], help="d_in")
    parser.add_argument(
        "--alphaedit-sizes", type=int, nargs="*", default=[512, 2048], help="eigh: minutes at 4096"
    )
    parser.add_argument("--requests", type=int, default=10, help="of a batch")
    parser.add_argument("--past", type=int, default=100, help="requests edited before (AlphaEdit)")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    lines: list[bench.Line] = []
    for size in options.sizes:
        bench.say(f"MEMIT, d_in = {size}")
        lines += memit_lines(size, options)
    for size in options.alphaedit_sizes:
        bench.say(f"AlphaEdit, d_in = {size}")
        lines += alphaedit_lines(size, options)
    notes = [
        f"Batches of {options.requests} requests, one layer, float64, {options.threads} threads; "
        f"further: median of {options.repeats}.",
        *_growth(lines),
    ]
    return bench.show("solves", lines, notes, as_json=options.json)


def memit_lines(size: int, options: Any) -> list[bench.Line]:
    """First and further batches of MEMIT's solve."""
    generator = torch.Generator().manual_seed(options.seed)
    moments = Covariance({NAME: _moment(size, generator)})
    hparams: Any = _hparams(memit, mom2_update_weight=100.0)

    def ours(keys: Tensor) -> Tensor:
        return memit.solve_keys(moments, NAME, keys, hparams)

    def dense(keys: Tensor) -> Tensor:
        left = hparams.mom2_update_weight * moments[NAME].double() + keys @ keys.T
        return torch.linalg.solve(left, keys)

    return _lines("MEMIT", size, ours, dense, generator, options)


def alphaedit_lines(size: int, options: Any) -> list[bench.Line]:
    """The same of AlphaEdit's, with past keys; and the memory it keeps."""
    generator = torch.Generator().manual_seed(options.seed)
    moments = Covariance({NAME: _moment(size, generator)})
    past, level = _keys(size, options.past, generator), 10.0
    whole: dict[str, Tensor] = {}

    def ours(keys: Tensor) -> Tensor:
        projector = null_space(moments, NAME, torch.device("cpu"), threshold=0.02)
        return alphaedit.solve_keys(projector, past, keys, level, NAME)

    def dense(keys: Tensor) -> Tensor:
        left = whole["P"] @ (keys @ keys.T + whole["past"])
        left.diagonal().add_(level)
        return torch.linalg.solve(left, whole["P"] @ keys)

    def prepare() -> None:
        projector = null_space(moments, NAME, torch.device("cpu"), threshold=0.02)
        whole["P"] = projector.times(torch.eye(size, dtype=torch.float64))
        whole["past"] = past @ past.T

    lines = _lines("AlphaEdit", size, ours, dense, generator, options, prepare)
    basis = null_space(moments, NAME, torch.device("cpu"), threshold=0.02).basis
    kept = [basis.numel() * 8, past.numel() * 8]
    name = "dense P and sum of keys, float32"
    what = f"AlphaEdit kept for a layer, d_in = {size}, {options.past} past requests"
    grows = f"of that, grows with a sequence (d_in = {size})"
    return [
        *lines,
        bench.Line(what, "MB", sum(kept) / 1e6, 2 * size**2 * 4 / 1e6, name),
        bench.Line(grows, "MB", kept[1] / 1e6, size**2 * 4 / 1e6, "dense sum of keys"),
    ]


def _lines(
    method: str,
    size: int,
    ours: Any,
    dense: Any,
    generator: torch.Generator,
    options: Any,
    prepare: Any = None,
) -> list[bench.Line]:
    batches = [_keys(size, options.requests, generator) for _ in range(options.repeats + 1)]
    first = bench.seconds(lambda: ours(batches[0]))
    if prepare is not None:
        prepare()
    further, plain = [], []
    # In turns, so that other load on the machine slows both down.
    for keys in batches[1:]:
        further.append(bench.seconds(lambda keys=keys: ours(keys)))
        plain.append(bench.seconds(lambda keys=keys: dense(keys)))
    later, instead = statistics.median(further), statistics.median(plain)
    expected = dense(batches[0])
    worst = float((ours(batches[0]) - expected).norm() / expected.norm())
    bench.agree(worst <= CLOSE, f"{method}, d_in = {size}: relative error {worst:.1e}")
    goal = bench.Goal("ratio", ">=", GOAL) if size >= 2048 else None
    return [
        bench.Line(f"{method} first, d_in = {size}", "s", first, instead, "dense"),
        bench.Line(f"{method} further, d_in = {size}", "s", later, instead, "dense", goal),
    ]


def _growth(lines: list[bench.Line]) -> list[str]:
    """By which power of d_in the time of a further batch grows, between the two largest."""
    told = []
    for method in ("MEMIT", "AlphaEdit"):
        found = [line for line in lines if line.what.startswith(f"{method} further")]
        if len(found) > 1:
            (few, many), sizes = found[-2:], [int(line.what.split()[-1]) for line in found[-2:]]
            step = math.log(sizes[1] / sizes[0])
            ours, theirs = (
                math.log(b / a) / step
                for a, b in ((few.ours, many.ours), (few.instead or 1, many.instead or 1))
            )
            told.append(
                f"{method}: from d_in = {sizes[0]} to {sizes[1]} a further batch grows by the "
                f"power {ours:.1f}, the dense one by {theirs:.1f}."
            )
    return told


def _moment(size: int, generator: torch.Generator) -> Tensor:
    factor = torch.randn(size, 64, generator=generator) / 8
    return torch.diag(torch.logspace(0, -4, size)) + factor @ factor.T


def _keys(size: int, n: int, generator: torch.Generator) -> Tensor:
    return torch.randn(size, n, generator=generator, dtype=torch.float64)


def _hparams(method: Any, **changes: Any) -> Any:
    value = {"v_num_grad_steps": 1, "v_lr": 1.0, "v_weight_decay": 0.0, "kl_factor": 0.0}
    return method.HyperParams.from_dict(
        {"layers": [0], "clamp_norm_factor": 1.0, **value, **changes}
    )


if __name__ == "__main__":
    raise SystemExit(main())
