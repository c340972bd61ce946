"""Tensors stored for an update: its low-rank factors if they are smaller, else the update.

The factors are multiplied in a fixed order, one rank after the other in float64, so that the result
is bit-identical on every machine; a matrix product may add in another order. If a method's own
product rounded differently, the few differing entries are stored with the factors.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

CHUNK = 1 << 18
"""Entries computed at a time; they fit into a core's cache."""


def pack(delta: Tensor, factors: tuple[Tensor, Tensor] | None) -> dict[str, Tensor]:
    """The tensors to store for an update, on the CPU; `unpack` restores it bit-identically.

    Args:
        delta: the update, in its parameter's shape.
        factors: (left [rows, r], right [r, columns]) with the update as product; None if unknown.

    Returns:
        `{"delta"}`, or `{"left", "right"}` and, if entries differ, `{"at", "is"}`: indices into the
        flattened update, and the entries there.
    """
    update = delta.detach().cpu().contiguous()
    dense = {"delta": update}
    if factors is None or update.dtype != torch.float32 or update.ndim != 2:
        return dense
    left, right = (factor.detach().cpu().contiguous() for factor in factors)
    room = size(dense) - size({"left": left, "right": right})
    if (left.shape[0], right.shape[1]) != tuple(update.shape) or room <= 0:
        return dense
    # Compared as integers, because 0.0 and -0.0 are equal but have different bits.
    differs = product(left, right).view(torch.int32) != update.view(torch.int32)
    at = differs.flatten().nonzero()[:, 0]
    patch = {"at": at, "is": update.flatten()[at]} if len(at) else {}
    return dense if size(patch) >= room else {"left": left, "right": right} | patch


def unpack(parts: Mapping[str, Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor] | None]:
    """The update, and its factors if it was stored by them.

    Raises:
        KeyError, RuntimeError: the parts do not match.
    """
    if "delta" in parts:
        return parts["delta"], None
    left, right = parts["left"], parts["right"]
    update = product(left, right)
    if "at" in parts:
        update.view(-1)[parts["at"]] = parts["is"]
    return update, (left, right)


def product(left: Tensor, right: Tensor) -> Tensor:
    """Σ_k left[:, k] right[k, :], added in the order of k in float64, rounded once to float32."""
    columns, rows = left.double().T.contiguous(), right.double()
    out = torch.zeros(left.shape[0], right.shape[1])
    step = max(1, CHUNK // max(1, right.shape[1]))
    for start in range(0, left.shape[0], step):
        part = torch.zeros(0)
        for k, (column, row) in enumerate(zip(columns, rows, strict=True)):
            term = column[start : start + step, None] * row
            part = part.add_(term) if k else term
        if len(rows):
            out[start : start + step] = part
    return out


def size(parts: Mapping[str, Tensor]) -> int:
    """Bytes of the tensors."""
    return sum(part.numel() * part.element_size() for part in parts.values())
