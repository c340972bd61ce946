"""Rows of token ids padded to one length, with attention mask and positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

import torch
from torch import Tensor

from .errors import EditingError


@dataclass(frozen=True)
class Padded:
    """A batch of token rows, padded on one side.

    Attributes:
        input_ids: [n, length], padded with the tokenizer's pad token.
        attention_mask: [n, length], 1 on real tokens.
        position_ids: [n, length], counted from 0 over the real tokens (0 on padding). GPT-2 needs
            them with left padding: without, probabilities shift.
        lengths: [n], number of real tokens of a row.
    """

    input_ids: Tensor
    attention_mask: Tensor
    position_ids: Tensor
    lengths: Tensor

    def inputs(self) -> dict[str, Tensor]:
        """The keyword arguments of a model's forward pass."""
        return {
            "input_ids": self.input_ids,
            "attention_mask": self.attention_mask,
            "position_ids": self.position_ids,
        }

    def to(self, device: torch.device | str) -> Self:
        """The same batch on a device."""
        return type(self)(*(getattr(self, item.name).to(device) for item in fields(self)))


def pad(
    rows: Sequence[Sequence[int]],
    pad_id: int,
    padding_side: str = "right",
    device: torch.device | str = "cpu",
) -> Padded:
    """Pad rows of token ids to the length of the longest.

    Raises:
        EditingError: `padding_side` is neither `left` nor `right`.
    """
    if padding_side not in ("left", "right"):
        raise EditingError(f"padding_side is '{padding_side}'; it must be 'left' or 'right'")
    width = max(map(len, rows), default=0)
    ids = torch.full((len(rows), width), pad_id, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for i, row in enumerate(rows):
        at = slice(width - len(row), width) if padding_side == "left" else slice(0, len(row))
        ids[i, at] = torch.tensor(row, dtype=torch.long)
        mask[i, at] = 1
    positions = (mask.cumsum(1) - 1).clamp(min=0) * mask
    return Padded(ids, mask, positions, mask.sum(1)).to(device)
