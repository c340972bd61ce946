"""Hyperparameters of `npo`. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..forgetting import ForgetHyperParams
from ..schema import Bounds, require


@dataclass(frozen=True, kw_only=True)
class HyperParams(ForgetHyperParams):
    """Keys of NPO.

    Attributes:
        beta: inverse temperature β; the smaller, the closer to gradient ascent.
        retain_weight: weight of the loss of the texts to retain; 0 leaves them out.
    """

    BOUNDS: ClassVar[Bounds] = {
        "beta": (0, 1e6),
        "retain_weight": (0, 1e9),
    }

    beta: float = 0.1
    retain_weight: float = 1.0

    def check(self) -> None:
        """Check the ranges of the numbers."""
        super().check()
        require(self.beta > 0, "'beta' must be positive")
        require(self.retain_weight >= 0, "'retain_weight' must not be negative")
