"""Self-check of an adapter: its logits against the model's own, on one short prompt.

Editors do not read a model's logits: they stop the forward pass at the head and apply norm, head
and `Layout.logits` themselves, at a few positions. An architecture that does more (Gemma 2 caps its
logits, Granite and Cohere scale them) would be edited towards another prediction without any sign.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from .. import nethook
from ..errors import AdapterMismatchError
from ..evaluation_mode import evaluating
from ._adapter import Adapter

_checked: weakref.WeakSet[nn.Module] = weakref.WeakSet()
"""Models whose adapter agrees with them. Not an attribute of the model: an edit leaves none."""

PROMPT = (5, 11, 2, 7, 3)
"""Token ids of the prompt, modulo the vocabulary; any tokens serve."""

ROUNDING = 8
"""Allowed difference in units of the number type's ε times the largest logit, at least `FLOOR` of
it. Both sides run the same operations on the same numbers, so that they usually agree bit for bit;
a GPU may add in another order."""

FLOOR = 1e-4


def check_once(adapter: Adapter) -> None:
    """Compare an adapter with its model, unless that was done for this model object before.

    Raises:
        AdapterMismatchError: their logits differ; names the architecture and the difference.
    """
    model: Any = adapter.model
    if model in _checked or next(model.parameters()).device.type == "meta":
        return
    paths, own = _logits(adapter)
    for path, found in paths.items():
        difference, allowed = _greatest_difference(found, own)
        if not difference <= allowed:
            raise AdapterMismatchError(
                f"the adapter of '{model.config.model_type}' does not compute the logits of "
                f"{type(model).__name__}: {path} differs from the model by up to {difference:.3g} "
                f"on a short prompt (largest logit {float(own.abs().max()):.3g})"
            )
    _checked.add(model)


@torch.no_grad()
def _logits(adapter: Adapter) -> tuple[dict[str, Tensor], Tensor]:
    """The logits by each of the editors' paths, and by the model, [1, length, vocabulary]."""
    model: Any = adapter.model
    table: Any = adapter.embeddings.weight
    ids = torch.tensor([[token % len(table) for token in PROMPT]], device=table.device)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    last = adapter.layer_module(adapter.n_layers - 1)
    watched = nethook.recording(inputs={"end": adapter.lm_head}, outputs={"last": last})
    with _undisturbed(model), watched as seen:
        own = nethook.forward(model, inputs).logits
        normed = adapter.final_norm(seen.outputs["last"])
    return {
        "its head with its logits function": adapter.logits(seen.inputs["end"]),
        "its last layer, norm and head": adapter.logits(normed),
    }, own.float()


def _greatest_difference(found: Tensor, own: Tensor) -> tuple[float, float]:
    """The greatest absolute difference, and the allowed one. NaN equals NaN: it is no mismatch."""
    if found.shape != own.shape:
        return float("inf"), 0.0
    wide = found.float().to(own.device)
    same = (wide == own) | (wide.isnan() & own.isnan())
    difference = torch.where(same, 0.0, (wide - own).abs()).nan_to_num(nan=torch.inf)
    size = own[own.isfinite()].abs()
    largest = float(size.max()) if len(size) else 0.0
    relative = max(FLOOR, ROUNDING * torch.finfo(found.dtype).eps)
    return float(difference.max()), relative * largest


@contextlib.contextmanager
def _undisturbed(model: nn.Module) -> Iterator[None]:
    """Evaluation mode without an effect on the random generators; restored on exit."""
    cuda = sorted({p.device.index for p in model.parameters() if p.device.type == "cuda"})
    with torch.random.fork_rng(devices=cuda), evaluating(model):
        yield
