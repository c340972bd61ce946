"""Hyperparameters of `memit`. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..common import BatchHyperParams, require_above_0
from ..schema import Bounds, require


@dataclass(frozen=True, kw_only=True)
class HyperParams(BatchHyperParams):
    """MEMIT's published keys; see `BatchHyperParams` for the rest.

    Attributes:
        mom2_update_weight: λ, the weight of the layer's existing associations; or
        update_share: the fraction of its residual that the median request of the batch reaches in a
            layer, kᵀC⁻¹k / (λ + kᵀC⁻¹k), which gives each layer its λ. Not published, for models
            and statistics of another scale.
        mom2_adjustment, layer_selection: accepted and, as in the published code, not used.
    """

    ALTERNATIVES = (*BatchHyperParams.ALTERNATIVES, ("mom2_update_weight", "update_share"))

    BOUNDS: ClassVar[Bounds] = {
        "mom2_update_weight": (0, 1e15),
        "update_share": (0, 1),
    }

    mom2_update_weight: float | None = None
    update_share: float | None = None
    mom2_adjustment: bool = True
    layer_selection: str = "all"
    context_template_length_params: tuple[tuple[int, ...], ...] = ((10, 5),)

    def check(self) -> None:
        """Check λ > 0 or 0 < share < 1, and the ranges of `BatchHyperParams`."""
        super().check()
        require_above_0(self.mom2_update_weight, "mom2_update_weight")
        share = self.update_share
        require(share is None or 0 < share < 1, "'update_share' must be between 0 and 1")
