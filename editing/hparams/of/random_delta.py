"""Hyperparameters of the control `random_delta`. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from ... import registry
from .. import load
from ..schema import Bounds, Schema, require


@dataclass(frozen=True, kw_only=True)
class HyperParams(Schema):
    """Reference method, and size and rank of the random updates.

    Attributes:
        method: the reference method, whose update norms are used; it must change weights.
        hparams: the reference method's hyperparameters: its keys, or the name of its file for a
            model (`gpt2-xl`). Stored as keys, so that they are part of the record and its digest.
        scale: factor on the norm of every parameter's update.
        rank: `full`, or `reference` for the rank of the reference update (a one-dimensional
            parameter has no rank and gets a full update).
    """

    BOUNDS: ClassVar[Bounds] = {
        "scale": (0, 1e6),
    }

    method: str = "memit"
    hparams: str | dict = field(default_factory=dict)  # type: ignore[type-arg]
    scale: float = 1.0
    rank: Literal["full", "reference"] = "full"

    def check(self) -> None:
        """Check that the reference method changes weights, and validate its hyperparameters."""
        require(self.scale > 0, "'scale' must be positive")
        kind = registry.info(self.method).kind
        require(
            kind == "weights",
            f"'method' is '{self.method}', of the kind '{kind}'; it must change weights",
        )
        if isinstance(self.hparams, str):
            values = load(self.method, self.hparams)
        else:
            schema = registry.hyperparams(self.method)
            values = schema.from_dict(self.hparams, source=f"hparams of '{self.method}'")
        object.__setattr__(self, "hparams", values.as_dict())
