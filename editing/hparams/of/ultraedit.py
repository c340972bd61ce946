"""Hyperparameters of `ultraedit`. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ..common import ModuleNames, check_layers, require_above_0
from ..schema import Bounds, require


@dataclass(frozen=True, kw_only=True)
class HyperParams(ModuleNames):
    """UltraEdit's scaling factor, and the constants that the paper fixes.

    Attributes:
        layers: layers whose MLP output projection is edited, all from one backward pass.
        eta: η, the scaling factor of the value updates (published: 1e-6, for models of 7 to 8
            billion weights).
        ridge: the ridge of the least-squares problem (published: 1, the identity).
        keys: rows of the least-squares problem: hidden states `normalised` as in the value updates,
            or as `seen` by the map.
        epsilon: added to each standard deviation before division.
        rewrite_module_tmp: name of the edited module, checked against the adapter's.
    """

    BOUNDS: ClassVar[Bounds] = {
        "layers": (0, 9_999),
        "eta": (0, 1e6),
        "ridge": (0, 1e12),
        "epsilon": (0, 1),
    }

    layers: tuple[int, ...]
    eta: float
    ridge: float = 1.0
    keys: Literal["normalised", "seen"] = "normalised"
    epsilon: float = 1e-8

    def check(self) -> None:
        """Check the ranges of the numbers."""
        check_layers(self.layers)
        require_above_0(self.eta, "eta")
        require_above_0(self.ridge, "ridge")
        require(self.epsilon >= 0, "'epsilon' must not be negative")
