"""Mass-editing memory: many facts at once, spread over several MLP layers by least squares.

z for each request by optimisation at the last layer's output (`editing.targets`). Then layer by
layer, on the model as edited so far: keys K (mean over context groups), residual
R = (Z − H) / (layers left), ΔW = R Kᵀ (λC + K Kᵀ)⁻¹. The solve is done in float64 on n × n
numbers: (λC + K Kᵀ)⁻¹ K = C⁻¹K (λI + Kᵀ C⁻¹ K)⁻¹, with C factored once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from editing.architectures import Adapter
from editing.covariance import Covariance, checked
from editing.deltas import EditEffect, applied
from editing.errors import EditFailedError
from editing.hparams.common import ValueHyperParams
from editing.hparams.schema import require
from editing.keys import Templates, bare_rows, layer_output_at_subject, mean_keys
from editing.sites import (
    check_exist,
    check_projection,
    editable,
    given_targets,
    oriented,
    templates_for,
)
from editing.targets import Targets, optimise
from loaders.records import RewriteRequest

NAME = "memit"
PAPER = "Meng et al. 2023, Mass-Editing Memory in a Transformer (ICLR), §4"
KIND = "weights"


@dataclass(frozen=True, kw_only=True)
class HyperParams(ValueHyperParams):
    """MEMIT's published keys; see `ValueHyperParams` for the rest.

    Attributes:
        mom2_update_weight: λ, the weight of what the layer already holds.
        mom2_adjustment, layer_selection: read and, as in the published code, not used.
    """

    mom2_update_weight: float
    mom2_adjustment: bool = True
    layer_selection: str = "all"
    context_template_length_params: tuple[tuple[int, ...], ...] = ((10, 5),)

    def check(self) -> None:
        """λ > 0; and the ranges of `ValueHyperParams`."""
        super().check()
        require(self.mom2_update_weight > 0, "'mom2_update_weight' has to be positive")


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
) -> EditEffect:
    """Edit all requests at once. The model is unchanged on return, bit for bit.

    Args:
        covariance: `Covariance` or {module name: [d_in, d_in]} with every edited layer.
        context_templates: groups of texts with one `{}` each, or a flat list (then the bare one is
            a group of its own); sampled from the model with the seed if None.
        targets: {request id: z} to use instead of optimising; the rest is optimised.
        state: not used.

    Raises:
        RequestError, HparamsError, CovarianceError: bad input, before anything is computed.
        EditFailedError: a loss became NaN or exploded, or the solve is singular.
    """
    with editable(model, tokenizer, requests, hparams.layers) as adapter:
        check_projection(adapter, hparams, hparams.layers)
        if hparams.v_loss_layer is not None:
            check_exist(adapter, [hparams.v_loss_layer], "v_loss_layer")
        moments = checked(covariance, model, hparams.layers)
        templates = templates_for(
            adapter, tokenizer, hparams, context_templates, seed=seed, bare_apart=True, brace=" "
        )
        found = find_targets(adapter, tokenizer, requests, hparams, templates, targets)
        deltas = spread(adapter, tokenizer, requests, hparams, templates, found.vectors, moments)
    return EditEffect(deltas, found.vectors, {}, found.n_steps, templates)


def find_targets(
    adapter: Adapter,
    tokenizer: Any,
    requests: Sequence[RewriteRequest],
    hparams: ValueHyperParams,
    templates: Templates,
    targets: Mapping[str, Tensor] | None,
) -> Targets:
    """The z of every request at the last edited layer: the given ones, the others optimised."""
    given = given_targets(adapter, requests, targets)
    open_ones = [request for request in requests if request.id not in given]
    found = Targets(given, dict.fromkeys(given, 0))
    if open_ones:
        layer = hparams.layers[-1]
        fresh = optimise(
            adapter, tokenizer, open_ones, hparams, templates, layer=layer, site="layer"
        )
        found.vectors.update(fresh.vectors)
        found.n_steps.update(fresh.n_steps)
    order = [request.id for request in requests]
    return Targets({i: found.vectors[i] for i in order}, {i: found.n_steps[i] for i in order})


def spread(
    adapter: Adapter,
    tokenizer: Any,
    requests: Sequence[RewriteRequest],
    hparams: HyperParams,
    templates: Templates,
    targets: Mapping[str, Tensor],
    covariance: Covariance,
) -> dict[str, Tensor]:
    """{weight name: ΔW}, layer by layer on the progressively edited model (MEMIT alg. 1)."""
    wanted = torch.stack([targets[request.id] for request in requests]).double()
    bare = bare_rows(tokenizer, requests)
    deltas: dict[str, Tensor] = {}
    with ExitStack() as stack:
        for i, layer in enumerate(hparams.layers):
            keys = mean_keys(adapter, tokenizer, requests, templates, layer).double().T
            now = layer_output_at_subject(adapter, tokenizer, bare, hparams.layers[-1]).double()
            residual = (wanted - now).T / (len(hparams.layers) - i)
            name = adapter.mlp_out(layer).name
            solved = solve_keys(covariance, name, keys, hparams)
            weight, delta = oriented(adapter, layer, residual @ solved.T)
            deltas[weight] = delta
            stack.enter_context(applied(adapter.model, EditEffect({weight: delta})))
    return deltas


def solve_keys(covariance: Covariance, name: str, keys: Tensor, hparams: HyperParams) -> Tensor:
    """(λC + K Kᵀ)⁻¹ K for keys K [d_in, n], float64, by the n × n form (MEMIT eq. 14).

    Raises:
        EditFailedError: C is singular, or the result does not solve the equation.
    """
    weight, ridge = hparams.mom2_update_weight, hparams.mom2_ridge
    left = covariance.solve(name, keys, ridge=ridge)
    small = keys.T @ left
    small.diagonal().add_(weight)
    solved, info = torch.linalg.solve_ex(small, left, left=False)
    back = weight * covariance.times(name, solved, ridge=ridge) + keys @ (keys.T @ solved)
    if info.item() != 0 or not (back - keys).norm() <= 1e-6 * keys.norm():
        raise EditFailedError(
            f"the least-squares problem of {name} could not be solved",
            remedy="Take the covariance from more text, set mom2_ridge, or raise "
            "mom2_update_weight.",
        )
    return solved
