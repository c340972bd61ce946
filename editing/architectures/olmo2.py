"""OLMo 2. As Llama; the outputs of attention and MLP are normalised before they are added.

MEMIT and its family reach z only as far as the norms let through; an edit's record has the rest.
"""

from __future__ import annotations

from dataclasses import replace

from . import llama

LAYOUT = replace(llama.LAYOUT, post_norm="post_feedforward_layernorm")
