"""Covariance files: safetensors with their source in the metadata, written atomically.

`checked` validates a covariance, from a file or not, against a model and the layers of a method.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from ..architectures import Adapter, adapter_for
from ..atomic_write import whole_file
from ..deltas import unedited_digest
from ..errors import CovarianceError
from .statistics import Covariance, Source

KEY = "thinkeval_covariance"


def save(covariance: Covariance, path: str | Path) -> None:
    """Write a covariance to one safetensors file, atomically.

    Raises:
        CovarianceError: its source is unknown, so that it could not be validated later.
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
    """Read a file of `save`.

    Raises:
        CovarianceError: the file is missing, truncated, or not a covariance of ThinkEval.
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
    """Path of one module's covariance in a folder: one file per source and module."""
    return Path(folder) / f"{source.digest}.{module}.safetensors"


def source_of(path: str | Path) -> Source | None:
    """Source of a stored covariance, without reading its matrices; None if the file is damaged."""
    try:
        with safetensors.safe_open(str(path), framework="pt") as opened:
            about = json.loads((opened.metadata() or {})[KEY])
        return Source(**{key: value for key, value in about.items() if key != "n_tokens"})
    except (OSError, ValueError, KeyError, TypeError, safetensors.SafetensorError):
        return None


def read_if_same(path: Path, source: Source) -> Covariance | None:
    """The stored covariance if its source matches; None if it is missing or damaged."""
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
    """Validate a covariance against the unedited model and the layers; returns it.

    A plain mapping {module name: [d_in, d_in]} has no source, so its model cannot be checked.

    Raises:
        CovarianceError: `covariance` is None, a layer is missing, a matrix has the wrong size or is
            not finite, or it was collected from another model.
    """
    if covariance is None:
        raise CovarianceError("the method needs the covariance of the unedited model's keys")
    given = covariance if isinstance(covariance, Covariance) else Covariance(dict(covariance))
    adapter = adapter_for(model)
    for layer in layers:
        _check_moment(given, adapter, layer)
    if given.weights_digest is not None and given.weights_digest != unedited_digest(model):
        raise CovarianceError(
            "the covariance was collected from another model than the one to be edited "
            f"(weights {given.weights_digest[:12]}, not {unedited_digest(model)[:12]})",
            remedy="Collect it from this model, before any edit, with `thinkeval model"
            " covariance`.",
        )
    return given


def _check_moment(covariance: Covariance, adapter: Adapter, layer: int) -> None:
    name = adapter.mlp_out(layer).name
    if name not in covariance:
        raise CovarianceError(
            f"the covariance has no matrix for {name}; it has {', '.join(covariance) or 'none'}",
            remedy="Collect it for the layers of the hparams with `thinkeval model covariance`.",
        )
    d_in = adapter.key_size(layer)
    if tuple(covariance[name].shape) != (d_in, d_in):
        raise CovarianceError(
            f"the covariance of {name} has shape {tuple(covariance[name].shape)}, "
            f"not {(d_in, d_in)}"
        )
    if not torch.isfinite(covariance[name]).all():
        raise CovarianceError(f"the covariance of {name} holds NaN or infinity")
