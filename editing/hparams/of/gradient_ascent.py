"""Hyperparameters of `gradient_ascent`. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..forgetting import ForgetHyperParams
from ..schema import Bounds, require


@dataclass(frozen=True, kw_only=True)
class HyperParams(ForgetHyperParams):
    """Keys of gradient ascent.

    Attributes:
        forget_bound: −log p of the answer (nats) from which a fact counts as forgotten; with 4.6
            its probability is at most .01.
        retain_weight: weight of the loss of the texts to retain; 0 leaves them out.
    """

    BOUNDS: ClassVar[Bounds] = {
        "forget_bound": (0, 1e6),
        "retain_weight": (0, 1e9),
    }

    forget_bound: float
    retain_weight: float = 1.0

    def check(self) -> None:
        """Check the ranges of the numbers."""
        super().check()
        require(self.forget_bound > 0, "'forget_bound' must be positive")
        require(self.retain_weight >= 0, "'retain_weight' must not be negative")
