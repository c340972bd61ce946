"""Hyperparameters of `rome`. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass

from ..common import ValueHyperParams
from ..schema import require


@dataclass(frozen=True, kw_only=True)
class HyperParams(ValueHyperParams):
    """ROME's published keys; see `ValueHyperParams` for the rest.

    Attributes:
        mom2_adjustment: use C; false: u = k̄ / ‖k̄‖.
        consistent_key: r-ROME (Gupta et al. 2024): use k̄ and its output in the denominator and
            for o too. Default false, as published.
    """

    mom2_adjustment: bool
    consistent_key: bool = False
    context_template_length_params: tuple[tuple[int, ...], ...] = ((5, 10), (10, 10))

    def check(self) -> None:
        """Check that there is one layer, and the ranges of `ValueHyperParams`."""
        super().check()
        require(len(self.layers) == 1, f"ROME edits one layer, 'layers' has {len(self.layers)}")
