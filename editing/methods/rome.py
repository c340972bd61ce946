"""Rank-one model editing: one MLP layer as a key-value memory, one rank-one update per fact.

For each request: v* by optimisation at the layer's MLP output (`editing.key_value.values`); the
direction u = C⁻¹ k̄ / ‖C⁻¹ k̄‖ from the mean key over the context templates; ΔW = (v* − o) uᵀ / (k
· u) with the key k and output o at the bare prompt, so that the edited layer outputs exactly v*
there.

Several requests are edited in sequence, each on the model with the earlier updates applied, as in
the paper's code: the result depends on their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ...loaders.records import RewriteRequest
from ..architectures import Adapter
from ..covariance import Covariance, checked
from ..deltas import EditEffect, applied
from ..errors import EditFailedError
from ..hparams.of.rome import HyperParams
from ..key_value.keys import Templates, projection_at_subject
from ..key_value.reach import require_reach
from ..key_value.sites import (
    check_projection,
    editable,
    given_targets,
    templates_for,
)
from ..key_value.tokens import prompt_row
from ..key_value.values import optimise
from ..linear_algebra import in_float64
from ..objectives import Objective

NAME = "rome"
PAPER = "Meng et al. 2022, Locating and Editing Factual Associations in GPT (NeurIPS), §3.1"
KIND = "weights"
TARGET_SITE = "mlp"
"""Site of the target vectors: the output of the edited layer's MLP."""
TAKES_OBJECTIVE = True
WRITES_AT_SUBJECT = True
SOLVES_WITH_COVARIANCE = True


def covariance_layers(hparams: HyperParams) -> tuple[int, ...]:
    """The edited layer, if `mom2_adjustment` is set."""
    return hparams.layers if hparams.mom2_adjustment else ()


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
    """Edit the requests, in order (contract: `editing.methods`).

    `state` is not used, and `covariance` only with `mom2_adjustment`.
    """
    layer = hparams.layers[0]
    with editable(model, tokenizer, requests, hparams.layers, objective) as adapter:
        check_projection(adapter, hparams, hparams.layers)
        require_reach(adapter, tokenizer, requests, layer)
        moments = checked(covariance, model, hparams.layers) if hparams.mom2_adjustment else None
        groups = templates_for(
            adapter, tokenizer, hparams, context_templates, seed=seed, bare_apart=False, brace=""
        )
        templates = (tuple(template for group in groups for template in group),)
        effect = EditEffect(templates=templates)
        terms: list[tuple[Tensor, Tensor]] = []
        for request in requests:
            with applied(model, effect):
                value, steps = _value(
                    adapter, tokenizer, request, hparams, templates, targets, objective
                )
                terms.append(
                    _update(adapter, tokenizer, request, hparams, templates, value, moments)
                )
            effect.targets[request.id], effect.n_steps[request.id] = value, steps
            name, factors = _factors(adapter, layer, terms)
            effect.factors[name] = factors
            effect.deltas[name] = (factors[0] @ factors[1]).float()
            if not torch.isfinite(effect.deltas[name]).all():
                raise EditFailedError(f"the update of {name} holds NaN or infinity")
    return effect


def _value(
    adapter: Adapter,
    tokenizer: Any,
    request: RewriteRequest,
    hparams: HyperParams,
    templates: Templates,
    targets: Mapping[str, Tensor] | None,
    objective: Objective | None,
) -> tuple[Tensor, int]:
    """v* [d_model] of a request and its number of optimiser updates; 0 for a passed v*."""
    passed = given_targets(adapter, [request], targets)
    if request.id in passed:
        return passed[request.id], 0
    found = optimise(
        adapter,
        tokenizer,
        [request],
        hparams,
        templates,
        layer=hparams.layers[0],
        site="mlp",
        objective=objective,
    )
    return found.vectors[request.id], found.n_steps[request.id]


def _update(
    adapter: Adapter,
    tokenizer: Any,
    request: RewriteRequest,
    hparams: HyperParams,
    templates: Templates,
    value: Tensor,
    covariance: Covariance | None,
) -> tuple[Tensor, Tensor]:
    """ΔW as the outer product of [d_out] and [d_in], float64 (ROME eq. 2)."""
    layer = hparams.layers[0]
    rows = [prompt_row(tokenizer, request, template) for template in templates[0]]
    ins, outs = projection_at_subject(adapter, tokenizer, rows, layer)
    keys, outputs = in_float64(ins), in_float64(outs)
    mean_key = keys.mean(0)
    direction = mean_key
    if covariance is not None:
        name = adapter.mlp_out(layer).name
        direction = covariance.solve(name, mean_key[:, None], ridge=hparams.mom2_ridge)[:, 0]
    direction = direction / direction.norm()
    # The projection is affine, so the mean of the outputs is the output of the mean key.
    key, output = (mean_key, outputs.mean(0)) if hparams.consistent_key else (keys[0], outputs[0])
    overlap = key @ direction
    if not overlap.abs() > 1e-9 * key.norm():
        raise EditFailedError(
            f"request '{request.id}': its key is orthogonal to the update's direction",
            remedy="Set consistent_key, or pass other context templates.",
        )
    return (in_float64(value) - output) / overlap, direction


def _factors(
    adapter: Adapter, layer: int, terms: Sequence[tuple[Tensor, Tensor]]
) -> tuple[str, tuple[Tensor, Tensor]]:
    """Name of the weight; the sum of the outer products as two factors in its orientation."""
    module, _, weight = adapter.mlp_out(layer)
    values = torch.stack([value for value, _ in terms])
    directions = torch.stack([direction for _, direction in terms])
    if adapter.orientation(module) == "in_out":
        return weight, (directions.T.contiguous(), values)
    return weight, (values.T.contiguous(), directions)
