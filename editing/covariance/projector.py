"""Projector on the null space of a covariance: directions unused by the layer's knowledge.

C = U Λ Uᵀ (`torch.linalg.eigh`, float64); the null space is spanned by the eigenvectors whose
eigenvalue is below a bound, P = U₀ U₀ᵀ (Fang et al. 2025, AlphaEdit §3.2). The published bound is
absolute, so it depends on the scale of a model's keys; a bound relative to the mean eigenvalue does
not, and a fraction of the dimensions is not moved by a few huge eigenvalues either. P is never
computed as a matrix: the smaller of the two bases is kept.

The decomposition takes longest of all that AlphaEdit does (a minute or more for d_in = 14,336), so
it is stored beside the covariance, for every bound.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from ..atomic_write import whole_file
from ..errors import EditFailedError, HparamsError
from ..linear_algebra import else_on_cpu, linear_algebra_device
from .statistics import Covariance

FOLDER = "eigen"
"""Folder of the stored decompositions, in that of the covariances."""


@dataclass(frozen=True, eq=False)
class Projector:
    """P [d_in, d_in], as an orthonormal basis of its range or of its kernel.

    Attributes:
        basis: [d_in, r] float64, r ≤ d_in / 2.
        removes: True if the basis spans P's kernel (P = I − B Bᵀ) instead of its range (P = B Bᵀ).
        rank: of P, the dimension of the null space; 0 < rank < d_in.
        bound: eigenvalues below it were treated as 0.
    """

    basis: Tensor
    removes: bool
    rank: int
    bound: float

    def times(self, right: Tensor) -> Tensor:
        """P right, for right [d_in, n] in float64."""
        part = self.basis @ (self.basis.T @ right)
        return right - part if self.removes else part


def null_space(
    covariance: Covariance,
    name: str,
    device: torch.device,
    *,
    threshold: float | None = None,
    relative: float | None = None,
    fraction: float | None = None,
) -> Projector:
    """The projector of a module; memoised per covariance, module, bound and device.

    Args:
        name: module name.
        device: of the model; computed, and returned, on its `linear_algebra_device`.
        threshold: eigenvalues below this are treated as 0 (published).
        relative: eigenvalues below this fraction of their mean are treated as 0.
        fraction: this fraction of the eigenvalues, the smallest, is treated as 0. Exactly one of
            the three must be passed.

    Raises:
        HparamsError: all eigenvalues are below the bound, or none is.
        EditFailedError, DeviceMemoryError: the eigenvalues cannot be computed.
    """
    place = linear_algebra_device(device)
    given = {
        "nullspace_threshold": threshold,
        "nullspace_relative": relative,
        "nullspace_rank": fraction,
    }
    chosen = [(setting, value) for setting, value in given.items() if value is not None]
    if len(chosen) != 1:
        raise HparamsError(f"give exactly one of {', '.join(given)}")
    ((setting, value),) = chosen
    key = ("null space", name, setting, value, str(place))
    return covariance.derived(key, lambda: _make(covariance, name, place, setting, value))


def _make(
    covariance: Covariance, name: str, device: torch.device, key: str, value: float
) -> Projector:
    values, vectors = _eigen(covariance, name, device)
    bound, setting = _bound(values, key, value), f"{key} {value:g}"
    rank, size = int((values < bound).sum()), len(values)
    if rank in (0, size):
        raise _useless(name, rank, values, setting)
    removes = rank > size // 2
    # Ascending order: the null space comes first.
    basis = vectors[:, rank:] if removes else vectors[:, :rank]
    return Projector(basis.contiguous().to(device), removes, rank, bound)


def _eigen(covariance: Covariance, name: str, device: torch.device) -> tuple[Tensor, Tensor]:
    """Eigenvalues [d_in], ascending, and eigenvectors [d_in, d_in] in float64: stored, or made.

    Stored ones are on the CPU, made ones where they were computed.
    """
    if covariance.folder is None or covariance.source is None:
        return _decomposed(covariance, name, device)
    path = covariance.folder / FOLDER / f"{covariance.source.digest}.{name}.safetensors"
    matrix = _sha(covariance[name])
    if (kept := read(path)) is not None and kept[0] == matrix:
        return kept[1]["values"], kept[1]["vectors"]
    values, vectors = _decomposed(covariance, name, device)
    made = {"values": values.cpu().contiguous(), "vectors": vectors.cpu().contiguous()}
    with whole_file(path) as out:
        about = {"matrix": matrix, "digest": _sha(*made.values())}
        safetensors.torch.save_file(made, str(out), about)
    return values, vectors


def _decomposed(covariance: Covariance, name: str, device: torch.device) -> tuple[Tensor, Tensor]:
    def decompose(place: torch.device) -> tuple[Tensor, Tensor]:
        moment = covariance[name].to(place).to(torch.float64)
        # Sums in float32 are symmetric up to rounding only, and eigh reads one triangle.
        values, vectors = torch.linalg.eigh((moment + moment.T) / 2)
        return values, vectors

    try:
        return else_on_cpu(decompose, device, 4 * 8 * covariance[name].numel())
    except torch.linalg.LinAlgError as error:
        raise EditFailedError(
            f"the eigenvalues of the covariance of {name} could not be computed: {error}",
            remedy="Collect the covariance from more or other text.",
        ) from error


def read(path: Path) -> tuple[str, dict[str, Tensor]] | None:
    """The digest of a stored decomposition's matrix, and its tensors; None if it is damaged."""
    try:
        with safetensors.safe_open(str(path), framework="pt") as opened:
            about = opened.metadata() or {}
            kept = {key: opened.get_tensor(key) for key in ("values", "vectors")}
    except (OSError, safetensors.SafetensorError):
        return None
    whole = about.get("digest") == _sha(*kept.values())
    return (about.get("matrix", ""), kept) if whole else None


def _sha(*tensors: Tensor) -> str:
    """SHA-256 (hex) of the numbers of tensors on the CPU."""
    found = hashlib.sha256()
    for each in tensors:
        found.update(each.contiguous().view(-1).view(torch.uint8).numpy().data)
    return found.hexdigest()


def _bound(values: Tensor, key: str, value: float) -> float:
    """The bound below which eigenvalues, ascending, are treated as 0."""
    if key == "nullspace_threshold":
        return value
    if key == "nullspace_relative":
        return value * values.mean().item()
    return values[min(int(value * len(values)), len(values) - 1)].item()


def _useless(name: str, rank: int, values: Tensor, setting: str) -> HparamsError:
    low, high, mean = (float(x) for x in (values[0], values[-1], values.mean()))
    how = f"rank 0 of {len(values)}" if rank == 0 else f"full rank {len(values)}"
    harm = "nothing can be written" if rank == 0 else "nothing is protected"
    verb, key = "Raise" if rank == 0 else "Lower", setting.split()[0]
    other = ", or use nullspace_rank, a fraction of the dimensions"
    return HparamsError(
        f"the null space of {name} has {how} with {setting}, so {harm}; its eigenvalues go from "
        f"{low:.3g} to {high:.3g} with mean {mean:.3g}",
        remedy=f"{verb} {key}{other if key == 'nullspace_threshold' else ''}.",
    )
