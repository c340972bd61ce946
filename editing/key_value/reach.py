"""Reach of the value at an edited token: windows of attention limit it.

A layer with a sliding window of w tokens moves a value at most w − 1 tokens further; a layer with
full attention moves it anywhere. An edit whose value cannot reach the end of its prompt has no
effect on the answer: its loss does not depend on the value, and the optimiser follows rounding
errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...loaders.records import RewriteRequest
from ..architectures import Adapter
from ..errors import RequestError
from .tokens import prompt_row

SLIDING = "sliding_attention"


def require_reach(
    adapter: Adapter, tokenizer: Any, requests: Sequence[RewriteRequest], layer: int
) -> None:
    """Refuse a request whose prompt ends further from its subject than the layers above reach.

    Args:
        layer: whose output the value changes, the last edited one.

    Raises:
        RequestError: names the distance and the reach, in tokens.
    """
    reach = reach_above(adapter, layer)
    if reach is None:
        return
    for request in requests:
        row = prompt_row(tokenizer, request)
        distance = len(row.ids) - 1 - row.subject_last
        if distance > reach:
            raise RequestError(
                f"request '{request.id}': its prompt ends {distance} tokens after the subject's "
                f"last token, and the attention windows above layer {layer} reach {reach} tokens, "
                "so that no edit there changes the answer",
                remedy="Write a prompt with the subject closer to its end, or edit a lower layer.",
            )


def reach_above(adapter: Adapter, layer: int) -> int | None:
    """Tokens that a value at a layer's output can move over; None without a limit.

    Windows of several layers add up. The last layer's output moves nowhere in any model; that is no
    matter of windows, and has no limit here.
    """
    reach = 0
    for above in range(layer + 1, adapter.n_layers):
        window = window_of(adapter, above)
        if window is None:
            return None
        reach += window - 1
    return reach or None


def window_of(adapter: Adapter, layer: int) -> int | None:
    """Tokens that a layer attends to, itself included; None for all.

    A configuration without kinds of layers (Mistral, Phi-3) has its window in every layer; one that
    does not use its window holds none.
    """
    model: Any = adapter.model
    config = model.config.get_text_config()
    window = getattr(config, "sliding_window", None)
    kinds = getattr(config, "layer_types", None)
    if window is None or getattr(config, "use_sliding_window", True) is False:
        return None
    return int(window) if not kinds or kinds[layer] == SLIDING else None
