"""Covariances on disk: safetensors with their source in the metadata, written whole or not."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import safetensors
import safetensors.torch

from editing.errors import CovarianceError
from editing.statistics import Covariance, Source


def save(covariance: Covariance, path: str | Path) -> None:
    """Write to one safetensors file, whole or not at all.

    Raises:
        CovarianceError: its source is unknown, so that nobody could check it later.
    """
    if covariance.source is None:
        raise CovarianceError("a covariance without its source cannot be stored")
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    about = {**vars(covariance.source), "n_tokens": covariance.n_tokens}
    data = safetensors.torch.save(
        {name: moment.contiguous() for name, moment in covariance.items()},
        metadata={"thinkeval_covariance": json.dumps(about)},
    )
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load(path: str | Path) -> Covariance:
    """Read what `save` wrote.

    Raises:
        CovarianceError: the file is missing, cut off, or not one of ours.
    """
    try:
        with safetensors.safe_open(str(path), framework="pt") as opened:
            about = json.loads((opened.metadata() or {})["thinkeval_covariance"])
            moments = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        n_tokens = int(about.pop("n_tokens"))
        return Covariance(moments, Source(**about), n_tokens)
    except (OSError, ValueError, KeyError, TypeError, safetensors.SafetensorError) as error:
        raise CovarianceError(f"{path} is not a readable covariance file ({error})") from error


def read_if_same(path: Path, source: Source) -> Covariance | None:
    """The stored part; None when there is none, or it is damaged (it is then made again)."""
    if not path.is_file():
        return None
    try:
        part = load(path)
    except CovarianceError:
        return None
    return part if part.source == source else None
