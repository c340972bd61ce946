"""GPT-NeoX and Pythia. The MLP works beside attention in most of them."""

from __future__ import annotations

from ._adapter import Layout

LAYOUT = Layout(
    layers="gpt_neox.layers",
    mlp="mlp",
    mlp_in="mlp.dense_h_to_4h",
    mlp_out="mlp.dense_4h_to_h",
    attention="attention",
    final_norm="gpt_neox.final_layer_norm",
    lm_head="lm_head",
    embeddings="gpt_neox.embed_in",
)
