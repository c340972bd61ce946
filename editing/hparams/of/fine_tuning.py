"""Hyperparameters of `fine_tuning`. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ..common import TRAINED, ModuleNames
from ..schema import Bounds, require


@dataclass(frozen=True, kw_only=True)
class HyperParams(ModuleNames):
    """FT's published keys.

    Attributes:
        layers: layers whose projection is trained.
        num_steps: maximum number of passes over the requests.
        lr, weight_decay: of Adam.
        norm_constraint: largest change of any weight (L∞); false or null = no bound.
        objective_optimization: `prompt_last` (FT-L): the mean log-probability of all target tokens
            at the last prompt position; `target_new` (FT-M): of each at its own position.
        batch_size: requests per step.
        stop_loss: a batch with a lower loss is not updated; training stops once the mean loss is
            lower (published constant 0.01).
        kl_factor: accepted and, as in the published code, not used.
        rewrite_module_tmp: module or parameter to train; by default the MLP output projection.
    """

    BOUNDS: ClassVar[Bounds] = {
        **TRAINED,
        "batch_size": (1, 100_000),
        "stop_loss": (-1e6, 1e6),
        "kl_factor": (0, 1e6),
    }

    layers: tuple[int, ...]
    num_steps: int
    lr: float
    weight_decay: float
    norm_constraint: float | Literal[False] | None
    objective_optimization: Literal["prompt_last", "target_new"] = "prompt_last"
    batch_size: int = 64
    stop_loss: float = 1e-2
    kl_factor: float = 0.0

    def check(self) -> None:
        """Check the ranges of the numbers."""
        require(bool(self.layers) and min(self.layers) >= 0, "'layers' must name layers from 0")
        require(self.num_steps >= 1, "'num_steps' must be 1 or more")
        require(self.batch_size >= 1, "'batch_size' must be 1 or more")
        require(self.lr > 0, "'lr' must be positive")
        require(self.weight_decay >= 0, "'weight_decay' must not be negative")
        bound = self.norm_constraint
        require(
            bound is None or bound is False or bound > 0,
            "'norm_constraint' must be positive, or false for no bound",
        )
