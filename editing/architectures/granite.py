"""Granite 3, dense. As Llama, with constant factors on the blocks' outputs and the logits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from . import llama

if TYPE_CHECKING:
    from torch import Tensor


def divided(config: Any, logits: Tensor) -> Tensor:
    """Logits divided by `logits_scaling`."""
    return logits / config.logits_scaling


def factor(config: Any) -> float:
    """The factor on a block's output in the residual stream, `residual_multiplier`."""
    return config.residual_multiplier


LAYOUT = replace(llama.LAYOUT, logits=divided, residual_factor=factor)
