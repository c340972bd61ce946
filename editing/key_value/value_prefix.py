"""What stays the same while a vector at the subject's last token is trained, computed once.

Two things do not depend on δ: all that lies below the place where it is added, and, since
attention only looks back, all that lies before the subject's last token. So a step runs the layers
from that place on, for the tokens from the subject's last one on; what they attend to further left
is kept as keys and values. The model itself does the rest (masks, positions, rotary angles): it is
called as in generation, with the earlier tokens in a cache, and its lower layers give the kept
hidden states instead of computing them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer

from thinkeval.editing import nethook
from thinkeval.editing.architectures import Adapter
from thinkeval.editing.key_value.subject_position import Encoded


@dataclass(frozen=True)
class Prefix:
    """The constant part of R rows. P: most tokens before a subject's last one; S: most from it on.

    Attributes:
        first_layer: the first layer that is run; those below give `hidden`.
        hidden: [R, S, d_model] output of the layer below it, from the subject on; None if all run.
        keys, values: of each layer from `first_layer` on, [R, heads, P, head size], the last
            token before the subject at the end; what lies left of a short row is not attended to.
        n_before: P.
        size: how many things a layer returns as a tuple; 0 for a bare tensor.
    """

    first_layer: int
    hidden: Tensor | None
    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]
    n_before: int
    size: int

    def only(self, rows: Tensor, before: int, after: int) -> Prefix:
        """Some rows, by a mask [R], and so many of their tokens before and from the subject on."""
        start = self.n_before - before
        return Prefix(
            self.first_layer,
            None if self.hidden is None else self.hidden[rows, :after],
            tuple(keys[rows, :, start:] for keys in self.keys),
            tuple(values[rows, :, start:] for values in self.values),
            before,
            self.size,
        )

    def forward(self, adapter: Adapter, inputs: Mapping[str, Tensor]) -> None:
        """One forward of the rows' tokens from the subject on; watch it with `nethook`.

        Args:
            inputs: `input_ids` and `position_ids` [R, S], `attention_mask` [R, P + S].
        """
        # A model asks its first layer how many tokens it has kept, also where that does not run.
        unused = torch.zeros(1, 1, self.n_before, 1, device=inputs["input_ids"].device)
        cache = [_Kept(unused, unused) for _ in range(self.first_layer)]
        cache += [_Kept(k, v) for k, v in zip(self.keys, self.values, strict=True)]
        with contextlib.ExitStack() as stack:
            if self.hidden is not None:
                below = [adapter.layer_module(i) for i in range(self.first_layer)]
                stack.enter_context(nethook.answering(below, self.hidden, self.size))
            adapter.model(**inputs, past_key_values=Cache(layers=[*cache]), use_cache=True)


def prefix_of(adapter: Adapter, rows: Encoded, first_layer: int, after: int) -> Prefix:
    """Run whole rows once, without δ.

    Args:
        rows: padded on the right.
        first_layer: the first layer whose input or weights depend on δ.
        after: S, tokens kept from each subject on.
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
        hidden = seen.outputs["h"][here, right.clamp(max=rows.input_ids.shape[1] - 1)]
    keys = tuple(layer.kept[0] for layer in layers)
    values = tuple(layer.kept[1] for layer in layers)
    return Prefix(first_layer, hidden, keys, values, before, seen.sizes.get("h", 0))


class _Kept(DynamicLayer):
    """A cache's layer that gives what it holds before the new tokens, and does not grow."""

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
    """A cache's layer that keeps nothing."""

    def update(
        self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any
    ) -> tuple[Tensor, Tensor]:
        return key_states, value_states


class _Collecting(_Passing):
    """A cache's layer that keeps some places of each row, [R, P], and not the rest."""

    def __init__(self, places: Tensor) -> None:
        super().__init__()
        self.places = places
        self.kept: tuple[Tensor, Tensor] = (torch.empty(0), torch.empty(0))

    def update(
        self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any
    ) -> tuple[Tensor, Tensor]:
        self.kept = (self._chosen(key_states), self._chosen(value_states))
        return key_states, value_states

    def _chosen(self, states: Tensor) -> Tensor:
        index = self.places[:, None, :, None]
        return states.gather(2, index.expand(-1, states.shape[1], -1, states.shape[3]))
