"""Edits as weight updates, separate from the model: applied and reverted bit-identically.

A method never changes the model. It returns an `EditEffect`, which `applied(model, effect)` applies
for the duration of a `with` block. Methods use the guards `preserved` and `replaced` internally.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import EditingError
from ..evaluation_mode import evaluating
from ..models import weights_digest

_OVERLAYS = "_thinkeval_original_weights"
"""Attribute of a model while edits are applied: one {parameter name: original} per edit, outermost
first. From it the digest of the unedited model is computed."""


@dataclass(frozen=True)
class EditEffect:
    """An edit: the result of a method.

    Attributes:
        deltas: {parameter name: update}, each in the parameter's own shape and orientation.
        targets: {request id: the optimised vector v* (ROME) or z (MEMIT), [d_model]}; can be
            passed to a method to skip the optimisation.
        state: input of the method for the next edit of a sequence; may be empty.
        n_steps: {request id: number of optimiser updates}.
        templates: context templates in groups, as passed or as sampled from the unedited model.
        prompt_change: function from prompt to prompt, of methods that do not change weights.
        factors: {parameter name: (left [rows, r], right [r, columns])} of the low-rank updates, in
            the parameter's own orientation, float64 or float32, such that
            `(left.double() @ right.double()).float()` is the update. Saved instead of it.
        residual_left: {request id: fraction of ‖z − h‖ that is left with the update, right after
            its batch; None where z is h}, of methods with a target z.
    """

    deltas: dict[str, Tensor] = field(default_factory=dict)
    targets: dict[str, Tensor] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)
    n_steps: dict[str, int] = field(default_factory=dict)
    templates: tuple[tuple[str, ...], ...] = ()
    prompt_change: Any = None
    factors: dict[str, tuple[Tensor, Tensor]] = field(default_factory=dict)
    residual_left: dict[str, float | None] = field(default_factory=dict)

    @property
    def changes_nothing(self) -> bool:
        """Return True if the edited model is the unedited one (the control `none`)."""
        return not self.deltas and self.prompt_change is None


@contextlib.contextmanager
def applied(model: nn.Module, effect: EditEffect) -> Iterator[nn.Module]:
    """Apply the effect's deltas to the model; the weights are restored bit-identically on exit.

    The sum W0 + delta is computed in float32 (float64 for a float64 model) and rounded once to the
    parameter's type. Blocks may be nested: the inner one adds to the outer one. The weights are
    restored after an exception or Ctrl-C too.

    Raises:
        EditingError: the model has no such parameter, the shape does not match, or an update has
            NaN or infinity; the model is then unchanged.
    """
    parameters = require_fits(model, effect)

    def edited(name: str, original: Tensor) -> Tensor:
        wide = torch.promote_types(original.dtype, torch.float32)
        return original.to(wide) + effect.deltas[name].to(original.device, wide)

    with _overlay(model, {name: parameters[name] for name in effect.deltas}, edited):
        yield model


def rounding_kept(model: nn.Module, effect: EditEffect) -> float | None:
    """The fraction of an update that is left once the edited weights are rounded to 16 bits.

    ⟨ΔW, W' − W⟩ / ‖ΔW‖² over all changed parameters of 16 bits, with W' as `applied` stores it;
    None where there is none.

    Args:
        model: the unedited model.
    """
    parameters = dict(model.named_parameters(remove_duplicate=False))
    kept = whole = 0.0
    for name, delta in effect.deltas.items():
        weight = parameters[name].detach()
        if weight.element_size() > 2:
            continue
        update, wide = delta.to(weight.device, torch.float32), weight.float()
        stored = (wide + update).to(weight.dtype).float()
        kept += float((update * (stored - wide)).sum())
        whole += float(update.square().sum())
    return kept / whole if whole else None


def require_fits(model: nn.Module, effect: EditEffect) -> dict[str, nn.Parameter]:
    """Refuse an effect that cannot be applied to the model; returns the model's parameters by name.

    Raises:
        EditingError: as `applied`.
    """
    parameters = dict(model.named_parameters(remove_duplicate=False))
    for name, delta in effect.deltas.items():
        _check(name, delta, parameters)
    return parameters


@contextlib.contextmanager
def replaced(model: nn.Module, weights: Mapping[str, Tensor]) -> Iterator[nn.Module]:
    """Replace parameters of the model; they are restored bit-identically on exit."""
    parameters = dict(model.named_parameters(remove_duplicate=False))
    for name, weight in weights.items():
        _check(name, weight, parameters)
    with _overlay(model, {n: parameters[n] for n in weights}, lambda name, _: weights[name]):
        yield model


@contextlib.contextmanager
def preserved(model: nn.Module) -> Iterator[nn.Module]:
    """Evaluation mode without parameter gradients; the model's state is restored on exit.

    Restored are each module's training flag, each parameter's `requires_grad`, and the state of the
    global random generators. (`applied` and `replaced` restore weights, `editing.nethook` removes
    hooks.)
    """
    wants = [(parameter, parameter.requires_grad) for parameter in model.parameters()]
    cuda = sorted({p.device.index for p, _ in wants if p.device.type == "cuda"})
    with torch.random.fork_rng(devices=cuda), evaluating(model):
        try:
            model.requires_grad_(False)
            yield model
        finally:
            for parameter, wanted in wants:
                parameter.requires_grad_(wanted)


def unedited_digest(model: nn.Module) -> str:
    """Weights digest of the model without the edits that are currently applied."""
    return weights_digest(_Unedited(model)) if is_edited(model) else weights_digest(model)


def is_edited(model: nn.Module) -> bool:
    """Return True if an edit is currently applied to the model."""
    return bool(getattr(model, _OVERLAYS, None))


class _Unedited(nn.Module):
    """View of a model with its original parameters; shares all memory."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        originals: dict[int, Tensor] = {}
        parameters = dict(model.named_parameters(remove_duplicate=False))
        for overlay in reversed(getattr(model, _OVERLAYS)):
            originals.update(
                {id(parameters[name]): value for name, value in reversed(overlay.items())}
            )
        self._pairs = [(n, originals.get(id(p), p)) for n, p in model.named_parameters()]

    def named_parameters(self, *_: Any, **__: Any) -> Iterator[tuple[str, Any]]:
        return iter(self._pairs)


@contextlib.contextmanager
def _overlay(model: nn.Module, chosen: Mapping[str, Tensor], value: Any) -> Iterator[None]:
    """Set parameters to `value(name, original)`; restore the originals on exit."""
    saved: dict[str, Tensor] = {}
    # The list is an attribute of the model, not of this module, so that models cannot mix.
    overlays: list[dict[str, Tensor]] = getattr(model, _OVERLAYS, None) or []
    setattr(model, _OVERLAYS, [*overlays, saved])
    try:
        with torch.no_grad():
            for name, parameter in chosen.items():
                saved[name] = parameter.detach().clone()
                parameter.copy_(value(name, saved[name]))
        yield
    finally:
        # In reverse: a tied parameter with two names gets its oldest copy last.
        with torch.no_grad():
            for name, original in reversed(saved.items()):
                chosen[name].copy_(original)
        if overlays:
            setattr(model, _OVERLAYS, overlays)
        else:
            delattr(model, _OVERLAYS)


def _check(name: str, delta: Tensor, parameters: Mapping[str, nn.Parameter]) -> None:
    remedy = "The edit was computed for another model; compute it again for this one."
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
