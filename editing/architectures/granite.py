"""Granite 3, dense. As Llama, with constant factors: the logits are divided by one of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from thinkeval.editing.architectures import llama

if TYPE_CHECKING:
    from torch import Tensor


def divided(config: Any, logits: Tensor) -> Tensor:
    """Logits divided by `logits_scaling`."""
    return logits / config.logits_scaling


LAYOUT = replace(llama.LAYOUT, logits=divided)
