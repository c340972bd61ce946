"""Updates of linear maps as additions to the maps' outputs, without a change of the weights.

For y = x W and an update Δ of W, the edited model's y is x W + x Δ; for a low-rank update Δ = A B
it is x W + (x A) B. So several edited states of one model share a forward pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..architectures import Adapter
from ..deltas import EditEffect
from ..errors import UnsupportedArchitectureError
from ..linear_algebra import in_float64

CLOSE = {torch.float32: 1e-6, torch.float64: 1e-14}
"""Largest difference of a product of factors from its update, relative to the largest entry.

The weights of other types are rounded after an update is added, which no sum of outputs repeats.
"""

BLOCK = 1 << 20
"""Entries of an update that are compared at a time."""


@dataclass(frozen=True)
class Update:
    """The addition of one edit to a linear map's output: x ↦ ((x M_1) M_2) ..., x [..., in].

    Attributes:
        maps: [in, rank] and [rank, out] of a low-rank update, else the one [in, out].
    """

    maps: tuple[Tensor, ...]

    def of(self, inputs: Tensor) -> Tensor:
        """The addition [n, out] for inputs [n, in]."""
        for each in self.maps:
            inputs = inputs @ each
        return inputs


Updates = Mapping[str, Sequence[Update]]
"""By the name of a module, the updates of its weight, of all edits of a state."""


def updates_of(adapter: Adapter, edits: Sequence[EditEffect]) -> dict[str, list[Update]] | None:
    """The edits as additions to outputs of linear maps inside the layers.

    None if they are not: an edit changes another parameter (an embedding, a norm, a bias, a weight
    that two modules share), or the weights are of 16 bits.
    """
    parameters = dict(adapter.model.named_parameters(remove_duplicate=False))
    found: dict[str, list[Update]] = {}
    for edit in edits:
        for name, delta in edit.deltas.items():
            path, _, last = name.rpartition(".")
            weight = parameters.get(name)
            if (
                weight is None
                or weight.dtype not in CLOSE
                or last != "weight"
                or not path.startswith(f"{adapter.layers_path}.")
                or sum(each is weight for each in parameters.values()) > 1
            ):
                return None
            try:
                stored = adapter.orientation(adapter.model.get_submodule(path))
            except UnsupportedArchitectureError:
                return None
            found.setdefault(path, []).append(
                _update(delta, edit.factors.get(name), weight, transposed=stored == "out_in")
            )
    return found


def layer_of(adapter: Adapter, module: str) -> int:
    """Number of the layer that a module is in, by the module's name."""
    return int(module.removeprefix(f"{adapter.layers_path}.").partition(".")[0])


def _update(
    delta: Tensor, factors: tuple[Tensor, Tensor] | None, weight: nn.Parameter, *, transposed: bool
) -> Update:
    """The update as maps that are multiplied from the right, in the weight's type."""
    maps = (delta,)
    if factors is not None and _is_product(delta, factors, CLOSE[weight.dtype]):
        maps = factors
    if transposed:
        maps = tuple(each.T for each in reversed(maps))
    return Update(tuple(each.to(weight.device, weight.dtype) for each in maps))


def _is_product(delta: Tensor, factors: tuple[Tensor, Tensor], close: float) -> bool:
    """Return True if the factors are smaller than the update, and their product equals it."""
    left, right = factors
    if delta.ndim != 2 or left.shape[1] * sum(delta.shape) >= delta.numel():
        return False
    if (left.shape[0], right.shape[1]) != tuple(delta.shape):
        return False
    most = close * float(delta.abs().max())
    step = max(1, BLOCK // delta.shape[1])
    left, right, update = in_float64(left), in_float64(right), in_float64(delta)
    return all(
        bool((left[i : i + step] @ right - update[i : i + step]).abs().max() <= most)
        for i in range(0, len(update), step)
    )
