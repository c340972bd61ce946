"""Hyperparameters of `rect`. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ..schema import Bounds, require
from . import memit


@dataclass(frozen=True, kw_only=True)
class HyperParams(memit.HyperParams):
    """MEMIT's published keys and two more.

    Attributes:
        k_percent: percentage of entries that retain their update (constant 40 in published code).
        mask: selection of these entries: as in the `paper` or in the `published_code`.
    """

    BOUNDS: ClassVar[Bounds] = {
        "k_percent": (0, 100),
    }

    k_percent: float = 40.0
    mask: Literal["paper", "published_code"] = "paper"

    def check(self) -> None:
        """Check 0 < k ≤ 100, and the ranges of MEMIT's keys."""
        super().check()
        require(0 < self.k_percent <= 100, "'k_percent' must be above 0 and at most 100")
