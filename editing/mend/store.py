"""Hypernetworks as files: safetensors with their provenance, written atomically."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch

from ..atomic_write import whole_file
from ..errors import HypernetworkError
from .network import Hypernetwork, Matrix

METADATA = "thinkeval_hypernetwork"

_UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    RuntimeError,  # tensor shapes contradict the metadata
    safetensors.SafetensorError,
)


@dataclass(frozen=True, slots=True)
class About:
    """Provenance and training result of a stored hypernetwork.

    Attributes:
        weights_digest: of the unedited model.
        key: digest of everything that determines the result (weights, hyperparameters, facts).
        hparams_digest: of the hyperparameters that training depends on.
        facts_digest: of the training facts, without the excluded ones.
        graph: id of the graph of the facts.
        seed: `train_seed`.
        steps, best_step: number of training forward passes, and the one whose weights are stored.
        before, after: validation metrics (`training.Metrics`), untrained and trained.
        seconds: duration of the training.
        inputs: digest of the model's configuration and tokenizer.
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
    inputs: str = ""


def save(network: Hypernetwork, about: About, path: str | Path) -> None:
    """Write a hypernetwork to one safetensors file, atomically."""
    shape = {
        "matrices": [asdict(matrix) for matrix in network.matrices.values()],
        "rank": network.rank,
        "n_hidden": network.n_hidden,
    }
    data = safetensors.torch.save(
        {name: value.detach().cpu().contiguous() for name, value in network.state_dict().items()},
        metadata={METADATA: json.dumps({"about": asdict(about), "network": shape})},
    )
    with whole_file(path) as out:
        out.write_bytes(data)


def load(path: str | Path, device: torch.device | str = "cpu") -> tuple[Hypernetwork, About]:
    """Read a file of `save`; the network requires no gradients.

    Raises:
        HypernetworkError: the file is missing, truncated, or not a hypernetwork of ThinkEval.
    """
    try:
        with safetensors.safe_open(str(path), framework="pt") as opened:
            metadata = _metadata(opened)
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        about = About(**metadata["about"])
        network = _empty(metadata["network"], about)
        network.load_state_dict(tensors)
    except _UNREADABLE as error:
        raise HypernetworkError(f"{path} is not a readable hypernetwork ({error})") from error
    return network.requires_grad_(False).to(device), about


def about(path: str | Path) -> About:
    """Provenance of a stored hypernetwork, without reading its weights.

    Raises:
        HypernetworkError: the file is missing, truncated, or not a hypernetwork of ThinkEval.
    """
    try:
        with safetensors.safe_open(str(path), framework="pt") as opened:
            return About(**_metadata(opened)["about"])
    except _UNREADABLE as error:
        raise HypernetworkError(f"{path} is not a readable hypernetwork ({error})") from error


def file_digest(path: str | Path) -> str:
    """SHA-256 of a file that the user names, 16 hex digits.

    Raises:
        HypernetworkError: the file cannot be read.
    """
    try:
        with Path(path).open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()[:16]
    except OSError as error:
        raise HypernetworkError(f"{path} cannot be read ({error.strerror})") from error


def _metadata(opened: Any) -> dict[str, Any]:
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
