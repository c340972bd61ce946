"""Covariances on disk: safetensors with their source in the metadata, written whole or not."""

from __future__ import annotations

import json
from pathlib import Path

import safetensors
import safetensors.torch

from thinkeval.editing.atomic_write import whole_file
from thinkeval.editing.covariance.statistics import Covariance, Source
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
