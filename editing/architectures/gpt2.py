"""GPT-2 (gpt2, gpt2-medium, gpt2-large, gpt2-xl). Projections are Conv1D: weight [in, out]."""

from __future__ import annotations

from ._adapter import Layout

LAYOUT = Layout(
    layers="transformer.h",
    mlp="mlp",
    mlp_in="mlp.c_fc",
    mlp_out="mlp.c_proj",
    attention="attn",
    final_norm="transformer.ln_f",
    lm_head="lm_head",
    embeddings="transformer.wte",
)
