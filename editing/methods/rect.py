"""Relative-change regularisation: MEMIT's update, restricted to the largest relative changes.

After MEMIT's updates have been computed (each layer's residual with the complete updates of the
layers before it), the k % of a matrix' entries with the largest relative change |ΔW / W| retain
their update, W being the weight before this batch; the others become 0.

Two masks. `paper` (default): exactly the k % of entries with the largest |ΔW / W|, as defined in
the paper. `published_code`: |ΔW / (W + 1e-8)|, and every entry from the quantile on, which is one
entry more, and all entries that tie with it. Apart from ties the two differ by that one entry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from ...loaders.records import RewriteRequest
from ..deltas import EditEffect
from ..hparams.of.rect import HyperParams
from ..key_value.layerwise import opened
from ..linear_algebra import in_float64
from ..objectives import Objective
from . import memit

NAME = "rect"
PAPER = (
    "Gu et al. 2024, Model Editing Harms General Abilities of Large Language Models: "
    "Regularization to the Rescue (EMNLP)"
)
KIND = "weights"
TARGET_SITE = "layer"
TAKES_OBJECTIVE = True
WRITES_AT_SUBJECT = True
SOLVES_WITH_COVARIANCE = True

EPSILON = 1e-8
"""Added to each weight before division in the published code."""


def covariance_layers(hparams: HyperParams) -> tuple[int, ...]:
    """All edited layers."""
    return hparams.layers


def execute(
    model: nn.Module,
    tokenizer: Any,
    requests: Sequence[RewriteRequest],
    hparams: HyperParams,
    covariance: Mapping[str, Tensor] | None,
    *,
    context_templates: Any = None,
    targets: Mapping[str, Tensor] | None = None,
    state: Any = None,
    seed: int = 0,
    objective: Objective | None = None,
) -> EditEffect:
    """Edit all requests at once with MEMIT's targets (contract: `editing.methods`).

    In a sequence W is the weight with the earlier batches' updates, as published.
    """
    with opened(
        model, tokenizer, requests, hparams, covariance, context_templates, seed, objective
    ) as batch:
        found, update = memit.edit(batch, hparams, targets)
        deltas = {
            name: delta
            * retained(delta, model.get_parameter(name), hparams.k_percent, hparams.mask)
            for name, delta in update.deltas.items()
        }
        left = batch.residual_left(found.vectors, deltas)
    return EditEffect(
        deltas=deltas,
        targets=found.vectors,
        n_steps=found.n_steps,
        templates=batch.templates,
        residual_left=left,
    )


def retained(
    delta: Tensor, weight: Tensor, k_percent: float, mask: Literal["paper", "published_code"]
) -> Tensor:
    """Mask of the entries that retain their update, in the update's shape.

    A non-zero update of a zero weight is an infinite change; a zero update is no change.
    """
    update, before = in_float64(delta), in_float64(weight.detach().to(delta.device))
    n = update.numel()
    if mask == "paper":
        change = (update / before).abs().nan_to_num(nan=0.0, posinf=torch.inf).flatten()
        chosen = torch.zeros(n, dtype=torch.bool, device=update.device)
        chosen[change.topk(round(n * k_percent / 100)).indices] = True
        return chosen.view_as(delta)
    change = (update / (before + EPSILON)).abs().flatten()
    place = int(n * (1 - k_percent / 100))
    if place == 0:
        return torch.ones_like(update, dtype=torch.bool)
    return (change >= change.kthvalue(place).values).view_as(delta)
