"""What an edit is: weight updates apart from the model, put on and taken off to the bit.

A method never changes the model it is given. It returns an `EditEffect`; `applied(model, effect)`
puts it on for the length of a `with` block. `preserved` and `replaced` are the two guards that
methods use inside.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from thinkeval.editing.errors import EditingError
from thinkeval.editing.models import weights_digest

_OVERLAYS = "_thinkeval_original_weights"
"""Attribute on a model while edits are on: one {parameter name: original} for each, outermost
first. With it the digest of the unedited model can be told from the edited one's."""


@dataclass(frozen=True)
class EditEffect:
    """What a method returns.

    Attributes:
        deltas: {parameter name: update}, each in the parameter's own shape and orientation.
        targets: {request id: the optimised vector v* (ROME) or z (MEMIT), [d_model]}; can be
            passed to a method again to save the optimisation.
        state: what a method needs to go on with a sequence of edits; empty where it needs nothing.
        n_steps: {request id: optimiser updates taken for it}.
        templates: context templates in groups, as passed or as sampled from the unedited model.
        prompt_change: for methods that change the prompt instead of the weights.
        factors: {parameter name: (left [rows, r], right [r, columns])} for the updates that are of
            low rank, in the parameter's own orientation, float64 or float32, such that
            `(left.double() @ right.double()).float()` is the update. Saved in its place.
    """

    deltas: dict[str, Tensor] = field(default_factory=dict)
    targets: dict[str, Tensor] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)
    n_steps: dict[str, int] = field(default_factory=dict)
    templates: tuple[tuple[str, ...], ...] = ()
    prompt_change: Any = None
    factors: dict[str, tuple[Tensor, Tensor]] = field(default_factory=dict)


@contextlib.contextmanager
def applied(model: nn.Module, effect: EditEffect) -> Iterator[nn.Module]:
    """The model with the effect's deltas on; its own weights again on exit, bit for bit.

    The sum W0 + delta is taken in float32 (float64 for a float64 model) and rounded once to the
    parameter's type. Blocks may be nested: the inner one adds to the outer one. The weights come
    back whatever ends the block, an exception or Ctrl-C.

    Raises:
        EditingError: the effect names a parameter that the model does not have, its shape does not
            fit, or it holds NaN or infinity. Nothing has been changed then.
    """
    parameters = dict(model.named_parameters(remove_duplicate=False))
    for name, delta in effect.deltas.items():
        _check(name, delta, parameters)

    def edited(name: str, original: Tensor) -> Tensor:
        wide = torch.promote_types(original.dtype, torch.float32)
        return original.to(wide) + effect.deltas[name].to(original.device, wide)

    with _overlay(model, {name: parameters[name] for name in effect.deltas}, edited):
        yield model


@contextlib.contextmanager
def replaced(model: nn.Module, weights: Mapping[str, Tensor]) -> Iterator[nn.Module]:
    """The model with some parameters set to other values; its own again on exit, bit for bit."""
    parameters = dict(model.named_parameters(remove_duplicate=False))
    for name, weight in weights.items():
        _check(name, weight, parameters)
    with _overlay(model, {n: parameters[n] for n in weights}, lambda name, _: weights[name]):
        yield model


@contextlib.contextmanager
def preserved(model: nn.Module) -> Iterator[nn.Module]:
    """Evaluation mode, no parameter wants a gradient; everything as before on exit.

    Kept and put back: each module's training flag, each parameter's `requires_grad`, and the state
    of the global random generators. (Weights are kept by `applied` and `replaced`, hooks by
    `editing.nethook`.)
    """
    modes = [(module, module.training) for module in model.modules()]
    wants = [(parameter, parameter.requires_grad) for parameter in model.parameters()]
    cuda = sorted({p.device.index for p, _ in wants if p.device.type == "cuda"})
    with torch.random.fork_rng(devices=cuda):
        try:
            model.eval()
            model.requires_grad_(False)
            yield model
        finally:
            for module, mode in modes:
                module.training = mode
            for parameter, wanted in wants:
                parameter.requires_grad_(wanted)


def unedited_digest(model: nn.Module) -> str:
    """The weights digest of the model without the edits that `applied` has on it just now."""
    return weights_digest(_Unedited(model)) if is_edited(model) else weights_digest(model)


def is_edited(model: nn.Module) -> bool:
    """Whether an edit is on the model just now."""
    return bool(getattr(model, _OVERLAYS, None))


class _Unedited(nn.Module):
    """A view of a model whose parameters are the original ones; shares all memory."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        originals: dict[int, Tensor] = {}
        everything = dict(model.named_parameters(remove_duplicate=False))
        for overlay in reversed(getattr(model, _OVERLAYS)):
            originals.update(
                {id(everything[name]): value for name, value in reversed(overlay.items())}
            )
        self._pairs = [(n, originals.get(id(p), p)) for n, p in model.named_parameters()]

    def named_parameters(self, *_: Any, **__: Any) -> Iterator[tuple[str, Any]]:
        return iter(self._pairs)


@contextlib.contextmanager
def _overlay(model: nn.Module, chosen: Mapping[str, Tensor], value: Any) -> Iterator[None]:
    """Set parameters to `value(name, original)`; put the originals back on exit."""
    saved: dict[str, Tensor] = {}
    # The list lives on the model, never in this module, so that two models cannot mix.
    overlays: list[dict[str, Tensor]] = getattr(model, _OVERLAYS, None) or []
    setattr(model, _OVERLAYS, [*overlays, saved])
    try:
        with torch.no_grad():
            for name, parameter in chosen.items():
                saved[name] = parameter.detach().clone()
                parameter.copy_(value(name, saved[name]))
        yield
    finally:
        # Backwards: a tied parameter reached under two names gets its oldest copy last.
        with torch.no_grad():
            for name, original in reversed(saved.items()):
                chosen[name].copy_(original)
        if overlays:
            setattr(model, _OVERLAYS, overlays)
        else:
            delattr(model, _OVERLAYS)


def _check(name: str, delta: Tensor, parameters: Mapping[str, nn.Parameter]) -> None:
    remedy = "The edit was made for another model; make it again for this one."
    if name not in parameters:
        raise EditingError(f"the model has no parameter '{name}'", remedy=remedy)
    if tuple(delta.shape) != tuple(parameters[name].shape):
        raise EditingError(
            f"the update of '{name}' has shape {tuple(delta.shape)}, "
            f"the parameter {tuple(parameters[name].shape)}",
            remedy=remedy,
        )
    if not torch.isfinite(delta).all():
        raise EditingError(f"the update of '{name}' holds NaN or infinity")
