"""Qwen2 and Qwen2.5. As Llama, with biases in attention only."""

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
