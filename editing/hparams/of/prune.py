"""Hyperparameters of `prune`. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ..schema import Bounds, require
from . import memit


@dataclass(frozen=True, kw_only=True)
class HyperParams(memit.HyperParams):
    """MEMIT's published keys and two more.

    Attributes:
        application: `paper`: W₀ + D'; `published_code`: W₀ + D + D'.
        restraint: base b of the logarithm; null is e.
    """

    BOUNDS: ClassVar[Bounds] = {
        "restraint": (1, 1e9),
    }

    application: Literal["paper", "published_code"] = "paper"
    restraint: float | None = None

    def check(self) -> None:
        """Check the base, and the ranges of MEMIT's keys."""
        super().check()
        base = self.restraint
        require(base is None or base > 1, "'restraint', the base of a logarithm, must exceed 1")
