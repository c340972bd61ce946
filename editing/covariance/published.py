"""Published covariance statistics (mom2, `.npz`): import, validation against a model, cache.

The files are those of Meng et al. (ROME §3.1; `layer_stats` of the public code): arrays
`mom2.mom2` (Σ k kᵀ, float32) and `mom2.count` (tokens), besides `sample_size` (texts), in a file
named like `transformer.h.17.mlp.c_proj_float32_mom2_100000.npz`. The second moment is mom2 / count.

A file does not name its model. It is imported for the model that the user names; only the size of
its matrix can be checked.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from ...loaders.reading.sources import require_no_pipe
from ...loaders.records import digest
from ..architectures import adapter_for
from ..errors import CovarianceError
from .files import checked, path_of, read_if_same, save, source_of
from .statistics import Covariance, Source

NAMED = re.compile(r"^(?P<module>.+?)_(?:float\d+|bfloat16)_.*\.npz$")
"""Module, number type of the sums, statistic, number of texts."""

PREFIX = "npz:"
"""Prefix of the file's SHA-256 in `Source.corpus_digest`: the texts are unknown."""


@dataclass(frozen=True)
class Imported:
    """Statistics of modules: {module name: SHA-256 of its file}, and the available files."""

    hashes: Mapping[str, str]
    files: Mapping[str, Path]

    @property
    def digest(self) -> str:
        """Digest of the files' contents and modules."""
        return PREFIX + digest(sorted(self.hashes.items()), 64)


def module_of(path: str | Path) -> str | None:
    """Module name of a published file's name; None if it does not follow the pattern."""
    found = NAMED.match(Path(path).name)
    return found["module"] if found else None


def in_files(path: str | Path, modules: Sequence[str], *, named: bool = True) -> Imported:
    """The statistics of these modules in a file or anywhere in a folder of published files.

    Args:
        named: False assigns the file to the only module regardless of its name.

    Raises:
        CovarianceError: a module has no file or several, or a file cannot be read.
    """
    place = Path(path)
    if not place.exists():
        raise _absent(place, "there is no such file or folder")
    all_files = sorted(place.rglob("*.npz")) if place.is_dir() else [place]
    files: dict[str, Path] = {}
    for module in modules:
        fitting = [file for file in all_files if module_of(file) == module]
        alone = place.is_file() and len(modules) == 1
        if alone and (module_of(place) is None or not named):
            fitting = [place]
        if len(fitting) != 1:
            there = ", ".join(str(file) for file in fitting) or "none"
            raise CovarianceError(
                f"{place} has {len(fitting) or 'no'} statistics of {module} ({there})",
                remedy="Give a folder with one file for each layer that the method edits, named as "
                f"published: {module}_float32_mom2_100000.npz.",
            )
        files[module] = fitting[0]
    return Imported({module: _hash(file) for module, file in files.items()}, files)


def in_cache(
    cache_dir: str | Path, weights_digest: str, modules: Sequence[str], *, inputs: str = ""
) -> Imported:
    """Statistics imported earlier for these modules of a model, by the digests of `Source`.

    Raises:
        CovarianceError: a module has none, or several of different files.
    """
    hashes: dict[str, str] = {}
    for module in modules:
        sources = [source_of(file) for file in Path(cache_dir).glob(f"*.{module}.safetensors")]
        found = {
            source.corpus_digest.removeprefix(PREFIX)
            for source in sources
            if source
            and source.origin == "imported"
            and (source.weights_digest, source.inputs) == (weights_digest, inputs)
        }
        if len(found) != 1:
            raise CovarianceError(
                f"{len(found) or 'no'} statistics of {module} were imported for this model",
                remedy="Import it with `thinkeval model covariance import FILE --model"
                " MODEL`, or name "
                "the file itself.",
            )
        hashes[module] = found.pop()
    return Imported(hashes, {})


def get(
    model: nn.Module,
    imported: Imported,
    cache_dir: str | Path,
    *,
    weights_digest: str,
    inputs: str = "",
) -> Covariance:
    """The covariance from the cache; missing modules are read from the files and stored.

    Args:
        weights_digest, inputs: of the model, as in `Source`.

    Raises:
        CovarianceError: a file is not of the published form, or does not fit the model.
    """
    parts: dict[str, Covariance] = {}
    for module, sha in imported.hashes.items():
        part = _cached(cache_dir, module, sha, (weights_digest, inputs))
        if part is None:
            if module not in imported.files:
                raise CovarianceError(f"the imported statistics of {module} are damaged or gone")
            file = imported.files[module]
            part = read(file, model, module, sha, weights_digest=weights_digest, inputs=inputs)
            save(part, path_of(cache_dir, _source(part), module))
        parts[module] = part
    first = _source(next(iter(parts.values())))
    combined = Source(
        weights_digest,
        imported.digest,
        first.dtype,
        0,
        first.n_texts,
        origin="imported",
        inputs=inputs,
    )
    n_tokens = max(part.n_tokens for part in parts.values())
    moments = {module: parts[module][module] for module in parts}
    return Covariance(moments, combined, n_tokens, Path(cache_dir))


def read(
    path: str | Path,
    model: nn.Module,
    module: str,
    sha: str | None = None,
    *,
    weights_digest: str,
    inputs: str = "",
) -> Covariance:
    """The second moment of one published file, for one module of a model.

    Raises:
        CovarianceError: the file is not of this form, has no second moment, or the wrong size.
    """
    arrays = _arrays(Path(path))
    moment, count = arrays["mom2"], float(arrays["count"])
    if moment.ndim != 2 or moment.shape[0] != moment.shape[1] or not count >= 1:
        raise CovarianceError(
            f"{path} holds no second moment: mom2 has shape {moment.shape}, count is {count:g}"
        )
    mean = torch.from_numpy(np.ascontiguousarray(moment)) / count
    sample = float(arrays.get("sample_size", np.nan))
    source = Source(
        weights_digest=weights_digest,
        corpus_digest=PREFIX + (sha or _hash(Path(path))),
        dtype=str(mean.dtype).removeprefix("torch."),
        max_length=0,
        n_texts=int(sample) if np.isfinite(sample) else 0,
        origin="imported",
        inputs=inputs,
    )
    found = Covariance({module: mean}, source, int(count))
    _check(found, model, module, Path(path))
    return found


def layer_of(model: nn.Module, module: str) -> int:
    """Layer of an MLP output projection, by module name.

    Raises:
        CovarianceError: the model has no such MLP output projection.
    """
    adapter = adapter_for(model)
    names = [adapter.mlp_out(layer).name for layer in range(adapter.n_layers)]
    if module not in names:
        raise CovarianceError(
            f"this model has no MLP output projection {module}; it has {names[0]} to {names[-1]}",
            remedy="The statistics are of another model; or name the layer with --layer.",
        )
    return names.index(module)


def _check(found: Covariance, model: nn.Module, module: str, path: Path) -> None:
    layer = layer_of(model, module)
    try:
        # As a plain mapping, because the file does not name its model.
        checked(dict(found), model, [layer])
    except CovarianceError as error:
        raise CovarianceError(
            f"{path}: {error.detail}", remedy="The statistics are of another model."
        ) from error
    matrix = found[module]
    if not torch.allclose(matrix, matrix.T, rtol=1e-3, atol=1e-3 * float(matrix.abs().max())):
        raise CovarianceError(f"{path} holds no second moment: its matrix is not symmetric")
    if not bool((matrix.diagonal() >= 0).all()):
        raise CovarianceError(f"{path} holds no second moment: its diagonal has negative numbers")


def _arrays(path: Path) -> dict[str, Any]:
    """Arrays of a file without the prefix `mom2.`; pickled objects are never loaded."""
    require_no_pipe(path)
    try:
        with np.load(path, allow_pickle=False) as opened:
            wanted = {name: name.removeprefix("mom2.") for name in opened.files}
            arrays = {
                short: opened[name]
                for name, short in wanted.items()
                if short in ("mom2", "count", "sample_size")
            }
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, TypeError) as error:
        raise CovarianceError(
            f"{path} is not a readable .npz file ({error})", remedy="Fetch it again."
        ) from error
    absent = [f"mom2.{name}" for name in ("mom2", "count") if name not in arrays]
    if absent or not all(np.issubdtype(a.dtype, np.number) for a in arrays.values()):
        raise CovarianceError(
            f"{path} has no {' and no '.join(absent) or 'numbers'}: it holds no second moments",
            remedy="Give statistics of the kind mom2, as published with ROME and MEMIT.",
        )
    if arrays["mom2"].dtype not in (np.float32, np.float64):
        arrays["mom2"] = arrays["mom2"].astype(np.float32)
    return arrays


def _cached(
    cache_dir: str | Path, module: str, sha: str, model: tuple[str, str]
) -> Covariance | None:
    for path in Path(cache_dir).glob(f"*.{module}.safetensors"):
        source = source_of(path)
        if (
            source
            and source.origin == "imported"
            and (source.weights_digest, source.inputs) == model
            and source.corpus_digest == PREFIX + sha
        ):
            return read_if_same(path, source)
    return None


def _source(part: Covariance) -> Source:
    assert part.source is not None
    return part.source


def _hash(path: Path) -> str:
    try:
        with path.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise _absent(path, error.strerror or str(error)) from error


def _absent(path: Path, reason: str) -> CovarianceError:
    return CovarianceError(
        f"{path} cannot be read: {reason}", remedy="Name an .npz file or a folder of them."
    )
