"""Covariance of keys: matrices with their source, and linear solves with them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ...loaders.records import digest
from ..errors import EditFailedError
from ..linear_algebra import CPU, else_on_cpu, in_float64

BLOCK = 256
"""Rows of a covariance that are converted to float64 at once."""


@dataclass(frozen=True)
class Source:
    """Inputs that determine a covariance, besides the layer.

    Attributes:
        weights_digest: of the unedited model (`editing.models.weights_digest`).
        corpus_digest: of the texts, in order.
        dtype: of products and sums, `float32` (published) or `float64`.
        max_length: maximum number of tokens of a text; 0 if unknown.
        n_texts: number of texts; 0 if unknown.
        origin: `collected` from this model, or `imported` from a file, which does not name its
            model; then `weights_digest` is that of the model it was imported for.
        inputs: digest of the model's configuration, buffers and tokenizer.
    """

    weights_digest: str
    corpus_digest: str
    dtype: str
    max_length: int
    n_texts: int = 0
    origin: str = "collected"
    inputs: str = ""

    @property
    def digest(self) -> str:
        """Key of the stored files; part of every edit's record."""
        return digest(vars(self))


@dataclass(frozen=True, eq=False)
class Covariance(Mapping[str, Tensor]):
    """{module name: [d_in, d_in] second moment}, with its source.

    Attributes:
        moments: the matrices, on the CPU.
        source: None for a plain mapping; then the model cannot be checked.
        n_tokens: number of tokens of the mean; 0 if unknown.
        folder: of the cache, for what is derived from the matrices; None stores nothing.
    """

    moments: Mapping[str, Tensor]
    source: Source | None = None
    n_tokens: int = 0
    folder: Path | None = None
    _factors: dict[tuple[str, float, str], tuple[Tensor, Tensor]] = field(
        default_factory=dict, repr=False
    )
    _derived: dict[Hashable, Any] = field(default_factory=dict, repr=False)
    _copies: dict[tuple[str, str], Tensor] = field(default_factory=dict, repr=False)

    def __getitem__(self, name: str) -> Tensor:
        return self.moments[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.moments)

    def __len__(self) -> int:
        return len(self.moments)

    @property
    def weights_digest(self) -> str | None:
        """Weights digest of the unedited model; None if unknown."""
        return self.source.weights_digest if self.source else None

    @property
    def digest(self) -> str | None:
        """Identifies the statistics in the record of an edit; None if the source is unknown."""
        return digest([self.source.digest, sorted(self.moments)]) if self.source else None

    def derived(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Result of `make`, memoised under `key` with the matrices it is derived from."""
        if key not in self._derived:
            self._derived[key] = make()
        return self._derived[key]

    @property
    def about(self) -> dict[str, Any]:
        """Digest, source, modules and size, for the record of an edit."""
        return {
            "digest": self.digest,
            **(vars(self.source) if self.source else {}),
            "modules": sorted(self),
            "n_tokens": self.n_tokens,
            "dimensions": max(map(len, self.values()), default=0),
        }

    def solve(self, name: str, right: Tensor, *, ridge: float = 0.0) -> Tensor:
        """(C + ridge · mean(diag C) · I)⁻¹ right, in float64.

        C is factored once. An accelerator keeps the last factors only: those of Llama-3-8B take
        1.6 GB a layer.

        Args:
            name: module name.
            right: [d_in, n].

        Raises:
            EditFailedError: the matrix is singular, or so close to it that the result is wrong.
            DeviceMemoryError: neither the device nor the CPU has memory for the factors.
        """
        wide = in_float64(right)
        factors, pivots = self._factored(name, ridge, wide.device)
        solution = torch.linalg.lu_solve(factors, pivots, wide.to(factors.device)).to(wide.device)
        residual = self.times(name, solution, ridge=ridge) - wide
        if not residual.norm() <= 1e-6 * wide.norm():
            raise _singular(name)
        return solution

    def times(self, name: str, right: Tensor, *, ridge: float = 0.0) -> Tensor:
        """(C + ridge · mean(diag C) · I) right, in float64; right is [d_in, n].

        Raises:
            DeviceMemoryError: neither the device nor the CPU has memory for C.
        """
        matrix = self.moments[name]

        def product(device: torch.device) -> Tensor:
            # In blocks of rows: a complete copy in float64 takes longer than the product.
            there, rows = right.to(device), self._on(name, device).split(BLOCK)
            return torch.cat([each.double() @ there for each in rows])

        found = else_on_cpu(product, right.device, matrix.nbytes).to(right.device)
        return found + ridge * matrix.diagonal().double().mean().item() * right

    def _on(self, name: str, device: torch.device) -> Tensor:
        """The matrix on a device; an accelerator has one at a time, copied once for all uses."""
        if device == CPU:
            return self.moments[name].to(device)
        key = (name, str(device))
        if key not in self._copies:
            self._copies.clear()
            self._copies[key] = self.moments[name].to(device)
        return self._copies[key]

    def _factored(self, name: str, ridge: float, device: torch.device) -> tuple[Tensor, Tensor]:
        key = (name, ridge, str(device))
        if key not in self._factors:
            for other in [k for k, (lu, _) in self._factors.items() if lu.device != CPU]:
                del self._factors[other]
            n_bytes = 2 * 8 * self.moments[name].numel()  # the matrix and its factors
            self._factors[key] = else_on_cpu(
                lambda where: self._factor(name, ridge, where), device, n_bytes
            )
        return self._factors[key]

    def _factor(self, name: str, ridge: float, device: torch.device) -> tuple[Tensor, Tensor]:
        matrix = self._on(name, device).to(torch.float64, copy=True)
        matrix.diagonal().add_(ridge * matrix.diagonal().mean())
        # LU as in the published code: Cholesky fails for a C of few tokens, whose smallest
        # eigenvalues are rounding errors of either sign, although the system is solvable.
        factors, pivots, info = torch.linalg.lu_factor_ex(matrix)
        if info.item() != 0:
            raise _singular(name)
        return factors, pivots


def _singular(name: str) -> EditFailedError:
    return EditFailedError(
        f"the covariance of {name} is singular, so the update cannot be solved for",
        remedy="Collect it from more text than it has dimensions, or set mom2_ridge (for example "
        "1e-4) in the hparams.",
    )
