"""Covariances on disk: safetensors with their source in the metadata, written whole or not.

Whether a covariance is this model's, and has the matrices that a method needs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from thinkeval.editing.architectures import Adapter, adapter_for
from thinkeval.editing.atomic_write import whole_file
from thinkeval.editing.covariance.statistics import Covariance, Source
from thinkeval.editing.deltas import unedited_digest
from thinkeval.editing.errors import CovarianceError

KEY = "thinkeval_covariance"


def save(covariance: Covariance, path: str | Path) -> None:
    """Write to one safetensors file, whole or not at all.

    Raises:
        CovarianceError: its source is unknown, so that nobody could check it later.
    """
    if covariance.source is None:
        raise CovarianceError("a covariance without its source cannot be stored")
    about = {**vars(covariance.source), "n_tokens": covariance.n_tokens}
    with whole_file(path) as out:
        safetensors.torch.save_file(
            {name: moment.contiguous() for name, moment in covariance.items()},
            str(out),
            {KEY: json.dumps(about)},
        )


def load(path: str | Path) -> Covariance:
    """Read what `save` wrote.

    Raises:
        CovarianceError: the file is missing, cut off, or not one of ours.
    """
    try:
        with safetensors.safe_open(str(path), framework="pt") as opened:
            about = json.loads((opened.metadata() or {})[KEY])
            moments = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        n_tokens = int(about.pop("n_tokens"))
        return Covariance(moments, Source(**about), n_tokens)
    except (OSError, ValueError, KeyError, TypeError, safetensors.SafetensorError) as error:
        raise CovarianceError(f"{path} is not a readable covariance file ({error})") from error


def path_of(folder: str | Path, source: Source, module: str) -> Path:
    """Where a folder keeps the covariance of one module: a file for each source and module."""
    return Path(folder) / f"{source.digest}.{module}.safetensors"


def source_of(path: str | Path) -> Source | None:
    """The source of a stored covariance, without reading its matrices; None if it is damaged."""
    try:
        with safetensors.safe_open(str(path), framework="pt") as opened:
            about = json.loads((opened.metadata() or {})[KEY])
        return Source(**{key: value for key, value in about.items() if key != "n_tokens"})
    except (OSError, ValueError, KeyError, TypeError, safetensors.SafetensorError):
        return None


def read_if_same(path: Path, source: Source) -> Covariance | None:
    """The stored part; None when there is none, or it is damaged (it is then made again)."""
    if not path.is_file():
        return None
    try:
        part = load(path)
    except CovarianceError:
        return None
    return part if part.source == source else None


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
