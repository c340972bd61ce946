"""Gemma 3 without its image encoder. As Gemma 2; published models do not cap their logits.

MEMIT and its family reach z only as far as the norms let through; an edit's record has the rest.
"""

from __future__ import annotations

from . import gemma2

LAYOUT = gemma2.LAYOUT
