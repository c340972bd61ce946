"""The covariance of keys: taken from the unedited model, stored, checked.

`get` is the front door: what is stored is read, what is missing is collected in one pass. A
`Covariance` knows which weights it was taken from; a method that is handed another model's refuses.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from editing.architectures import Adapter, adapter_for
from editing.covariance_files import load, read_if_same, save
from editing.deltas import is_edited, unedited_digest
from editing.errors import CovarianceError
from editing.models import weights_digest as digest_of_weights
from editing.moments import Progress, second_moments
from editing.statistics import Covariance, Source

__all__ = ["Covariance", "Source", "checked", "collect", "get", "load", "save"]

DTYPES = {"float32": torch.float32, "float64": torch.float64}


def collect(
    model: nn.Module,
    tokenizer: Any,
    texts: Sequence[str],
    layers: Sequence[int],
    *,
    dtype: str = "float32",
    max_length: int | None = None,
    batch_tokens: int = 4096,
    weights_digest: str | None = None,
    progress: Progress | None = None,
) -> Covariance:
    """Take the covariance of some layers' keys over texts, all layers in one pass.

    Args:
        max_length: tokens of a text beyond this are cut off; by default the model's context, at
            most 4096.
        weights_digest: of the model, when known already; computed otherwise.
        progress: called with (texts done, texts in all, "covariance").

    Raises:
        CovarianceError: an edit is on the model, there is no text, or the result is not finite.
        EditingError: there is no such layer.
    """
    _refuse_edited(model)
    adapter = adapter_for(model)
    modules = _modules(adapter, layers)
    source = _source(model, texts, dtype, max_length, weights_digest)
    moments, n_tokens = second_moments(
        model,
        tokenizer,
        texts,
        modules,
        dtype=DTYPES[dtype],
        max_length=source.max_length,
        batch_tokens=batch_tokens,
        progress=progress,
    )
    return Covariance(moments, source, n_tokens)


def get(
    model: nn.Module,
    tokenizer: Any,
    texts: Sequence[str],
    layers: Sequence[int],
    cache_dir: str | Path,
    *,
    dtype: str = "float32",
    max_length: int | None = None,
    batch_tokens: int = 4096,
    weights_digest: str | None = None,
    progress: Progress | None = None,
) -> Covariance:
    """The covariance of some layers: read from the cache, what is missing collected and stored.

    The cache has one file for each source and layer, so that methods with different layers share.

    Raises:
        CovarianceError: as `collect`.
    """
    _refuse_edited(model)
    source = _source(model, texts, dtype, max_length, weights_digest)
    names = {layer: adapter_for(model).mlp_out(layer).name for layer in layers}
    paths = {
        name: Path(cache_dir) / f"{source.digest}.{name}.safetensors" for name in names.values()
    }
    parts = {
        name: part
        for name, path in paths.items()
        if (part := read_if_same(path, source)) is not None
    }
    absent = [layer for layer, name in names.items() if name not in parts]
    if absent:
        fresh = collect(
            model,
            tokenizer,
            texts,
            absent,
            dtype=dtype,
            max_length=source.max_length,
            batch_tokens=batch_tokens,
            weights_digest=source.weights_digest,
            progress=progress,
        )
        for name in fresh:
            parts[name] = Covariance({name: fresh[name]}, source, fresh.n_tokens)
            save(parts[name], paths[name])
    ordered = {names[layer]: parts[names[layer]] for layer in sorted(names)}
    n_tokens = max((part.n_tokens for part in ordered.values()), default=0)
    return Covariance({name: part[name] for name, part in ordered.items()}, source, n_tokens)


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


def _source(
    model: nn.Module,
    texts: Sequence[str],
    dtype: str,
    max_length: int | None,
    weights_digest: str | None,
) -> Source:
    if dtype not in DTYPES:
        raise CovarianceError(
            f"the number type '{dtype}' is unknown", remedy=f"Use {' or '.join(DTYPES)}."
        )
    corpus = hashlib.sha256()
    for text in texts:
        data = text.encode()
        corpus.update(len(data).to_bytes(8, "little") + data)
    limit = getattr(getattr(model, "config", None), "max_position_embeddings", None) or 1024
    return Source(
        weights_digest=weights_digest or digest_of_weights(model),
        corpus_digest=corpus.hexdigest(),
        dtype=dtype,
        max_length=max_length or min(int(limit), 4096),
    )


def _modules(adapter: Adapter, layers: Sequence[int]) -> dict[str, nn.Module]:
    found = [adapter.mlp_out(layer) for layer in sorted(set(layers))]
    if not found:
        raise CovarianceError("no layer was named for the covariance")
    return {projection.name: projection.module for projection in found}


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


def _refuse_edited(model: nn.Module) -> None:
    if is_edited(model):
        raise CovarianceError(
            "an edit is on the model; the covariance is of the unedited model",
            remedy="Take it outside of `applied(...)`.",
        )
