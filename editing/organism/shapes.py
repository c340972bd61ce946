"""Untrained models: a GPT-2 and a Llama of about a million parameters.

One function per architecture, `(config, vocab_size, positions, end_token) -> model`, by name in
`SHAPES`.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import nn
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
)
from transformers.models.gpt2.modeling_gpt2 import GPT2Attention
from transformers.models.llama.modeling_llama import LlamaAttention

from .config import OrganismConfig


def _gpt2(config: OrganismConfig, vocabulary: int, positions: int, end: int) -> PreTrainedModel:
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=vocabulary,
            n_positions=positions,
            n_embd=config.width,
            n_layer=config.layers,
            n_head=config.heads,
            n_inner=4 * config.width,
            activation_function="gelu_pytorch_tanh",
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=end,
            eos_token_id=end,
            pad_token_id=end,
        )
    )


def _llama(config: OrganismConfig, vocabulary: int, positions: int, end: int) -> PreTrainedModel:
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=vocabulary,
            max_position_embeddings=positions,
            hidden_size=config.width,
            intermediate_size=config.width * 21 // 8,
            num_hidden_layers=config.layers,
            num_attention_heads=config.heads,
            num_key_value_heads=max(1, config.heads // 2),
            tie_word_embeddings=True,
            bos_token_id=end,
            eos_token_id=end,
            pad_token_id=end,
        )
    )


SHAPES: dict[str, Callable[[OrganismConfig, int, int, int], PreTrainedModel]] = {
    "gpt2": _gpt2,
    "llama": _llama,
}


def attention_modules(model: PreTrainedModel) -> list[nn.Module]:
    """The attention module of each layer, in order."""
    kinds = (GPT2Attention, LlamaAttention)
    return [module for module in model.modules() if isinstance(module, kinds)]
