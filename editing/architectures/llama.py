"""Llama 2 and 3. Gated MLP; projections are Linear: weight [out, in]."""

from __future__ import annotations

from ._adapter import Layout

LAYOUT = Layout(
    layers="model.layers",
    mlp="mlp",
    mlp_in="mlp.gate_proj",
    mlp_out="mlp.down_proj",
    attention="self_attn",
    final_norm="model.norm",
    lm_head="lm_head",
    embeddings="model.embed_tokens",
)
