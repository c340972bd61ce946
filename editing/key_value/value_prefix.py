"""Constant part of the forward passes of the value optimisation, computed once.

Independent of δ, the vector added at the subject's last token, are the layers below it and, because
attention is causal, all earlier tokens. So an optimisation step runs only the layers from δ's on,
for the tokens from the subject's last token on; the keys and values of earlier tokens are cached.
The model is called as in generation, with the earlier tokens in its cache (so masks, positions and
rotary angles are its own), and its lower layers return the cached hidden states.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer

from .. import nethook
from ..architectures import Adapter
from .subject_position import Encoded


@dataclass(frozen=True)
class Prefix:
    """Constant part of R rows; P, S: maximum number of tokens before and from the subject's last.

    Attributes:
        first_layer: the first layer that is computed; those below return `hidden`.
        hidden: [R, S, d_model] output of the layer below it, from the subject on; None if all
            layers are computed.
        keys, values: of each layer from `first_layer` on, [R, heads, P, head size], aligned on the
            right; positions left of a short row are not attended to.
        n_before: P.
        size: number of elements of the tuple that a layer returns; 0 for a bare tensor.
    """

    first_layer: int
    hidden: Tensor | None
    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]
    n_before: int
    size: int

    def only(self, rows: Tensor, before: int, after: int) -> Prefix:
        """Rows selected by a mask [R], cut to `before` and `after` tokens around the subject."""
        start = self.n_before - before
        return Prefix(
            self.first_layer,
            None if self.hidden is None else self.hidden[rows, :after],
            tuple(keys[rows.to(keys.device), :, start:] for keys in self.keys),
            tuple(values[rows.to(values.device), :, start:] for values in self.values),
            before,
            self.size,
        )

    def forward(self, adapter: Adapter, inputs: Mapping[str, Tensor]) -> None:
        """One forward pass of the tokens from the subject on; record it with `nethook`.

        Args:
            inputs: `input_ids` and `position_ids` [R, S], `attention_mask` [R, P + S].
        """
        # The model reads the number of cached tokens from its first layer, computed or not.
        unused = torch.zeros(1, 1, self.n_before, 1, device=inputs["input_ids"].device)
        cache = [_Constant(unused, unused) for _ in range(self.first_layer)]
        cache += [_Constant(k, v) for k, v in zip(self.keys, self.values, strict=True)]
        with contextlib.ExitStack() as stack:
            if self.hidden is not None:
                below = [adapter.layer_module(i) for i in range(self.first_layer)]
                stack.enter_context(nethook.answering(below, self.hidden, self.size))
            adapter.model(**inputs, past_key_values=Cache(layers=[*cache]), use_cache=True)


def prefix_of(adapter: Adapter, rows: Encoded, first_layer: int, after: int) -> Prefix:
    """Run complete rows once, without δ.

    Args:
        rows: padded on the right.
        first_layer: the first layer whose input or weights depend on δ.
        after: S, number of tokens from each subject on.
    """
    places = rows.subject_last
    before = int(places.max())
    left = places[:, None] - before + torch.arange(before, device=places.device)
    layers = [_Collecting(left.clamp(min=0)) for _ in range(adapter.n_layers - first_layer)]
    cache: list[Any] = [*[_Passing() for _ in range(first_layer)], *layers]
    watched = {"h": adapter.layer_module(first_layer - 1)} if first_layer else {}
    last = adapter.layer_module(adapter.n_layers - 1)
    with torch.no_grad(), nethook.recording(outputs=watched, stop_after=last) as seen:
        adapter.model(**rows.inputs(), past_key_values=Cache(layers=cache), use_cache=True)
    hidden = None
    if first_layer:
        right = places[:, None] + torch.arange(after, device=places.device)
        here = torch.arange(len(places), device=places.device)[:, None]
        right = right.clamp(max=rows.input_ids.shape[1] - 1)
        hidden = nethook.at(seen.outputs["h"], here, right)
    keys = tuple(layer.recorded[0] for layer in layers)
    values = tuple(layer.recorded[1] for layer in layers)
    return Prefix(first_layer, hidden, keys, values, before, seen.sizes.get("h", 0))


class _Constant(DynamicLayer):
    """Cache layer that prepends its constant keys and values to new ones, without growing."""

    def __init__(self, keys: Tensor, values: Tensor) -> None:
        super().__init__()
        self.keys, self.values = keys, values
        self.dtype, self.device, self.is_initialized = keys.dtype, keys.device, True

    def update(
        self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any
    ) -> tuple[Tensor, Tensor]:
        keys = torch.cat([self.keys, key_states], dim=-2)  # type: ignore[list-item]
        return keys, torch.cat([self.values, value_states], dim=-2)  # type: ignore[list-item]


class _Passing(DynamicLayer):
    """Cache layer that stores nothing."""

    def update(
        self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any
    ) -> tuple[Tensor, Tensor]:
        return key_states, value_states


class _Collecting(_Passing):
    """Cache layer that records selected positions of each row, [R, P]."""

    def __init__(self, places: Tensor) -> None:
        super().__init__()
        self.places = places
        self.recorded: tuple[Tensor, Tensor] = (torch.empty(0), torch.empty(0))

    def update(
        self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any
    ) -> tuple[Tensor, Tensor]:
        self.recorded = (self._chosen(key_states), self._chosen(value_states))
        return key_states, value_states

    def _chosen(self, states: Tensor) -> Tensor:
        index = self.places[:, None, :, None].to(states.device)
        return states.gather(2, index.expand(-1, states.shape[1], -1, states.shape[3]))
