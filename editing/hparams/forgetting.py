"""Hyperparameters common to methods that make a model forget by gradients. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from .common import TRAINED, ModuleNames, check_layers
from .schema import Bounds, require


@dataclass(frozen=True, kw_only=True)
class ForgetHyperParams(ModuleNames):
    """Hyperparameters of a method that forgets: trained layers, duration, facts to retain.

    Attributes:
        layers: layers whose MLP output projection (weight and bias) is trained.
        num_steps: largest number of steps; each takes all facts to forget and one batch to retain.
        lr, weight_decay: of AdamW.
        norm_constraint: largest change of any weight (L∞); false or null = no bound.
        retain_batch_size: texts to retain in a step, drawn by seed, each once before any is drawn
            again.
        retain_limit: largest number of facts that a score takes from the graph to be retained.
    """

    BOUNDS: ClassVar[Bounds] = {
        **TRAINED,
        "retain_batch_size": (1, 100_000),
        "retain_limit": (1, 1_000_000),
    }

    layers: tuple[int, ...]
    num_steps: int
    lr: float
    weight_decay: float = 0.0
    norm_constraint: float | Literal[False] | None = None
    retain_batch_size: int = 16
    retain_limit: int = 64

    def check(self) -> None:
        """Check the ranges of the numbers."""
        check_layers(self.layers)
        for key in ("num_steps", "retain_batch_size", "retain_limit"):
            require(getattr(self, key) >= 1, f"'{key}' must be 1 or more")
        require(self.lr > 0, "'lr' must be positive")
        require(self.weight_decay >= 0, "'weight_decay' must not be negative")
        bound = self.norm_constraint
        require(
            bound is None or bound is False or bound > 0,
            "'norm_constraint' must be positive, or false for no bound",
        )
