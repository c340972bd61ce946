"""Perturbation restraint: the sum of all MEMIT updates, with its large singular values reduced.

D is the sum of the updates of all batches so far, each computed by MEMIT on the model with the
unrestrained earlier updates. With D = U S Vᵀ and σ the largest singular value of the unedited W₀,
every s > σ becomes log_b(s) − log_b(σ) + σ: D' = U S' Vᵀ.

Two applications. `paper` (default): the edited weight is W₀ + D', which restrains the perturbation
as the paper intends. `published_code`: W₀ + D + D', the restrained update in addition to the
unrestrained one; for comparison with results of that code. Both hold after every batch, as if it
were the last of the sequence.

The base b is a free parameter: the authors' code offers e, 1.2 and 1.5; published comparisons of
methods use e (the default). For σ · ln b < 1, the formula increases values slightly above σ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ...loaders.records import RewriteRequest
from ..deltas import EditEffect, applied
from ..errors import EditFailedError, EditingError
from ..hparams.of.prune import HyperParams
from ..key_value.layerwise import opened
from ..linear_algebra import in_float64, linear_algebra_device
from ..objectives import Objective
from . import memit

NAME = "prune"
PAPER = "Ma et al. 2025, Perturbation-Restrained Sequential Model Editing (ICLR)"
KIND = "weights"
TARGET_SITE = "layer"
TAKES_OBJECTIVE = True
WRITES_AT_SUBJECT = True
SOLVES_WITH_COVARIANCE = True


class Spectrum(NamedTuple):
    """A sum of updates as U [rows, r], S [r], Vh [r, columns], in the weight's own orientation.

    Attributes:
        largest: σ, the largest singular value of the weight before all updates.
    """

    u: Tensor
    s: Tensor
    vh: Tensor
    largest: float

    def scaled(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """The factors of U diag(values) Vh."""
        return self.u * values, self.vh


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
        In `state`: `spectra` {weight: `Spectrum` of D}, and the hyperparameters of the restraint.

    Raises:
        EditingError: the state is not of this model, method and hyperparameters.
    """
    with opened(
        model, tokenizer, requests, hparams, covariance, context_templates, seed, objective
    ) as batch:
        earlier = _earlier(model, hparams, state)
        unrestrained = {
            name: _product(spectrum.scaled(spectrum.s - resulting(spectrum, hparams)))
            for name, spectrum in earlier.items()
        }
        with applied(model, EditEffect({name: d.float() for name, d in unrestrained.items()})):
            found, update = memit.edit(batch, hparams, targets)
        spectra = {
            name: summed(earlier.get(name), factors, model.get_parameter(name))
            for name, factors in update.factors.items()
        }
        deltas, factors = {}, {}
        for name, spectrum in spectra.items():
            pair = spectrum.scaled(resulting(spectrum, hparams))
            total = _product(pair)
            before = earlier.get(name)
            if before is None:
                factors[name] = pair
            else:
                total -= _product(before.scaled(resulting(before, hparams)))
            deltas[name] = total.float()
        left = batch.residual_left(found.vectors, deltas)
    return EditEffect(
        deltas=deltas,
        targets=found.vectors,
        state={"spectra": earlier | spectra, **_settings(hparams)},
        n_steps=found.n_steps,
        templates=batch.templates,
        factors=factors,
        residual_left=left,
    )


def restrained(values: Tensor, largest: float, base: float | None = None) -> Tensor:
    """Singular values S → S': s > σ becomes log_b(s) − log_b(σ) + σ."""
    logs = values.clamp_min(largest).log() - math.log(largest)
    return torch.where(values > largest, logs / math.log(base or math.e) + largest, values)


def resulting(spectrum: Spectrum, hparams: HyperParams) -> Tensor:
    """Singular values of the edited weight minus W₀: S', or S + S'."""
    values = restrained(spectrum.s, spectrum.largest, hparams.restraint)
    return values if hparams.application == "paper" else spectrum.s + values


def summed(before: Spectrum | None, factors: tuple[Tensor, Tensor], weight: Tensor) -> Spectrum:
    """Spectrum of the sum so far plus a new update, from QR factors and a small core.

    Args:
        factors: left [rows, n] and right [n, columns] of the new update, float64.
        weight: W₀, read only if `before` is None.
    """
    left, right = factors
    if before is None:
        largest = largest_singular_value(weight)
    else:
        largest = before.largest
        first, second = before.scaled(before.s)
        left, right = torch.cat([first, left], dim=1), torch.cat([second, right])
    q_left, r_left = torch.linalg.qr(left)
    q_right, r_right = torch.linalg.qr(right.T)
    u, s, vh = torch.linalg.svd(r_left @ r_right.T, full_matrices=False)
    return Spectrum(q_left @ u, s, vh @ q_right.T, largest)


def largest_singular_value(weight: Tensor) -> float:
    """σ of a matrix, in float64, from the smaller of its two Gram matrices.

    Raises:
        EditFailedError: σ is 0.
    """
    wide = in_float64(weight.detach())
    gram = wide @ wide.T if len(wide) <= wide.shape[1] else wide.T @ wide
    largest = float(torch.linalg.eigvalsh(gram)[-1].clamp_min(0).sqrt())
    if not largest > 0:
        raise EditFailedError(
            "an edited weight is all zeros, so that no update of it can be restrained by its size",
            remedy="Edit other layers.",
        )
    return largest


def _product(factors: tuple[Tensor, Tensor]) -> Tensor:
    return factors[0] @ factors[1]


def _settings(hparams: HyperParams) -> dict[str, Any]:
    return {"application": hparams.application, "restraint": hparams.restraint}


def _earlier(
    model: nn.Module, hparams: HyperParams, state: Mapping[str, Any] | None
) -> dict[str, Spectrum]:
    """Spectra of the sums of earlier batches; empty at the start of a sequence."""
    if not state:
        return {}
    remedy = "Pass the state that this method returned for this model, with the same hparams."
    if {key: state.get(key) for key in _settings(hparams)} != _settings(hparams):
        raise EditingError("the state is of a sequence with other hyperparameters", remedy=remedy)
    parameters = dict(model.named_parameters(remove_duplicate=False))
    device, found = linear_algebra_device(next(model.parameters()).device), {}
    for name, spectrum in state["spectra"].items():
        shape = (len(spectrum.u), spectrum.vh.shape[1])
        if name not in parameters or tuple(parameters[name].shape) != shape:
            raise EditingError(f"the state has updates of a {name} {shape}", remedy=remedy)
        found[name] = Spectrum(
            spectrum.u.to(device), spectrum.s.to(device), spectrum.vh.to(device), spectrum.largest
        )
    return found
