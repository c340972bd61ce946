"""GPT-J (gpt-j-6b). The MLP works beside attention, and the head has a bias."""

from __future__ import annotations

from ._adapter import Layout

LAYOUT = Layout(
    layers="transformer.h",
    mlp="mlp",
    mlp_in="mlp.fc_in",
    mlp_out="mlp.fc_out",
    attention="attn",
    final_norm="transformer.ln_f",
    lm_head="lm_head",
    embeddings="transformer.wte",
)
