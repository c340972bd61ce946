"""OLMo 2. As Llama; the outputs of attention and MLP are normalised before they are added."""

from __future__ import annotations

from thinkeval.editing.architectures import llama

LAYOUT = llama.LAYOUT
