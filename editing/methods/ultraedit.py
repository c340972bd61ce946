"""UltraEdit: the update in one step, from hidden states and gradients normalised over a sequence.

One backward pass of −log p(target_new) gives each edited map y = W h its features at the positions
that predict a token of target_new: the hidden state h and the gradient ∇y of the loss. With μ and σ
the running mean and standard deviation of all features [h ‖ ∇y] of the sequence, this batch's
included, and

    [h̃ ‖ ∇̃y] = ([h ‖ ∇y] − μ) / (σ + ε)                           (lifelong normalisation)
    v = −η ‖h̃‖² ∇̃y                                                (value update)
    ΔWᵀ = (Hᵀ H + ridge · I)⁻¹ Hᵀ V                               (ridge regression of V on H)

with the rows of H and V the h̃ and v of the batch (Gu et al. 2025, §3; published ridge 1). There is
no inner optimisation, no covariance, no subject and no training. The solve is done in float64 on
n × n numbers, n the batch's tokens: ΔWᵀ = Hᵀ (H Hᵀ + ridge · I)⁻¹ V, equal by the push-through
identity, so the update has rank n at most.

Choices of this implementation. Of the paper's text only summaries and restatements of its equations
were at hand, and they do not settle these:

- `keys: normalised` (default): the rows of H are h̃, as in v. With `seen` they are h, the inputs
  that ΔW acts on.
- The statistics are updated with a batch before it is normalised (Chan et al. 1983, eq. 2.1).
- One feature has no variance. A sequence that begins with one single token divides h and ∇y each by
  its root mean square, which retains its direction, and takes 0 for μ.
- Only MLP output projections are edited; the published settings of some models name other maps.
- The loss is summed over the tokens of target_new; its scale has no effect after normalisation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ...loaders.records import RewriteRequest
from ..architectures import Adapter
from ..deltas import EditEffect
from ..errors import EditFailedError, EditingError
from ..hparams.of.ultraedit import HyperParams
from ..key_value.layerwise import factored
from ..key_value.sites import check_projection, editable
from ..key_value.tokens import prompt_row, target_ids
from ..linear_algebra import in_float64
from ..mend.data import TargetRow, log_probabilities, target_batch
from ..mend.gradients import inputs_and_deltas

__all__ = ["HyperParams", "Statistics", "execute"]

NAME = "ultraedit"
PAPER = (
    "Gu et al. 2025, UltraEdit: Training-, Subject-, and Memory-Free Lifelong Editing in "
    "Language Models (TMLR), §3"
)
KIND = "weights"

BATCH_ROWS = 64
"""Maximum number of requests per backward pass."""


@dataclass(frozen=True)
class Statistics:
    """Running statistics of features over a sequence, float64.

    Attributes:
        count: number of features.
        mean: [d_in + d_out], their mean.
        squares: [d_in + d_out], the sum of their squared deviations from the mean.
    """

    count: int
    mean: Tensor
    squares: Tensor

    def with_features(self, features: Tensor) -> Statistics:
        """The statistics with further features [n, d]: Chan et al. 1983, eq. 2.1."""
        n, mean = len(features), features.mean(0)
        squares = ((features - mean) ** 2).sum(0)
        total, shift = self.count + n, mean - self.mean
        return Statistics(
            total,
            self.mean + shift * (n / total),
            self.squares + squares + shift**2 * (self.count * n / total),
        )

    def normalised(self, features: Tensor, d_in: int, epsilon: float) -> Tensor:
        """Features [n, d] minus the mean, divided by the population standard deviation."""
        if self.count > 1:
            return (features - self.mean) / ((self.squares / self.count).sqrt() + epsilon)
        parts = features.tensor_split([d_in], dim=1)
        return torch.cat([p / (p.square().mean().sqrt() + epsilon) for p in parts], dim=1)


def execute(
    model: nn.Module,
    tokenizer: Any,
    requests: Sequence[RewriteRequest],
    hparams: HyperParams,
    covariance: Mapping[str, Tensor] | None = None,
    *,
    context_templates: Any = None,
    targets: Mapping[str, Tensor] | None = None,
    state: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> EditEffect:
    """Edit all requests at once (contract: `editing.methods`).

    Returns:
        In `state`: `features` {module name: number of features so far}, `feature_mean` and
        `feature_squares` {module name: [d_in + d_out] float64}, as `Statistics`.

    Raises:
        EditingError: the state is not of this model and method.
    """
    with editable(model, tokenizer, requests, hparams.layers) as adapter:
        check_projection(adapter, hparams, hparams.layers)
        seen = _features(adapter, tokenizer, requests, hparams.layers)
        deltas, factors, after = {}, {}, {}
        for layer, (hidden, gradient) in seen.items():
            name = adapter.mlp_out(layer).name
            features = torch.cat([hidden, gradient], dim=1)
            after[name] = _before(state, name, features).with_features(features)
            left, right = solved(hidden, gradient, after[name], hparams)
            weight, deltas[weight], factors[weight] = factored(adapter, layer, left, right)
    return EditEffect(
        deltas,
        state={
            "features": {name: found.count for name, found in after.items()},
            "feature_mean": {name: found.mean for name, found in after.items()},
            "feature_squares": {name: found.squares for name, found in after.items()},
        },
        n_steps={request.id: 1 for request in requests},
        factors={
            name: pair
            for name, pair in factors.items()
            if sum(map(Tensor.numel, pair)) < deltas[name].numel()
        },
    )


def solved(
    hidden: Tensor, gradient: Tensor, statistics: Statistics, hparams: HyperParams
) -> tuple[Tensor, Tensor]:
    """Factors [d_out, n] and [n, d_in] of ΔW, for h [n, d_in] and ∇y [n, d_out], float64."""
    d_in = hidden.shape[1]
    features = torch.cat([hidden, gradient], dim=1)
    normal = statistics.normalised(features, d_in, hparams.epsilon)
    size = normal[:, :d_in].square().sum(1, keepdim=True)
    values = -hparams.factor(d_in, gradient.shape[1]) * size * normal[:, d_in:]
    keys = normal[:, :d_in] if hparams.keys == "normalised" else hidden
    gram = keys @ keys.T
    gram.diagonal().add_(hparams.ridge)
    weights, info = torch.linalg.solve_ex(gram, values)
    if info.item() != 0:
        raise EditFailedError(
            "the least-squares problem could not be solved", remedy="Raise ridge."
        )
    return weights.T, keys


def _features(
    adapter: Adapter, tokenizer: Any, requests: Sequence[RewriteRequest], layers: Sequence[int]
) -> dict[int, tuple[Tensor, Tensor]]:
    """{layer: (h [n, d_in], ∇y [n, d_out])} in float64, at the n tokens of all targets."""
    modules = {f"{layer}": adapter.mlp_out(layer).module for layer in layers}
    device = next(adapter.model.parameters()).device
    found: dict[int, list[tuple[Tensor, Tensor]]] = {layer: [] for layer in layers}
    for start in range(0, len(requests), BATCH_ROWS):
        some = requests[start : start + BATCH_ROWS]
        rows = [TargetRow(prompt_row(tokenizer, r).ids, target_ids(tokenizer, r)) for r in some]
        batch = target_batch(rows, tokenizer, device)
        pairs, losses = inputs_and_deltas(
            modules, lambda batch=batch: batch.nll(log_probabilities(adapter, batch))
        )
        for request, loss in zip(some, losses.tolist(), strict=True):
            if not loss < float("inf"):
                raise EditFailedError(
                    f"request '{request.id}': the loss is {loss}",
                    remedy="Load the model in float32.",
                )
        # `nll` is the mean over a row's tokens; the gradient of the sum is wanted.
        tokens = 1 / batch.weight.to(torch.float32)[:, None]
        for layer in layers:
            x, delta = (part[batch.row, batch.place] for part in pairs[f"{layer}"])
            found[layer].append((in_float64(x), in_float64(delta * tokens)))
    return {
        layer: (torch.cat([x for x, _ in parts]), torch.cat([d for _, d in parts]))
        for layer, parts in found.items()
    }


def _before(state: Mapping[str, Any] | None, name: str, features: Tensor) -> Statistics:
    """The statistics of the batches before; empty ones at the start of a sequence.

    Raises:
        EditingError: they are of another size, or not finite.
    """
    if not (state or {}).get("features"):
        zeros = torch.zeros(features.shape[1], dtype=features.dtype, device=features.device)
        return Statistics(0, zeros, zeros)
    assert state is not None
    found = [state.get(key, {}).get(name) for key in ("feature_mean", "feature_squares")]
    good = all(
        isinstance(each, Tensor)
        and each.shape == features.shape[1:]
        and bool(torch.isfinite(each).all())
        for each in found
    )
    if not good:
        raise EditingError(
            f"the state of the sequence has no running statistics for {name}",
            remedy="Pass the state of an UltraEdit sequence on this model and these layers.",
        )
    mean, squares = (each.to(features.device, features.dtype) for each in found)
    return Statistics(int(state["features"][name]), mean, squares)
