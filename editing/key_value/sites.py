"""Edited modules: checks of requests, layers and modules; updates in the weight's orientation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ...loaders.records import RewriteRequest
from ..architectures import Adapter, adapter_for
from ..deltas import preserved
from ..errors import EditFailedError, HparamsError, RequestError
from ..hparams.common import ModuleNames, ValueHyperParams
from ..objectives import Objective
from .keys import Templates, d_model
from .templates import grouped, sample
from .tokens import Target, check


@contextmanager
def editable(
    model: nn.Module,
    tokenizer: Any,
    requests: Sequence[RewriteRequest],
    layers: Sequence[int],
    objective: Objective | None = None,
    target: Target = "target_new",
) -> Iterator[Adapter]:
    """Check requests, with answers, and layers; yields the adapter of the frozen model.

    Raises:
        UnsupportedArchitectureError: no adapter for the model.
        HparamsError: a layer does not exist.
        RequestError: a request cannot be edited (`tokens.check`).
    """
    adapter = adapter_for(model)
    check_exist(adapter, layers)
    check(requests, tokenizer, objective, target)
    with preserved(model), torch.enable_grad():
        yield adapter


def check_exist(adapter: Adapter, layers: Sequence[int], key: str = "layers") -> None:
    """Raise `HparamsError` for a layer that the model does not have."""
    for layer in layers:
        if not 0 <= layer < adapter.n_layers:
            raise HparamsError(
                f"'{key}' names layer {layer}; the model has layers 0 to {adapter.n_layers - 1}",
                remedy="Take the hyperparameters of this model.",
            )


def check_projection(adapter: Adapter, hparams: ModuleNames, layers: Sequence[int]) -> None:
    """Raise `HparamsError` if `rewrite_module_tmp` is not the MLP's output projection."""
    template = hparams.rewrite_module_tmp
    for layer in layers if template else ():
        _, name, weight = adapter.mlp_out(layer)
        named = str(template).format(layer)
        if named not in (name, weight):
            raise HparamsError(
                f"'rewrite_module_tmp' names {named}; the method edits {name}",
                remedy="Leave the key out, or take the hyperparameters of this model.",
            )


def oriented(adapter: Adapter, layer: int, update: Tensor) -> tuple[str, Tensor]:
    """Name of the projection's weight, and the update [d_out, d_in] in its orientation, float32."""
    module, _, weight = adapter.mlp_out(layer)
    turned = update.T if adapter.orientation(module) == "in_out" else update
    if not torch.isfinite(turned).all():
        raise EditFailedError(f"the update of {weight} holds NaN or infinity")
    return weight, turned.float().contiguous()


def templates_for(
    adapter: Adapter,
    tokenizer: Any,
    hparams: ValueHyperParams,
    given: Any,
    *,
    seed: int,
    bare_apart: bool,
    brace: str,
) -> Templates:
    """The passed context templates; if None, those of the hparams and sampled ones."""
    sampled: list[str] = []
    if given is None:
        lengths = hparams.context_template_length_params
        sampled = sample(adapter, tokenizer, lengths, seed=seed, brace=brace)
    return grouped(given, sampled, fixed=hparams.context_templates, bare_apart=bare_apart)


def given_targets(
    adapter: Adapter, requests: Sequence[RewriteRequest], targets: Mapping[str, Tensor] | None
) -> dict[str, Tensor]:
    """The passed target vectors of the requests, float32, on the model's device.

    Raises:
        RequestError: the size of a vector is not d_model, or it is not finite.
    """
    size, device = d_model(adapter), next(adapter.model.parameters()).device
    found: dict[str, Tensor] = {}
    for request in requests:
        vector = (targets or {}).get(request.id)
        if vector is None:
            continue
        if tuple(vector.shape) != (size,) or not torch.isfinite(vector).all():
            raise RequestError(
                f"request '{request.id}': the passed target vector has shape "
                f"{tuple(vector.shape)}, not {(size,)}, or is not finite",
                remedy="Pass the targets that this method returned for this model.",
            )
        found[request.id] = vector.detach().to(device, torch.float32)
    return found
