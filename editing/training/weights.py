"""Trained weights: which parameters of a layer, in which type, and the box around their originals.

Training is in float32 or wider: in a model of 16 bits the trained modules compute in float32, and
their weights are rounded once, at the end. A bound on the change of a weight holds for the stored
number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from .. import nethook
from ..architectures import Adapter
from ..errors import HparamsError


def widened(originals: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copies of weights in float32, or in their own type where that is wider."""
    return {
        name: w.to(torch.promote_types(w.dtype, torch.float32), copy=True)
        for name, w in originals.items()
    }


def called(model: nn.Module, weights: Mapping[str, Tensor], inputs: Mapping[str, Any]) -> Any:
    """The model's output with other weights.

    A module with weights that are wider than the model's computes in float32, from its inputs to
    its outputs, which are rounded to the model's type.
    """
    replaced, own = dict(weights), {name: model.get_parameter(name) for name in weights}
    wide = {id(own[name]) for name, weight in weights.items() if weight.dtype != own[name].dtype}
    with ExitStack() as stack:
        for path, module in model.named_modules() if wide else ():
            held = dict(module.named_parameters(recurse=False))
            if wide.isdisjoint(map(id, held.values())):
                continue
            for name, parameter in held.items():
                if id(parameter) not in wide:
                    replaced[f"{path}.{name}"] = parameter.float()
            dtype = next(iter(held.values())).dtype
            stack.enter_context(nethook.in_float32(module, dtype))
        return functional_call(model, replaced, (), dict(inputs))


def leaves(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights as leaves of a graph, which share their storage."""
    return {name: weight.detach().requires_grad_(True) for name, weight in weights.items()}


def set_gradients(weights: Mapping[str, Tensor], asked: Mapping[str, Tensor], loss: Tensor) -> None:
    """Set the gradient of each weight from that of its leaf; None where the loss has none."""
    found = torch.autograd.grad(loss, list(asked.values()), allow_unused=True)
    for weight, gradient in zip(weights.values(), found, strict=True):
        weight.grad = None if gradient is None else gradient.to(weight.dtype)


def changes(final: Mapping[str, Tensor], originals: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the change of each weight, float32, from weights as the model stores them."""
    found = {}
    for name, w in originals.items():
        wide = torch.promote_types(w.dtype, torch.float32)
        found[name] = (final[name].to(wide) - w.to(wide)).float()
    return found


def trained_weights(
    adapter: Adapter, layers: Sequence[int], template: str | None = None
) -> dict[str, Tensor]:
    """{name: weight} of the parameters to train: of the MLP output projections, weight and bias.

    Args:
        template: name of another module or parameter of a layer, with `{}` for its number.

    Raises:
        HparamsError: the model has no such module.
    """
    found: dict[str, Tensor] = {}
    for layer in layers:
        prefix = template.format(layer) if template else adapter.mlp_out(layer).name
        parameters = {
            name: parameter.detach()
            for name, parameter in adapter.model.named_parameters()
            if name == prefix or name.startswith(prefix + ".")
        }
        if not parameters:
            raise HparamsError(
                f"'rewrite_module_tmp' names {prefix}, which the model does not have",
                remedy="Leave the key out, or take the hyperparameters of this model.",
            )
        found.update(parameters)
    return found


def constrain(
    weights: Mapping[str, Tensor], originals: Mapping[str, Tensor], bound: float | bool | None
) -> None:
    """Clamp each weight, in place, to its original ± `bound`; 0, false or None is no bound."""
    if not bound:
        return
    for name, weight in weights.items():
        start = originals[name].to(weight.dtype)
        weight.clamp_(min=start - bound, max=start + bound)


def as_stored(
    weights: Mapping[str, Tensor], originals: Mapping[str, Tensor], bound: float | bool | None
) -> dict[str, Tensor]:
    """The weights in the model's type, each within the bound; as they are where there is none.

    Rounded to the nearest number, or, where that is outside of the bound, to the next one on the
    original's side: this is within the bound, as weight and original are.
    """
    if not bound:
        return dict(weights)
    found = {}
    for name, weight in weights.items():
        original = originals[name]
        found[name] = stored = weight.detach().to(original.dtype)
        if stored.dtype != weight.dtype:
            outside = (stored.to(weight.dtype) - original.to(weight.dtype)).abs() > bound
            found[name] = torch.where(outside, towards(stored, original), stored)
    return found


def towards(values: Tensor, aims: Tensor) -> Tensor:
    """The next number of a 16-bit floating type from each value towards its aim; 0 becomes it.

    As `torch.nextafter`, which not every device has for float16.
    """
    # Sign and magnitude: as an integer, a number of larger magnitude is larger for either sign.
    grows = (aims > values) == (values > 0)
    moved = (values.view(torch.int16) + torch.where(grows, 1, -1).to(torch.int16)).view(aims.dtype)
    return torch.where(values == 0, aims, moved)
