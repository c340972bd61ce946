"""Covariance statistics (mom2) of keys: collected from the unedited model, stored, checked.

`get` is the entry point: it reads stored matrices and collects the missing ones in one pass. A
`Covariance` records the digest of its model's weights; methods reject that of another model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout
from torch import nn

from ..architectures import Adapter, adapter_for
from ..deltas import is_edited
from ..errors import CovarianceError
from ..models import weights_digest as digest_of_weights
from .checkpoint import Partial
from .files import checked, load, path_of, read_if_same, save
from .moments import Progress, second_moments
from .statistics import Covariance, Source
from .texts import Texts, counted

__all__ = [
    "Covariance",
    "Source",
    "checked",
    "collect",
    "get",
    "load",
    "longest",
    "save",
]

DTYPES = {"float32": torch.float32, "float64": torch.float64}


def collect(
    model: nn.Module,
    tokenizer: Any,
    texts: Texts,
    layers: Sequence[int],
    *,
    dtype: str = "float32",
    max_length: int | None = None,
    batch_tokens: int = 4096,
    weights_digest: str | None = None,
    inputs: str = "",
    progress: Progress | None = None,
    partial: Partial | None = None,
) -> Covariance:
    """Collect the covariance of the keys of some layers over texts, all layers in one pass.

    Args:
        max_length: maximum number of tokens of a text, longer ones are truncated; by default the
            model's context, at most 4096.
        weights_digest: of the model, if already computed.
        inputs: digest of the model's configuration and tokenizer, part of the source.
        progress: called with (texts done, number of texts, "covariance").
        partial: checkpoint from which the run resumes and to which it writes.

    Raises:
        CovarianceError: an edit is applied to the model, there is no text, or the result is not
            finite.
        EditingError: a layer does not exist.
    """
    _refuse_edited(model)
    adapter = adapter_for(model)
    modules = _modules(adapter, layers)
    source = _source(model, texts, dtype, max_length, weights_digest, inputs)
    moments, n_tokens = second_moments(
        model,
        tokenizer,
        texts,
        modules,
        dtype=DTYPES[dtype],
        max_length=source.max_length,
        batch_tokens=batch_tokens,
        progress=progress,
        partial=partial,
    )
    return Covariance(moments, source, n_tokens)


def get(
    model: nn.Module,
    tokenizer: Any,
    texts: Texts,
    layers: Sequence[int],
    cache_dir: str | Path,
    *,
    dtype: str = "float32",
    max_length: int | None = None,
    batch_tokens: int = 4096,
    weights_digest: str | None = None,
    inputs: str = "",
    progress: Progress | None = None,
    checkpoint_s: float = 60.0,
) -> Covariance:
    """The covariance of some layers: read from the cache; missing layers are collected and stored.

    The cache has one file per source and layer, so methods with different layers share it. Of
    several processes that need the same file, one collects and the others wait. A killed run
    resumes at its last checkpoint, with a bit-identical result.

    Args:
        checkpoint_s: seconds between two checkpoints; 0: after every batch.

    Raises:
        CovarianceError: as `collect`.
    """
    _refuse_edited(model)
    source = _source(model, texts, dtype, max_length, weights_digest, inputs)
    adapter = adapter_for(model)
    names = {layer: _name(adapter, layer) for layer in sorted(set(layers))}
    parts = _stored(cache_dir, source, names)
    if len(parts) < len(names):
        with _locked(Path(cache_dir), source, len(texts), progress):
            parts |= _stored(cache_dir, source, names)
            absent = [layer for layer, name in names.items() if name not in parts]
            if absent:
                partial = _partial(Path(cache_dir), adapter, source, batch_tokens, checkpoint_s)
                begun = [i for i in range(adapter.n_layers) if _name(adapter, i) in partial.begun]
                if not set(absent) <= set(begun):
                    partial.remove()
                    begun = absent
                fresh = collect(
                    model,
                    tokenizer,
                    texts,
                    begun,
                    dtype=dtype,
                    max_length=source.max_length,
                    batch_tokens=batch_tokens,
                    weights_digest=source.weights_digest,
                    inputs=source.inputs,
                    progress=progress,
                    partial=partial,
                )
                for name in fresh:
                    parts[name] = Covariance({name: fresh[name]}, source, fresh.n_tokens)
                    save(parts[name], path_of(cache_dir, source, name))
                partial.remove()
    n_tokens = max((parts[name].n_tokens for name in names.values()), default=0)
    moments = {name: parts[name][name] for name in names.values()}
    return Covariance(moments, source, n_tokens, Path(cache_dir))


def _source(
    model: nn.Module,
    texts: Texts,
    dtype: str,
    max_length: int | None,
    weights_digest: str | None,
    inputs: str,
) -> Source:
    if dtype not in DTYPES:
        raise CovarianceError(
            f"the number type '{dtype}' is unknown", remedy=f"Use {' or '.join(DTYPES)}."
        )
    # A corpus on disk caches its digest, so that it is not read again for every edit.
    known = getattr(texts, "corpus_digest", None)
    corpus_digest, n_texts = (known, len(texts)) if known else counted(texts)
    return Source(
        weights_digest=weights_digest or digest_of_weights(model),
        corpus_digest=corpus_digest,
        dtype=dtype,
        max_length=max_length or longest(model),
        n_texts=n_texts,
        inputs=inputs,
    )


def longest(model: nn.Module) -> int:
    """Maximum number of tokens of a text, where none is named."""
    limit = getattr(getattr(model, "config", None), "max_position_embeddings", None) or 1024
    return min(int(limit), 4096)


def _name(adapter: Adapter, layer: int) -> str:
    return adapter.mlp_out(layer).name


def _stored(
    cache_dir: str | Path, source: Source, names: Mapping[int, str]
) -> dict[str, Covariance]:
    found = {n: read_if_same(path_of(cache_dir, source, n), source) for n in names.values()}
    return {name: part for name, part in found.items() if part is not None}


def _partial(
    folder: Path, adapter: Adapter, source: Source, batch_tokens: int, every_s: float
) -> Partial:
    # The batches determine the order of the additions, and so the last bits.
    key = f"{source.digest} {batch_tokens} {adapter.n_layers}"
    return Partial(folder / f"{source.digest}.partial", key, every_s)


@contextmanager
def _locked(
    folder: Path, source: Source, n_texts: int, progress: Progress | None
) -> Iterator[None]:
    """Exclusive access to the files of one source."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / f".{source.digest}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        if progress is not None:
            progress(0, n_texts, "covariance: waiting for another process")
        lock.acquire()
    try:
        for left in folder.glob(f".{source.digest}.*.*"):
            left.unlink(missing_ok=True)  # temporary files of a killed process
        yield
    finally:
        lock.release()


def _modules(adapter: Adapter, layers: Sequence[int]) -> dict[str, nn.Module]:
    found = [adapter.mlp_out(layer) for layer in sorted(set(layers))]
    if not found:
        raise CovarianceError("no layer was named for the covariance")
    return {projection.name: projection.module for projection in found}


def _refuse_edited(model: nn.Module) -> None:
    if is_edited(model):
        raise CovarianceError(
            "an edit is applied to the model; the covariance is of the unedited model",
            remedy="Collect it outside of `applied(...)`.",
        )
