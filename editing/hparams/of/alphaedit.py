"""Hyperparameters of `alphaedit`. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..common import BatchHyperParams
from ..schema import Bounds, require
from . import memit


@dataclass(frozen=True, kw_only=True)
class HyperParams(memit.HyperParams):
    """AlphaEdit's published keys: MEMIT's and two more. Exactly one of the thresholds is set.

    Attributes:
        L2: weight of ‖ΔW‖² (in the paper 1, in the published files 10); or
        update_share: the fraction of its residual that the median request of the batch reaches in a
            layer, kᵀPk / (L2 + kᵀPk), which gives each layer its L2. Not published.
        nullspace_threshold: eigenvalues of C below it are treated as 0 (published: 0.02).
        nullspace_relative: eigenvalues of C below this fraction of their mean are treated as 0;
            not published, for models whose keys have another scale; or
        nullspace_rank: this fraction of the eigenvalues of C, the smallest, is treated as 0. Not
            published; a few huge eigenvalues, as of attention sinks, do not move it.
        mom2_update_weight, mom2_ridge: accepted and not used; P replaces λC.
    """

    ALTERNATIVES = (
        *BatchHyperParams.ALTERNATIVES,
        ("L2", "update_share"),
        ("nullspace_threshold", "nullspace_relative", "nullspace_rank"),
    )

    BOUNDS: ClassVar[Bounds] = {
        "L2": (0, 1e15),
        "nullspace_threshold": (0, 1e15),
        "nullspace_relative": (0, 1e15),
        "nullspace_rank": (0, 1),
    }

    L2: float | None = None
    nullspace_threshold: float | None = None
    nullspace_relative: float | None = None
    nullspace_rank: float | None = None
    mom2_update_weight: float | None = 1.0

    def check(self) -> None:
        """Check L2 ≥ 0, a positive bound, and the ranges of MEMIT's keys."""
        super().check()
        require((self.L2 or 0) >= 0, "'L2' must not be negative")
        for key in ("nullspace_threshold", "nullspace_relative", "nullspace_rank"):
            bound = getattr(self, key)
            require(bound is None or bound > 0, "the bound of the null space must be positive")
        require((self.nullspace_rank or 0) < 1, "'nullspace_rank' must be below 1")
