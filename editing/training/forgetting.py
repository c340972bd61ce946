"""Training that makes a model forget: the loop of gradient ascent, NPO and RMU.

AdamW on the MLP output projections of the chosen layers. Each step takes all facts to forget and
one batch of facts to retain; the method gives the loss. The model itself is not modified.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ...loaders.records import RewriteRequest
from .. import interruption
from ..architectures import Adapter
from ..deltas import EditEffect
from ..hparams.forgetting import ForgetHyperParams
from ..key_value.sites import editable
from .texts import Texts, to_forget, to_retain
from .weights import (
    as_stored,
    changes,
    constrain,
    leaves,
    set_gradients,
    trained_weights,
    widened,
)

Weights = Mapping[str, Tensor]

Loss = Callable[[Weights, list[int], Texts], Tensor | None]
"""(weights, numbers of the texts to retain, these texts) → loss; None: nothing is left to do."""


@dataclass(frozen=True)
class Setting:
    """The inputs from which a method builds its loss; gradients are off while it does.

    Attributes:
        weights: the trained weights before training.
        forget, retain: all texts of each.
    """

    adapter: Adapter
    weights: Weights
    forget: Texts
    retain: Texts


def forgotten(
    model: nn.Module,
    tokenizer: Any,
    requests: Sequence[RewriteRequest],
    hparams: ForgetHyperParams,
    state: Any,
    seed: int,
    loss_for: Callable[[Setting], Loss],
) -> EditEffect:
    """The effect of training on all requests together (contract: `editing.methods`).

    Args:
        state: with the facts to retain, `state["retain"]`.
        seed: of the order of the texts to retain.
        loss_for: the method's loss, of its setting.
    """
    with editable(model, tokenizer, requests, hparams.layers, target="target_true") as adapter:
        originals = trained_weights(adapter, hparams.layers, hparams.rewrite_module_tmp)
        forget, retain = (
            to_forget(adapter, tokenizer, requests),
            to_retain(adapter, tokenizer, state),
        )
        with torch.no_grad():
            loss = loss_for(Setting(adapter, originals, forget, retain))
        batches = retain.batches(hparams.retain_batch_size, seed)
        weights = widened(originals)
        steps = _train(weights, originals, hparams, lambda w: loss(w, *next(batches)))
        final = as_stored(weights, originals, hparams.norm_constraint)
        return EditEffect(
            changes(final, originals), n_steps={request.id: steps for request in requests}
        )


def _train(
    weights: Mapping[str, Tensor],
    originals: Weights,
    hparams: ForgetHyperParams,
    loss_of: Callable[[Weights], Tensor | None],
) -> int:
    """Train `weights`, float32 or wider, in place; the number of steps."""
    adam = torch.optim.AdamW(
        list(weights.values()), lr=hparams.lr, weight_decay=hparams.weight_decay
    )
    for step in range(hparams.num_steps):
        interruption.check()
        asked = leaves(weights)
        loss = loss_of(asked)
        if loss is None:
            return step
        set_gradients(weights, asked, loss)
        adam.step()
        constrain(weights, originals, hparams.norm_constraint)
    return hparams.num_steps
