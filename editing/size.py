"""A model's size by its configuration, and a device's speed at its shapes; no weights are read."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import torch
import transformers

from . import architectures, shapes
from .linear_algebra import linear_algebra_device
from .models import DTYPES, skeleton_of
from .shapes import Cost, Speed


@dataclass(frozen=True, slots=True)
class Size:
    """The numbers of a model that its time and memory depend on.

    Attributes:
        skeleton: the model on the meta device, in its number type.
        n_parameters: tied ones counted once.
        key: d_k, width of the MLP output projection's input.
        weight: parameters of that projection.
        number: bytes of a parameter.
    """

    skeleton: Any
    n_layers: int
    n_parameters: int
    key: int
    weight: int
    vocabulary: int
    number: int

    @property
    def weights(self) -> int:
        """Bytes of all weights."""
        return self.n_parameters * self.number


def size_of(name_or_path: str | Path, *, revision: str | None = None, dtype: str) -> Size:
    """The size of a hub model or a folder, which needs a configuration only.

    Raises:
        ModelLoadError: its configuration cannot be read.
        UnsupportedArchitectureError: its architecture has no adapter.
    """
    skeleton = skeleton_of(name_or_path, revision=revision).to(DTYPES[dtype]).eval()
    layout = architectures.layout_for(skeleton.config, skeleton.config.model_type)
    adapter = architectures.Adapter(skeleton, layout)
    return Size(
        skeleton=skeleton,
        n_layers=adapter.n_layers,
        n_parameters=sum(each.numel() for each in skeleton.parameters()),
        key=adapter.key_size(0),
        weight=skeleton.get_parameter(adapter.mlp_out(0).weight).numel(),
        vocabulary=int(skeleton.config.get_text_config().vocab_size),
        number=DTYPES[dtype].itemsize,
    )


TOKENS = 64
"""Rows of the measured product; few, as in most batches of an edit."""
SQUARE = 512
"""Rows and columns of the float64 matrices."""
SWEPT = 2**28
"""Bytes of matrices that a measurement goes through: more than a cache holds."""
TRIES, ENOUGH_S = 4, 0.2
"""Measurements, and seconds after which there is no further one."""


def speed_of(size: Size, device: torch.device) -> Speed:
    """Measure products with matrices of the MLP output projection's shape; about three seconds."""
    number = next(size.skeleton.parameters()).dtype
    shape = (size.key, size.weight // size.key)
    copies = min(size.n_layers, -(-SWEPT // (size.weight * size.number)))
    matrices = [torch.full(shape, 0.01, dtype=number, device=device) for _ in range(copies)]
    rows = torch.full((TOKENS, size.key), 0.01, dtype=number, device=device)
    one = _seconds(device, lambda: [torch.mm(rows[:1], each) for each in matrices])
    many = _seconds(device, lambda: [torch.mm(rows, each) for each in matrices])
    place = linear_algebra_device(device)
    square = torch.eye(SQUARE, dtype=torch.float64, device=place) + 1 / SQUARE
    host = torch.empty_like(matrices[0], device="cpu")
    seconds, cost = _pass(device, torch.float32, 64, 64, 4)
    speed = Speed(
        flops=2.0 * size.weight * copies * TOKENS / many,
        reading=size.weight * copies * size.number / one,
        wide=2.0 * SQUARE**3 / _seconds(place, lambda: square @ square),
        eigh=9.0 * SQUARE**3 / _seconds(place, lambda: torch.linalg.eigh(square)),
        lu=2 / 3 * SQUARE**3 / _seconds(place, lambda: torch.linalg.lu_factor_ex(square)),
        start=seconds / sum(cost.kernels.values()),
        copying=size.weight * size.number / _seconds(device, lambda: host.to(device, copy=True)),
    )
    # Other operations than products with a matrix are slower by their bytes.
    seconds, cost = _pass(device, number, size.weight // size.key, size.key, TOKENS)
    loss = max(1.0, seconds / cost.seconds(speed))
    return replace(speed, flops=speed.flops / loss, reading=speed.reading / loss)


def _pass(
    device: torch.device, dtype: torch.dtype, width: int, inner: int, tokens: int
) -> tuple[float, Cost]:
    """Seconds and cost of a pass with gradients through two layers of a Llama of some width."""
    shape = {"hidden_size": width, "intermediate_size": inner, "num_attention_heads": 4}
    config = transformers.LlamaConfig(**shape, num_hidden_layers=2, vocab_size=64)
    with torch.device("meta"):
        model: Any = transformers.LlamaForCausalLM(config)
    model.to(dtype).eval()

    def work() -> object:
        ids = torch.zeros(1, tokens, dtype=torch.long, device=model.device)
        logits = model(ids, torch.ones_like(ids), use_cache=False).logits
        return torch.autograd.grad(logits.sum(), list(model.model.layers[0].mlp.parameters()))

    with shapes.on_shapes(model) as cost:
        work()
    model.to_empty(device=device)
    for weight in (*model.parameters(), *model.buffers()):
        torch.nn.init.constant_(weight, 0.01)
    return _seconds(device, work), cost


def _seconds(device: torch.device, work: Callable[[], object]) -> float:
    """Median time of some work: that of the machine as it is."""
    wait: Callable[[], object] = {
        "cuda": torch.cuda.synchronize,
        "mps": torch.mps.synchronize,
    }.get(device.type, lambda: None)
    work()  # the first one also starts a library
    wait()
    found: list[float] = []
    while len(found) < TRIES and sum(found) < ENOUGH_S:
        start = time.perf_counter()
        work()
        wait()
        found.append(time.perf_counter() - start)
    return median(found)
