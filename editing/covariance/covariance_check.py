"""Whether a covariance is this model's, and has the matrices that a method needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from thinkeval.editing.architectures import Adapter, adapter_for
from thinkeval.editing.covariance.statistics import Covariance
from thinkeval.editing.deltas import unedited_digest
from thinkeval.editing.errors import CovarianceError


def checked(
    covariance: Mapping[str, Tensor] | None, model: nn.Module, layers: Sequence[int]
) -> Covariance:
    """The covariance, once it is certain that it fits the model and the layers.

    A plain mapping {module name: [d_in, d_in]} is taken as it is: it does not say whose it is.

    Raises:
        CovarianceError: there is none, a layer is missing, a matrix has the wrong size or is not
            finite, or it was taken from another model than this one without its edits.
    """
    if covariance is None:
        raise CovarianceError("the method needs the covariance of the unedited model's keys")
    whole = covariance if isinstance(covariance, Covariance) else Covariance(dict(covariance))
    adapter = adapter_for(model)
    for layer in layers:
        _check_moment(whole, adapter, layer)
    if whole.weights_digest is not None and whole.weights_digest != unedited_digest(model):
        raise CovarianceError(
            "the covariance was taken from another model than the one to be edited "
            f"(weights {whole.weights_digest[:12]}, not {unedited_digest(model)[:12]})",
            remedy="Make it from this model, before any edit, with `thinkeval covariance`.",
        )
    return whole


def _check_moment(covariance: Covariance, adapter: Adapter, layer: int) -> None:
    module, name, weight = adapter.mlp_out(layer)
    if name not in covariance:
        raise CovarianceError(
            f"the covariance has no matrix for {name}; it has {', '.join(covariance) or 'none'}",
            remedy="Make it for the layers of the hparams with `thinkeval covariance`.",
        )
    shape = adapter.model.get_parameter(weight).shape
    d_in = shape[0] if adapter.orientation(module) == "in_out" else shape[1]
    if tuple(covariance[name].shape) != (d_in, d_in):
        raise CovarianceError(
            f"the covariance of {name} has shape {tuple(covariance[name].shape)}, "
            f"not {(d_in, d_in)}"
        )
    if not torch.isfinite(covariance[name]).all():
        raise CovarianceError(f"the covariance of {name} holds NaN or infinity")
