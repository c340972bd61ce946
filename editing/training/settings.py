"""Settings of a fine-tune: how long, how fast, which weights. Imports no torch."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

FULL_LR, LORA_LR = 1e-4, 1e-3
"""Learning rates of AdamW by default: of all weights, and of low-rank factors."""

Pairs = tuple[tuple[str, str], ...]
"""Texts to learn: a prompt, "" for plain text, and the text after it."""


@dataclass(frozen=True, kw_only=True)
class FineTuning:
    """Settings of a fine-tune.

    Attributes:
        steps: optimiser updates.
        lr: learning rate; None: FULL_LR, or LORA_LR with `lora`.
        lora: rank of the low-rank factors of every linear layer; None: all weights are trained.
        batch: texts a step.
        seed: of the order of the texts, and of the factors.
    """

    steps: int = 200
    lr: float | None = None
    lora: int | None = None
    batch: int = 8
    seed: int = 0

    @property
    def rate(self) -> float:
        """The learning rate."""
        if self.lr is not None:
            return self.lr
        return FULL_LR if self.lora is None else LORA_LR

    def as_dict(self) -> dict[str, Any]:
        """All that decides the result, apart from model and texts."""
        return asdict(self) | {"lr": self.rate}
