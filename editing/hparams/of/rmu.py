"""Hyperparameters of `rmu`. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..forgetting import ForgetHyperParams
from ..schema import Bounds, require


@dataclass(frozen=True, kw_only=True)
class HyperParams(ForgetHyperParams):
    """Keys of RMU.

    Attributes:
        steering_coeff: c, the length of the vector that forget activations are steered to.
        alpha: α, the weight of the retain activations; 0 leaves them out.
    """

    BOUNDS: ClassVar[Bounds] = {
        "steering_coeff": (0, 1e9),
        "alpha": (0, 1e9),
    }

    steering_coeff: float
    alpha: float

    def check(self) -> None:
        """Check the ranges of the numbers."""
        super().check()
        require(self.steering_coeff > 0, "'steering_coeff' must be positive")
        require(self.alpha >= 0, "'alpha' must not be negative")
