"""Hyperparameters of `kn`. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ..common import ModuleNames
from ..schema import Bounds, require


@dataclass(frozen=True, kw_only=True)
class HyperParams(ModuleNames):
    """KN's published keys, and the form.

    Attributes:
        steps: m, points of the integral.
        batch_size: maximum number of rows per forward pass; does not change the result.
        adaptive_threshold: fraction of the maximum score that a neuron must exceed.
        p: fraction of the prompts that must share a neuron (`refine`).
        refine: retain the neurons shared by more than `p` of the prompts: the prompt in each
            context template, and the paraphrases.
        form: attribution and shift as in the `paper` or in the `published_code`.
        lambda1, lambda2: factors of the old and the new embedding in the paper's form.
        use_paraphrases: True if `refine` uses the request's paraphrases, as in the paper. They
            also measure generalization, which then is not of unseen prompts.
        context_templates: for `refine`, each with one `{}`.
        continuation: continuation of the prompt for the second and further tokens of target_true,
            whose scores are averaged: target_true itself (`target`), the model's greedy answer
            (`greedy`; published for Llama), or none (`none`; published for GPT-2).
        target_space: true: both targets as the tokens they have behind the prompt, which are those
            that are probed. false: each tokenised by itself without a space before it, as in the
            published code; with byte-level tokenizers these are other tokens.
        lr_scale, n_toks: accepted and, as in the published code, not used.
    """

    BOUNDS: ClassVar[Bounds] = {
        "steps": (1, 10_000),
        "batch_size": (1, 100_000),
        "adaptive_threshold": (0, 1),
        "p": (0, 1),
        "lambda1": (0, 1e9),
        "lambda2": (0, 1e9),
        "lr_scale": (0, 1e9),
        "n_toks": (0, 1_000_000),
    }

    steps: int = 20
    batch_size: int = 20
    adaptive_threshold: float = 0.2
    p: float = 0.7
    refine: bool = True
    form: Literal["paper", "published_code"] = "paper"
    lambda1: float = 1.0
    lambda2: float = 8.0
    use_paraphrases: bool = True
    context_templates: tuple[str, ...] = ()
    continuation: Literal["target", "greedy", "none"] = "target"
    lr_scale: float = 1.0
    n_toks: int = 10
    target_space: bool = True

    def check(self) -> None:
        """Check the ranges of the numbers."""
        require(self.steps >= 1, "'steps' must be 1 or more")
        require(self.batch_size >= 1, "'batch_size' must be 1 or more")
        for key in ("adaptive_threshold", "p"):
            require(0 <= getattr(self, key) < 1, f"'{key}' must be in [0, 1)")
        for key in ("lambda1", "lambda2"):
            require(getattr(self, key) >= 0, f"'{key}' must not be negative")
