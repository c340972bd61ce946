"""Command R. Llama's modules, the MLP beside attention; the logits are multiplied by a constant."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from . import llama

if TYPE_CHECKING:
    from torch import Tensor


def multiplied(config: Any, logits: Tensor) -> Tensor:
    """Logits multiplied by `logit_scale`."""
    return logits * config.logit_scale


LAYOUT = replace(llama.LAYOUT, logits=multiplied)
