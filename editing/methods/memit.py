"""Mass-editing memory: many facts at once, spread over several MLP layers by least squares.

z for each request by optimisation at the last layer's output (`editing.key_value.values`). Then
layer by layer, on the model as edited so far: keys K (mean over context groups), residual
R = (Z − H) / (layers left), ΔW = R Kᵀ (λC + K Kᵀ)⁻¹. The solve is done in float64 on n × n
numbers: (λC + K Kᵀ)⁻¹ K = C⁻¹K (λI + Kᵀ C⁻¹ K)⁻¹, with C factored once.

With `joint_targets` (not of the paper), requests of one key have one z and one column of K and R.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ...loaders.records import RewriteRequest
from ..covariance import Covariance
from ..deltas import EditEffect
from ..errors import EditFailedError
from ..hparams.of.memit import HyperParams
from ..key_value.layerwise import Batch, Update, find_targets, opened, spread
from ..key_value.values import Targets
from ..objectives import Objective

NAME = "memit"
PAPER = "Meng et al. 2023, Mass-Editing Memory in a Transformer (ICLR), §4"
KIND = "weights"
TARGET_SITE = "layer"
TAKES_OBJECTIVE = True
WRITES_AT_SUBJECT = True
SOLVES_WITH_COVARIANCE = True


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
    """Edit all requests at once (contract: `editing.methods`); `state` is not used.

    In a flat list of context templates, the bare template forms a separate group.

    Returns:
        In `state`: `share_reached`, as `Update`.
    """
    with opened(
        model, tokenizer, requests, hparams, covariance, context_templates, seed, objective
    ) as batch:
        found, update = edit(batch, hparams, targets)
        left = batch.residual_left(found.vectors, update.deltas)
    return EditEffect(
        deltas=update.deltas,
        targets=found.vectors,
        state={"share_reached": update.share_reached},
        n_steps=found.n_steps,
        templates=batch.templates,
        factors=update.factors,
        residual_left=left,
    )


def edit(
    batch: Batch, hparams: HyperParams, targets: Mapping[str, Tensor] | None
) -> tuple[Targets, Update]:
    """MEMIT's targets and updates of a batch, the starting point of RECT and PRUNE."""
    found = find_targets(batch, targets)
    solve = partial(solve_keys, batch.moments, hparams=hparams)
    return found, spread(batch, found.vectors, solve)


def weight_for(gram: Tensor, weight: float | None, share: float | None) -> float:
    """The weight added to the diagonal of Kᵀ C⁻¹ K: as given, or by the median key's share.

    Args:
        gram: [n, n], before anything is added.
    """
    if share is None:
        return weight or 0.0
    return float(gram.diagonal().median()) * (1 - share) / share


def solve_keys(covariance: Covariance, name: str, keys: Tensor, hparams: HyperParams) -> Tensor:
    """(λC + K Kᵀ)⁻¹ K for keys K [d_in, n], float64, by the n × n form (MEMIT eq. 14).

    Raises:
        EditFailedError: C is singular, or the result does not solve the equation.
    """
    ridge = hparams.mom2_ridge
    left = covariance.solve(name, keys, ridge=ridge)
    small = keys.T @ left
    weight = weight_for(small, hparams.mom2_update_weight, hparams.update_share)
    small.diagonal().add_(weight)
    solved, info = torch.linalg.solve_ex(small, left, left=False)
    product = weight * covariance.times(name, solved, ridge=ridge) + keys @ (keys.T @ solved)
    if info.item() != 0 or not (product - keys).norm() <= 1e-6 * keys.norm():
        raise EditFailedError(
            f"the least-squares problem of {name} could not be solved",
            remedy="Collect the covariance from more text, set mom2_ridge, or raise "
            "mom2_update_weight.",
        )
    return solved
