"""Gemma 3 with its image encoder; the language model is edited. Its logits are never capped.

MEMIT and its family reach z only as far as the norms let through; an edit's record has the rest.
"""

from __future__ import annotations

from dataclasses import replace

from . import gemma3_text
from ._adapter import unchanged

LAYOUT = replace(
    gemma3_text.LAYOUT,
    layers="model.language_model.layers",
    final_norm="model.language_model.norm",
    embeddings="model.language_model.embed_tokens",
    logits=unchanged,
)
