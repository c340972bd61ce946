"""The MEMIT family's shared procedure: one target z per request, spread over several layers.

The methods of the family differ in how they solve for a layer's update (`solve`) or in how they
process the updates afterwards. Shared are the checks, the targets, and the loop over the layers
of the progressively edited model (Meng et al. 2023, MEMIT, algorithm 1).

Requests with one key cannot be mapped to different values: the solve returns about the mean of
their z, which none of them needs. With `joint_targets` they are a group, which has one z, the best
for all of its requests together, and one column of K and R, the means over the group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from ...loaders.records import RewriteRequest
from ..architectures import Adapter
from ..covariance import Covariance, checked
from ..deltas import EditEffect, applied
from ..errors import RequestError
from ..hparams.common import BatchHyperParams
from ..linear_algebra import in_float64
from ..objectives import Objective
from . import residuals
from .keys import Templates, keys_and_output, mean_keys
from .reach import require_reach
from .shared_keys import Groups, groups, similar_keys
from .sites import (
    check_exist,
    check_projection,
    editable,
    given_targets,
    oriented,
    templates_for,
)
from .values import Targets, optimise

Solve = Callable[[str, Tensor], Tensor]
"""(module name, keys K [d_in, n]) → S [d_in, n], both float64, such that ΔW = R Sᵀ."""

SITE = "layer"
"""Site of z: the output of the last edited layer."""


@dataclass(frozen=True)
class Batch:
    """Checked requests to be edited together, with the constant inputs of their edit.

    Attributes:
        groups: a partition of the requests; those of a group share their target and their key. Only
            with `joint_targets`; else None.
    """

    adapter: Adapter
    tokenizer: Any
    requests: Sequence[RewriteRequest]
    hparams: BatchHyperParams
    templates: Templates
    moments: Covariance
    objective: Objective | None = None
    groups: Groups | None = None

    def module(self, layer: int) -> str:
        """Name of the edited module of a layer."""
        return self.adapter.mlp_out(layer).name

    def keys(self, layer: int) -> Tensor:
        """K [d_in, groups] in float64, from the model with its current weights."""
        found = mean_keys(self.adapter, self.tokenizer, self.requests, self.templates, layer)
        return self.by_group(in_float64(found)).T

    def keys_and_output(self, layer: int) -> tuple[Tensor, Tensor]:
        """K, and the last edited layer's output [n, d_model] at the bare prompts' subjects."""
        last = self.hparams.layers[-1]
        keys, now = keys_and_output(
            self.adapter, self.tokenizer, self.requests, self.templates, layer, last
        )
        return self.by_group(in_float64(keys)).T, now

    def by_group(self, values: Tensor) -> Tensor:
        """Means of rows [n, d] over the requests of each group; without groups, the rows."""
        if self.groups is None:
            return values
        return torch.stack([values[list(group)].mean(0) for group in self.groups])

    def pulled_back(self, layer: int, residual: Tensor) -> Tensor:
        """Residuals of the stream [n, d_model] as residuals of a layer's MLP projection."""
        return residuals.pulled_back(self.adapter, self.tokenizer, self.requests, layer, residual)

    def residual_left(
        self, vectors: Mapping[str, Tensor], deltas: Mapping[str, Tensor]
    ) -> dict[str, float | None]:
        """{request id: fraction of ‖z − h‖ at the last edited layer that the updates leave}."""
        last = self.hparams.layers[-1]
        return residuals.fractions_left(
            self.adapter, self.tokenizer, self.requests, last, vectors, deltas
        )


@dataclass(frozen=True)
class Update:
    """Updates of the weights, and their factors (see `EditEffect`).

    Attributes:
        share_reached: {module: fraction of its residual that the median request reaches there}: the
            diagonal of Kᵀ S. Where it is small, the edit installs little.
    """

    deltas: dict[str, Tensor] = field(default_factory=dict)
    factors: dict[str, tuple[Tensor, Tensor]] = field(default_factory=dict)
    share_reached: dict[str, float] = field(default_factory=dict)


@contextmanager
def opened(
    model: nn.Module,
    tokenizer: Any,
    requests: Sequence[RewriteRequest],
    hparams: BatchHyperParams,
    covariance: Mapping[str, Tensor] | None,
    context_templates: Any,
    seed: int,
    objective: Objective | None = None,
) -> Iterator[Batch]:
    """A batch on a frozen model, which is restored on exit.

    Raises:
        RequestError, HparamsError, CovarianceError: bad input, before anything is computed.
    """
    with editable(model, tokenizer, requests, hparams.layers, objective) as adapter:
        check_projection(adapter, hparams, hparams.layers)
        require_reach(adapter, tokenizer, requests, hparams.layers[-1])
        if hparams.v_loss_layer is not None:
            check_exist(adapter, [hparams.v_loss_layer], "v_loss_layer")
        moments = checked(covariance, model, hparams.layers)
        templates = templates_for(
            adapter, tokenizer, hparams, context_templates, seed=seed, bare_apart=True, brace=" "
        )
        shared = _groups(model, tokenizer, requests, hparams)
        yield Batch(adapter, tokenizer, requests, hparams, templates, moments, objective, shared)


def _groups(
    model: nn.Module, tokenizer: Any, requests: Sequence[RewriteRequest], hparams: BatchHyperParams
) -> Groups | None:
    """The groups of `Batch`; None also where no two requests have one key."""
    if not hparams.joint_targets:
        return None
    found = groups(similar_keys(model, tokenizer, requests, hparams.layers[-1]))
    return tuple(found) if len(found) < len(requests) else None


def find_targets(batch: Batch, targets: Mapping[str, Tensor] | None) -> Targets:
    """The z of every request at the last edited layer: passed in `targets`, or optimised.

    Raises:
        RequestError: targets are passed for a part of a group only.
    """
    passed = given_targets(batch.adapter, batch.requests, targets)
    remaining = [request for request in batch.requests if request.id not in passed]
    joint = _joint(batch, passed)
    found = Targets(passed, dict.fromkeys(passed, 0))
    if remaining:
        fresh = optimise(
            batch.adapter,
            batch.tokenizer,
            remaining,
            batch.hparams,
            batch.templates,
            layer=batch.hparams.layers[-1],
            site=SITE,
            objective=batch.objective,
            joint=joint,
        )
        found.vectors.update(fresh.vectors)
        found.n_steps.update(fresh.n_steps)
    order = [request.id for request in batch.requests]
    return Targets({i: found.vectors[i] for i in order}, {i: found.n_steps[i] for i in order})


def _joint(batch: Batch, passed: Mapping[str, Tensor]) -> list[list[str]] | None:
    """The groups whose targets are not passed, by request id; None without groups."""
    if batch.groups is None:
        return None
    found = []
    for group in batch.groups:
        ids = [batch.requests[i].id for i in group]
        absent = [id_ for id_ in ids if id_ not in passed]
        if absent and len(absent) < len(ids):
            raise RequestError(
                f"request '{absent[0]}': no target vector is passed, but one is for a request with "
                "its key, and joint_targets is set",
                remedy="Pass the targets of all requests of a key, or of none.",
            )
        if absent:
            found.append(ids)
    return found


def spread(batch: Batch, vectors: Mapping[str, Tensor], solve: Solve) -> Update:
    """ΔW = R Sᵀ layer by layer, on the progressively edited model (MEMIT alg. 1).

    R = (Z − H) / (layers left), with H the last edited layer's output at the bare prompts; pulled
    back to the projection's output where the architecture changes that before it is added.
    """
    wanted = in_float64(torch.stack([vectors[request.id] for request in batch.requests]))
    layers, model = batch.hparams.layers, batch.adapter.model
    update = Update()
    with ExitStack() as stack:
        for i, layer in enumerate(layers):
            keys, now = batch.keys_and_output(layer)
            residual = batch.pulled_back(layer, (wanted - in_float64(now)) / (len(layers) - i))
            residual = batch.by_group(residual)
            solved = solve(batch.module(layer), keys)
            update.share_reached[batch.module(layer)] = float((keys * solved).sum(0).median())
            weight, delta, factors = factored(batch.adapter, layer, residual.T, solved.T)
            update.deltas[weight], update.factors[weight] = delta, factors
            stack.enter_context(applied(model, EditEffect({weight: delta})))
    return update


def factored(
    adapter: Adapter, layer: int, left: Tensor, right: Tensor
) -> tuple[str, Tensor, tuple[Tensor, Tensor]]:
    """An update [d_out, r] · [r, d_in] as a layer's weight stores it.

    Returns:
        The weight's name; the update, float32; its factors, whose product is bit-identical to it.

    Raises:
        EditFailedError: it holds NaN or infinity.
    """
    module, _, _ = adapter.mlp_out(layer)
    turned = adapter.orientation(module) == "in_out"
    pair = (right.T, left.T) if turned else (left, right)
    first, second = (part.contiguous() for part in pair)
    product = first @ second
    weight, delta = oriented(adapter, layer, product.T if turned else product)
    return weight, delta, (first, second)
