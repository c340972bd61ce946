"""Gemma 2. Norms around attention and MLP; the logits are capped: c · tanh(logits / c).

MEMIT and its family reach z only as far as the norms let through; an edit's record has the rest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from . import llama

if TYPE_CHECKING:
    from torch import Tensor


def capped(config: Any, logits: Tensor) -> Tensor:
    """Logits within ±`final_logit_softcapping` (Gemma 2 report, §2, logit soft-capping)."""
    cap = config.final_logit_softcapping
    return logits if cap is None else (logits / cap).tanh() * cap


LAYOUT = replace(llama.LAYOUT, logits=capped, post_norm="post_feedforward_layernorm")
