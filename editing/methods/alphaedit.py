"""Null-space constrained editing: MEMIT with updates that preserve the layer's knowledge.

As MEMIT up to the solve; then, with P the projector on the null space of the layer's covariance
(`editing.covariance.projector`), Kₚ the keys of all earlier batches of a sequence and R the
residual,

    ΔW = R Kᵀ P (Kₚ Kₚᵀ P + K Kᵀ P + L2 · I)⁻¹.

The solve is done in float64 on n × n numbers: with A = [Kₚ, K],
ΔWᵀ = P A (Aᵀ P A + L2 · I)⁻¹ [0; I] Rᵀ, equal because P is a projector. Of earlier batches only
the keys are stored, never a d_in × d_in matrix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ...loaders.records import RewriteRequest
from ..covariance.projector import Projector, null_space
from ..deltas import EditEffect, applied
from ..errors import EditFailedError, EditingError
from ..hparams.of.alphaedit import HyperParams
from ..key_value.layerwise import Batch, find_targets, opened, spread
from ..objectives import Objective
from . import memit

NAME = "alphaedit"
PAPER = "Fang et al. 2025, AlphaEdit: Null-Space Constrained Knowledge Editing (ICLR), §3"
KIND = "weights"
TARGET_SITE = "layer"
TAKES_OBJECTIVE = True
WRITES_AT_SUBJECT = True


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
    state: Mapping[str, Any] | None = None,
    seed: int = 0,
    objective: Objective | None = None,
) -> EditEffect:
    """Edit all requests at once with MEMIT's targets (contract: `editing.methods`).

    Returns:
        In `state`: `past_keys` {module name: [d_in, n] float64} of all batches so far, each
        computed on the model after its batch; `nullspace_rank` {module name: rank of P} and
        `nullspace_bound` {module name: eigenvalue}; and `share_reached`, as `Update`.

    Raises:
        HparamsError: the null space has rank 0 or full rank, before any target is optimised.
        EditingError: the state is not of this model and method.
    """
    with opened(
        model, tokenizer, requests, hparams, covariance, context_templates, seed, objective
    ) as batch:
        projectors = _projectors(batch, hparams)
        past = _past_keys(batch, projectors, state)
        found = find_targets(batch, targets)

        def solve(name: str, keys: Tensor) -> Tensor:
            return solve_keys(projectors[name], past[name], keys, hparams, name)

        update = spread(batch, found.vectors, solve)
        with applied(model, EditEffect(update.deltas)):
            new = {batch.module(layer): batch.keys(layer) for layer in hparams.layers}
        left = batch.residual_left(found.vectors, update.deltas)
    return EditEffect(
        deltas=update.deltas,
        targets=found.vectors,
        state={
            "share_reached": update.share_reached,
            "past_keys": {name: joined(past[name], keys) for name, keys in new.items()},
            "nullspace_rank": {name: p.rank for name, p in projectors.items()},
            "nullspace_bound": {name: p.bound for name, p in projectors.items()},
        },
        n_steps=found.n_steps,
        templates=batch.templates,
        factors=update.factors,
        residual_left=left,
    )


def solve_keys(
    projector: Projector, past: Tensor, keys: Tensor, hparams: HyperParams, name: str
) -> Tensor:
    """(P (Kₚ Kₚᵀ + K Kᵀ) + L2 · I)⁻¹ P K for keys K [d_in, n] and Kₚ [d_in, m], float64.

    Raises:
        EditFailedError: the system is singular (only for L2 = 0), or the solution is inaccurate.
    """
    seen = projector.times(torch.cat([past, keys], dim=1))
    gram = seen.T @ seen
    n = keys.shape[1]
    l2 = memit.weight_for(gram[-n:, -n:], hparams.L2, hparams.update_share)
    gram.diagonal().add_(l2)
    last = torch.eye(len(gram), dtype=gram.dtype, device=gram.device)[:, -n:]
    weights, info = torch.linalg.solve_ex(gram, last)
    if info.item() != 0 or not (gram @ weights - last).norm() <= 1e-6 * last.norm():
        raise EditFailedError(
            f"the least-squares problem of {name} could not be solved",
            remedy="Raise L2; at 0, keys that are linearly dependent within the null space have no "
            "unique solution.",
        )
    return seen @ weights


def joined(past: Tensor, keys: Tensor) -> Tensor:
    """All keys so far, [d_in, m + n], or fewer columns with the same K Kᵀ.

    At most d_in columns are needed: with Kᵀ = Q T, K Kᵀ = Tᵀ T and Tᵀ is [d_in, d_in].
    """
    together = torch.cat([past, keys], dim=1)
    if together.shape[1] <= together.shape[0]:
        return together
    return torch.linalg.qr(together.T, mode="r").R.T.contiguous()


def _projectors(batch: Batch, hparams: HyperParams) -> dict[str, Projector]:
    device = next(batch.adapter.model.parameters()).device
    names = [batch.module(layer) for layer in hparams.layers]
    return {
        name: null_space(
            batch.moments,
            name,
            device,
            threshold=hparams.nullspace_threshold,
            relative=hparams.nullspace_relative,
            fraction=hparams.nullspace_rank,
        )
        for name in names
    }


def _past_keys(
    batch: Batch, projectors: Mapping[str, Projector], state: Mapping[str, Any] | None
) -> dict[str, Tensor]:
    """Past keys of every edited module; [d_in, 0] at the start of a sequence."""
    stored = (state or {}).get("past_keys", {})
    found = {}
    for name, projector in projectors.items():
        size, device = len(projector.basis), projector.basis.device
        past = stored.get(name)
        if past is None:
            past = torch.empty(size, 0)
        if past.dim() != 2 or len(past) != size or not torch.isfinite(past).all():
            raise EditingError(
                f"the state's past keys of {name} have shape {tuple(past.shape)}, not "
                f"({size}, n), or are not finite",
                remedy="Pass the state that this method returned for this model.",
            )
        found[name] = past.to(device, torch.float64)
    return found
