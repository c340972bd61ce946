"""Mistral. As Llama, with sliding-window attention in some versions."""

from __future__ import annotations

from thinkeval.editing.architectures._adapter import Layout

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
