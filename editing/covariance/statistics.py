"""Covariance of keys: matrices with their source, and linear solves with them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from ...loaders.records import digest
from ..errors import EditFailedError
from ..linear_algebra import in_float64

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
        inputs: digest of the model's configuration, buffers and tokenizer; empty if unknown, as in
            files of 0.2, which are not used for a model whose digest is known.
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
        return digest({k: v for k, v in vars(self).items() if k != "inputs" or v})


@dataclass(frozen=True, eq=False)
class Covariance(Mapping[str, Tensor]):
    """{module name: [d_in, d_in] second moment}, with its source.

    Attributes:
        moments: the matrices, on the CPU.
        source: None for a plain mapping; then the model cannot be checked.
        n_tokens: number of tokens of the mean; 0 if unknown.
    """

    moments: Mapping[str, Tensor]
    source: Source | None = None
    n_tokens: int = 0
    _factors: dict[tuple[str, float, str], tuple[Tensor, Tensor]] = field(
        default_factory=dict, repr=False
    )
    _derived: dict[Hashable, Any] = field(default_factory=dict, repr=False)

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
        source = vars(self.source) if self.source else {}
        return {"digest": self.digest, **source, "modules": sorted(self), "n_tokens": self.n_tokens}

    def solve(self, name: str, right: Tensor, *, ridge: float = 0.0) -> Tensor:
        """(C + ridge · mean(diag C) · I)⁻¹ right, in float64; C is factored once.

        Args:
            name: module name.
            right: [d_in, n].

        Raises:
            EditFailedError: the matrix is singular, or so close to it that the result is wrong.
        """
        wide = in_float64(right)
        device = wide.device
        key = (name, ridge, str(device))
        if key not in self._factors:
            self._factors[key] = self._factor(name, ridge, device)
        solution = torch.linalg.lu_solve(*self._factors[key], wide)
        residual = self.times(name, solution, ridge=ridge) - wide
        if not residual.norm() <= 1e-6 * wide.norm():
            raise _singular(name)
        return solution

    def times(self, name: str, right: Tensor, *, ridge: float = 0.0) -> Tensor:
        """(C + ridge · mean(diag C) · I) right, in float64; right is [d_in, n]."""
        matrix = self.moments[name]
        # In blocks of rows: a complete copy in float64 takes longer than the product.
        blocks = [rows.to(right.device).double() @ right for rows in matrix.split(BLOCK)]
        return torch.cat(blocks) + ridge * matrix.diagonal().double().mean().item() * right

    def _factor(self, name: str, ridge: float, device: torch.device) -> tuple[Tensor, Tensor]:
        matrix = self.moments[name].to(device, torch.float64, copy=True)
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
