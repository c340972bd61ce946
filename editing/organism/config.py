"""Configuration of an organism, and the training recipe derived from it and the graph's size."""

from __future__ import annotations

import difflib
import math
from dataclasses import asdict, dataclass

from ..errors import OrganismError

ARCHITECTURES = ("gpt2", "llama")
MAX_KEYS = 3000
"""A model of a million parameters cannot learn more subject-prompt pairs within minutes."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """All parameters of training.

    Attributes:
        steps: optimiser steps.
        rows: rows per batch.
        length: tokens per row.
        fillers_per_key: invented facts per real one (`fillers.fillers_for`).
        vocabulary: maximum number of tokens.
        muon_lr: learning rate of Muon (matrices of the blocks).
        adamw_lr: learning rate of AdamW (embeddings, norms, biases).
        mask_layers: first layers without attention to subject tokens (`rows.attention_masks`).
        mask_share: fraction of sentences that are masked.
    """

    steps: int
    rows: int
    length: int
    fillers_per_key: int
    vocabulary: int
    muon_lr: float
    adamw_lr: float
    mask_layers: int
    mask_share: float


@dataclass(frozen=True, slots=True)
class OrganismConfig:
    """Configuration of an organism to train. None = derived from the size of the graph.

    Attributes:
        architecture: `gpt2` or `llama`.
        seed: of the weights and of the order of the text.
        steps: optimiser steps.
        layers, width, heads: shape of the model (4, 128, 4 give about a million parameters).
        fillers_per_key, vocabulary, adamw_lr: see `Recipe`.
        min_recall: if a smaller fraction of facts is recalled, training raises an `OrganismError`.
        unknown: fraction of the absent pairs of a fitting kind that the text answers with
            `unknown.UNKNOWN` (`unknown.absent_pairs`); 0 for none.
    """

    architecture: str = "gpt2"
    seed: int = 0
    steps: int | None = None
    layers: int = 4
    width: int = 128
    heads: int = 4
    fillers_per_key: int | None = None
    vocabulary: int | None = None
    adamw_lr: float | None = None
    min_recall: float = 0.8
    unknown: float = 0.0

    def __post_init__(self) -> None:
        if self.architecture not in ARCHITECTURES:
            near = difflib.get_close_matches(self.architecture, ARCHITECTURES, n=1, cutoff=0.4)
            hint = f' Did you mean "{near[0]}"?' if near else ""
            raise OrganismError(
                f'There is no organism architecture "{self.architecture}".{hint}',
                remedy=f"Use one of {', '.join(ARCHITECTURES)}.",
            )
        for name in ("steps", "layers", "width", "heads", "fillers_per_key", "vocabulary"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or value < 1):
                raise OrganismError(
                    f"{name} of an organism is {value}.", remedy=f"Set {name} to 1 or more."
                )
        if self.width % (2 * self.heads):
            raise OrganismError(
                f"The width {self.width} is not a multiple of twice the {self.heads} heads.",
                remedy="Use a width of 64, 128 or 192 with 4 heads.",
            )
        for name in ("min_recall", "unknown"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise OrganismError(f"{name} is {value}.", remedy="Use a fraction between 0 and 1.")

    def as_dict(self) -> dict[str, object]:
        """The fields, JSON-compatible; part of the cache key."""
        return asdict(self)

    def recipe(self, n_keys: int) -> Recipe:
        """The recipe for a graph of `n_keys` subject-prompt pairs.

        Steps were measured for 9, 72, 89, 270, 300 and 1,000 keys and interpolated. With fewer
        steps a model recalls as well but is harder to edit (at 89 keys and 360 steps one of six
        rewrites succeeded only with twice the optimisation).

        Raises:
            OrganismError: the graph has no fact, or more than `MAX_KEYS` keys.
        """
        if not n_keys:
            raise OrganismError("The graph has no facts to learn.", remedy="Import facts first.")
        if n_keys > MAX_KEYS:
            raise OrganismError(
                f"The graph has {n_keys:,} subject-prompt pairs; an organism learns at most "
                f"{MAX_KEYS:,}.",
                remedy="Train on a part of the graph, or use a published model (--model gpt2-xl).",
            )
        large = n_keys > 150
        llama = self.architecture == "llama"
        return Recipe(
            steps=self.steps or _steps(n_keys),
            rows=16,
            length=48,
            fillers_per_key=self.fillers_per_key or (1 if large else 2),
            vocabulary=self.vocabulary or 1024 * max(1, math.ceil(n_keys / 150)),
            muon_lr=0.05,
            adamw_lr=self.adamw_lr or (6e-3 if large else 3e-3),
            mask_layers=min(1 if llama else 2, self.layers // 2),
            mask_share=0.8 if llama else 0.9,
        )


def _steps(n_keys: int) -> int:
    """150 for a handful of keys, 400 for 72, 800 for 270; then slower (2,200 for 1,000)."""
    if n_keys <= 72:
        return round(150 + 250 * n_keys / 72)
    if n_keys <= 270:
        return round(400 + 400 * (n_keys - 72) / 198)
    return round(800 * (n_keys / 270) ** 0.77)
