"""A hypernetwork on disk: safetensors with its origin, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch

from thinkeval.editing.errors import HypernetworkError
from thinkeval.editing.mend.network import Hypernetwork, Matrix

METADATA = "thinkeval_hypernetwork"

_UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    RuntimeError,  # tensors of other shapes than the metadata say
    safetensors.SafetensorError,
)


@dataclass(frozen=True, slots=True)
class About:
    """What a stored hypernetwork was trained from and what came of it.

    Attributes:
        weights_digest: of the unedited model.
        key: digest of all that decides the result (weights, training values, facts).
        hparams_digest: of the hyperparameters that training depends on.
        facts_digest: of the facts it was trained on, held-out ones left out.
        graph: id of the graph they are from.
        seed: `train_seed`.
        steps, best_step: forwards taken, and the one that was kept.
        before, after: validation numbers (`training.Numbers`), untrained and trained.
        seconds: what training took.
    """

    weights_digest: str
    key: str
    hparams_digest: str
    facts_digest: str
    graph: str
    seed: int
    steps: int
    best_step: int
    before: dict[str, float] = field(default_factory=dict)
    after: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0


def save(network: Hypernetwork, about: About, path: str | Path) -> None:
    """Write to one safetensors file."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    shape = {
        "matrices": [asdict(matrix) for matrix in network.matrices.values()],
        "rank": network.rank,
        "n_hidden": network.n_hidden,
    }
    data = safetensors.torch.save(
        {name: value.detach().cpu().contiguous() for name, value in network.state_dict().items()},
        metadata={METADATA: json.dumps({"about": asdict(about), "network": shape})},
    )
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load(path: str | Path, device: torch.device | str = "cpu") -> tuple[Hypernetwork, About]:
    """Read what `save` wrote; the network wants no gradients.

    Raises:
        HypernetworkError: the file is missing, cut off, or not one of ours.
    """
    try:
        with safetensors.safe_open(str(path), framework="pt") as opened:
            told = _told(opened)
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        about = About(**told["about"])
        network = _empty(told["network"], about)
        network.load_state_dict(tensors)
    except _UNREADABLE as error:
        raise HypernetworkError(f"{path} is not a readable hypernetwork ({error})") from error
    return network.requires_grad_(False).to(device), about


def about(path: str | Path) -> About:
    """What a stored hypernetwork says of itself; its weights are not read.

    Raises:
        HypernetworkError: the file is missing, cut off, or not one of ours.
    """
    try:
        with safetensors.safe_open(str(path), framework="pt") as opened:
            return About(**_told(opened)["about"])
    except _UNREADABLE as error:
        raise HypernetworkError(f"{path} is not a readable hypernetwork ({error})") from error


def file_digest(path: str | Path) -> str:
    """SHA-256 of the file, 16 hex digits: identifies a file that the user names.

    Raises:
        HypernetworkError: it cannot be read.
    """
    try:
        with Path(path).open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()[:16]
    except OSError as error:
        raise HypernetworkError(f"{path} cannot be read ({error.strerror})") from error


def _told(opened: Any) -> dict[str, Any]:
    return json.loads((opened.metadata() or {})[METADATA])


def _empty(shape: dict[str, Any], about: About) -> Hypernetwork:
    return Hypernetwork(
        [Matrix(**values) for values in shape["matrices"]],
        rank=int(shape["rank"]),
        n_hidden=int(shape["n_hidden"]),
        edit_lr=0.0,
        seed=0,
        weights_digest=about.weights_digest,
    )
