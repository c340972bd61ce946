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
            billion weights); or
        value_length: the same as the length of a value update whose normalised features have unit
            variance: η = value_length / (d_in √d_out). Not published, for models of other widths.
        ridge: the ridge of the least-squares problem (published: 1, the identity).
        keys: rows of the least-squares problem: hidden states `normalised` as in the value updates,
            or as `seen` by the map.
        epsilon: added to each standard deviation before division.
        rewrite_module_tmp: name of the edited module, checked against the adapter's.
    """

    BOUNDS: ClassVar[Bounds] = {
        "layers": (0, 9_999),
        "eta": (0, 1e6),
        "value_length": (0, 1e9),
        "ridge": (0, 1e12),
        "epsilon": (0, 1),
    }

    ALTERNATIVES = (("eta", "value_length"),)

    layers: tuple[int, ...]
    eta: float | None = None
    value_length: float | None = None
    ridge: float = 1.0
    keys: Literal["normalised", "seen"] = "normalised"
    epsilon: float = 1e-8

    def check(self) -> None:
        """Check the ranges of the numbers."""
        check_layers(self.layers)
        for key in ("eta", "value_length", "ridge"):
            require_above_0(getattr(self, key), key)
        require(self.epsilon >= 0, "'epsilon' must not be negative")

    def factor(self, d_in: int, d_out: int) -> float:
        """η for a map of these widths."""
        if self.eta is not None:
            return self.eta
        return (self.value_length or 0.0) / (d_in * d_out**0.5)
