"""MEND: a trained hypernetwork turns the loss' gradient into an update, in one step.

One backward pass of −mean log p(target_new) gives each edited matrix its token pairs (x, δ), whose
outer products sum to the gradient. The hypernetwork (`editing.mend.network`, trained by
`thinkeval model train-mend`) maps each pair to (x̃, δ̃), and ΔW = edit_lr Σ_tokens x̃ ⊗ δ̃ is added.
The updates of several requests are summed, as in the paper, so their order does not matter. The
rank of an update is at most its number of tokens.

Choices: the paper writes W − α ∇̃; the published code adds with an initial edit_lr of 1e-4 and
learns the sign; here the update is added, and a negative `edit_lr` starts as descent (as in the
organisms' files). The statistics that normalise (x, δ) are computed per matrix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ...loaders.records import RewriteRequest
from ..architectures import Adapter
from ..deltas import EditEffect, unedited_digest
from ..errors import EditFailedError, HypernetworkError
from ..hparams.of.mend import HyperParams
from ..key_value.sites import editable
from ..key_value.tokens import prompt_row, target_ids
from ..linear_algebra import in_float64
from ..mend import store
from ..mend.data import TargetRow, target_batch
from ..mend.gradients import token_pairs
from ..mend.network import Hypernetwork, matrices_of

__all__ = ["HyperParams", "execute"]

NAME = "mend"
PAPER = "Mitchell et al. 2022, Fast Model Editing at Scale (ICLR), §3"
KIND = "weights"

NEEDS_HYPERNETWORK = True
"""The service passes `state={"hypernetwork": …}`, trained for the model."""

TRAINS_APP = True
"""The hypernetwork can be trained with APP's margin (`app_alpha`)."""

BATCH_ROWS = 64
"""Maximum number of requests per backward pass."""


def execute(
    model: nn.Module,
    tokenizer: Any,
    requests: Sequence[RewriteRequest],
    hparams: HyperParams,
    covariance: Mapping[str, Tensor] | None = None,
    *,
    context_templates: Any = None,
    targets: Mapping[str, Tensor] | None = None,
    state: Any = None,
    seed: int = 0,
) -> EditEffect:
    """Edit all requests at once (contract: `editing.methods`).

    Args:
        state: {"hypernetwork": …}, unless hparams.archive names its file; returned in the effect.

    Raises:
        HypernetworkError: there is no hypernetwork, or it is of another model or other matrices.
    """
    with editable(model, tokenizer, requests, hparams.layers) as adapter:
        network = _hypernetwork(adapter, hparams, state)
        matrices = list(network.matrices.values())
        found: dict[str, list[tuple[Tensor, Tensor]]] = {m.name: [] for m in matrices}
        for start in range(0, len(requests), BATCH_ROWS):
            some = requests[start : start + BATCH_ROWS]
            rows = [TargetRow(prompt_row(tokenizer, r).ids, target_ids(tokenizer, r)) for r in some]
            batch = target_batch(rows, tokenizer, next(model.parameters()).device)
            pairs, losses = token_pairs(adapter, matrices, batch)
            _check_losses(some, losses)
            for name, pair in pairs.items():
                found[name].append(network.factors(name, pair.x, pair.delta))
    factors = {
        name: (torch.cat([a for a, _ in parts], 1), torch.cat([b for _, b in parts], 0))
        for name, parts in found.items()
    }
    deltas = {name: _product(name, left, right) for name, (left, right) in factors.items()}
    low = {n: f for n, f in factors.items() if sum(map(Tensor.numel, f)) < deltas[n].numel()}
    return EditEffect(
        deltas,
        state={"hypernetwork": network},
        n_steps={request.id: 1 for request in requests},
        factors=low,
    )


def _hypernetwork(adapter: Adapter, hparams: HyperParams, state: Any) -> Hypernetwork:
    """The passed or stored hypernetwork, validated against model and hyperparameters."""
    wanted = matrices_of(adapter, hparams)
    network = (state or {}).get("hypernetwork")
    if network is None and hparams.archive is not None:
        network = store.load(hparams.archive, next(adapter.model.parameters()).device)[0]
    if network is None:
        raise HypernetworkError("MEND has no hypernetwork that was trained for the model")
    weights = unedited_digest(adapter.model)
    if network.weights_digest != weights:
        raise HypernetworkError(
            "the hypernetwork was trained for another model than the one to be edited "
            f"(weights {network.weights_digest[:12]}, not {weights[:12]})",
            remedy="Train one for this model with `thinkeval model train-mend`.",
        )
    if list(network.matrices.values()) != wanted:
        raise HypernetworkError(
            f"the hypernetwork edits {', '.join(network.matrices)}; the hyperparameters name "
            f"{', '.join(m.name for m in wanted)}",
            remedy="Train one with these hyperparameters with `thinkeval model train-mend`.",
        )
    return network


def _check_losses(requests: Sequence[RewriteRequest], losses: Tensor) -> None:
    for request, loss in zip(requests, losses.tolist(), strict=True):
        if not loss < float("inf"):
            raise EditFailedError(
                f"request '{request.id}': the loss is {loss}",
                remedy="Load the model in float32.",
            )


def _product(name: str, left: Tensor, right: Tensor) -> Tensor:
    delta = (in_float64(left) @ in_float64(right)).float()
    if not torch.isfinite(delta).all():
        raise EditFailedError(f"the update of {name} holds NaN or infinity")
    return delta
