"""A model's size by its configuration, and a device's speed at its shapes; no weights are read."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from . import architectures
from .linear_algebra import linear_algebra_device
from .models import DTYPES, skeleton_of


@dataclass(frozen=True, slots=True)
class Size:
    """The numbers of a model that its time and memory depend on.

    Attributes:
        skeleton: the model on the meta device, in its number type.
        n_parameters: tied ones counted once.
        in_layer: parameters of a decoder layer, on average.
        in_head: parameters of the map to the vocabulary, counted where it is tied too.
        key: d_k, width of the MLP output projection's input.
        weight: parameters of that projection.
        number: bytes of a parameter.
    """

    skeleton: Any
    n_layers: int
    n_parameters: int
    in_layer: int
    in_head: int
    key: int
    weight: int
    vocabulary: int
    number: int

    @property
    def config(self) -> Any:
        """The configuration of the language model."""
        return self.skeleton.config.get_text_config()

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
    skeleton = skeleton_of(name_or_path, revision=revision).to(DTYPES[dtype])
    layout = architectures.layout_for(skeleton.config, skeleton.config.model_type)
    adapter = architectures.Adapter(skeleton, layout)
    layers = [_count(adapter.layer_module(i)) for i in range(adapter.n_layers)]
    return Size(
        skeleton=skeleton,
        n_layers=adapter.n_layers,
        n_parameters=_count(skeleton),
        in_layer=sum(layers) // len(layers),
        in_head=_count(adapter.lm_head),
        key=adapter.key_size(0),
        weight=skeleton.get_parameter(adapter.mlp_out(0).weight).numel(),
        vocabulary=int(skeleton.config.get_text_config().vocab_size),
        number=DTYPES[dtype].itemsize,
    )


def _count(module: Any) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@dataclass(frozen=True, slots=True)
class Speed:
    """The measured speed of a device with matrices of a model's shape.

    Attributes:
        flops: FLOP/s of a product with `TOKENS` rows, beyond reading the matrix.
        reading: bytes of weights read in a second by a product with one row.
        wide: FLOP/s in float64, where linear systems are solved.
    """

    flops: float
    reading: float
    wide: float


TOKENS = 64
"""Rows of the measured product; few, as in most batches of an edit."""
SQUARE = 512
"""Rows and columns of the float64 product."""
SWEPT = 2**28
"""Bytes of matrices that a measurement goes through: more than a cache holds."""
TRIES, ENOUGH_S = 4, 0.2
"""Measurements, and seconds after which there is no further one."""


def speed_of(size: Size, device: torch.device) -> Speed:
    """Measure products with matrices of the MLP output projection's shape; about two seconds."""
    number = next(size.skeleton.parameters()).dtype
    shape = (size.key, size.weight // size.key)
    copies = min(size.n_layers, -(-SWEPT // (size.weight * size.number)))
    matrices = [torch.full(shape, 0.01, dtype=number, device=device) for _ in range(copies)]
    rows = torch.full((TOKENS, size.key), 0.01, dtype=number, device=device)
    one = _seconds(device, rows[:1], matrices)
    many = _seconds(device, rows, matrices)
    place = linear_algebra_device(device)
    square = torch.full((SQUARE, SQUARE), 0.01, dtype=torch.float64, device=place)
    return Speed(
        flops=2.0 * size.weight * copies * (TOKENS - 1) / max(many - one, 0.1 * many),
        reading=size.weight * copies * size.number / one,
        wide=2.0 * SQUARE**3 / _seconds(place, square, [square]),
    )


def _seconds(device: torch.device, left: Tensor, matrices: Sequence[Tensor]) -> float:
    """Shortest time of the products with all matrices."""
    wait: Callable[[], object] = {
        "cuda": torch.cuda.synchronize,
        "mps": torch.mps.synchronize,
    }.get(device.type, lambda: None)
    torch.mm(left, matrices[0])  # the first product of a device also starts its library
    wait()
    found: list[float] = []
    while len(found) < TRIES and sum(found) < ENOUGH_S:
        start = time.perf_counter()
        for matrix in matrices:
            torch.mm(left, matrix)
        wait()
        found.append(time.perf_counter() - start)
    return min(found)
