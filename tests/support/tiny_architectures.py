"""A tiny random model of every architecture that has an adapter, saved and loaded as a user's is.

Small, but with what makes an architecture different: norms that are not the identity, windows that
are shorter than a prompt, grouped heads, partial rotary embeddings, scaled or capped logits.
"""

from __future__ import annotations

import tempfile
from functools import cache
from typing import Any

import torch
import transformers as hf
from transformers.utils import logging as hf_logging

from support.tiny_models import CORPUS, build_tokenizer
from thinkeval.editing import covariance, models

BASE: dict[str, Any] = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
DROPOUTS: dict[str, Any] = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
WINDOW = 6
"""Tokens that a layer with a sliding window attends to; prompts are longer."""


def _windows(n_layers: int) -> dict[str, Any]:
    kinds = ["sliding_attention", "full_attention"] * n_layers
    return {"sliding_window": WINDOW, "layer_types": kinds[:n_layers]}


def config_of(name: str, *, vocabulary: int = 420, n_layers: int = 3, width: int = 32) -> Any:
    """The configuration of a tiny model; its MLP is 1.5 times as wide as the model."""
    inner, head = width * 3 // 2, width // 4
    size: dict[str, Any] = {
        **BASE,
        "vocab_size": vocabulary,
        "hidden_size": width,
        "intermediate_size": inner,
        "num_hidden_layers": n_layers,
        "num_attention_heads": 4,
        "max_position_embeddings": 128,
        "initializer_range": 0.3,
    }
    grouped: dict[str, Any] = {**size, "num_key_value_heads": 2}
    gpt: dict[str, Any] = {**BASE, **DROPOUTS, "vocab_size": vocabulary, "n_embd": width}
    gpt |= {"n_layer": n_layers, "n_head": 4, "n_inner": inner, "n_positions": 128}
    gpt |= {"initializer_range": 0.3}
    gemma = {**grouped, **_windows(n_layers), "head_dim": head, "query_pre_attn_scalar": head}
    makers = {
        "cohere": lambda: hf.CohereConfig(**grouped, logit_scale=0.7),
        "cohere2": lambda: hf.Cohere2Config(**grouped, **_windows(n_layers), logit_scale=0.7),
        "gemma2": lambda: hf.Gemma2Config(**gemma, final_logit_softcapping=4.0),
        "gemma3": lambda: hf.Gemma3Config(
            text_config=hf.Gemma3TextConfig(**gemma).to_dict(),
            vision_config={
                "hidden_size": 8,
                "intermediate_size": 8,
                "num_hidden_layers": 1,
                "num_attention_heads": 1,
                "image_size": 28,
                "patch_size": 14,
            },
            mm_tokens_per_image=4,
            **BASE,
        ),
        "gemma3_text": lambda: hf.Gemma3TextConfig(**gemma),
        "gpt2": lambda: hf.GPT2Config(**gpt),
        "gpt_neox": lambda: hf.GPTNeoXConfig(
            **size, rotary_pct=0.5, attention_dropout=0.0, hidden_dropout=0.0
        ),
        "gptj": lambda: hf.GPTJConfig(**gpt, rotary_dim=4),
        "granite": lambda: hf.GraniteConfig(
            **grouped,
            logits_scaling=2.0,
            residual_multiplier=0.5,
            embedding_multiplier=2.0,
            attention_multiplier=0.5,
        ),
        "llama": lambda: hf.LlamaConfig(**grouped),
        "mistral": lambda: hf.MistralConfig(**grouped, sliding_window=WINDOW),
        "olmo2": lambda: hf.Olmo2Config(**grouped),
        "olmo3": lambda: hf.Olmo3Config(**grouped, **_windows(n_layers)),
        "phi3": lambda: hf.Phi3Config(**grouped, partial_rotary_factor=0.5),
        "qwen2": lambda: hf.Qwen2Config(**grouped),
        "qwen3": lambda: hf.Qwen3Config(**grouped, head_dim=head),
        "smollm3": lambda: hf.SmolLM3Config(**grouped, no_rope_layer_interval=2),
    }
    return makers[name]()


def model_of(config: Any, seed: int = 7) -> Any:
    """A random model in evaluation mode, its norms' weights random too; global RNG untouched."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = hf.AutoModelForCausalLM.from_config(config).eval()
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if "norm" in name and name.endswith("weight"):
                    parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return model


@cache
def saved_and_loaded(name: str) -> models.LoadedModel:
    """The model of an architecture with its tokenizer, from a folder; shared, so never changed."""
    tokenizer = build_tokenizer(bos=name not in ("gpt2", "gptj", "gpt_neox"))
    with tempfile.TemporaryDirectory() as folder:
        hf_logging.disable_progress_bar()
        model_of(config_of(name, vocabulary=len(tokenizer))).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return models.load(folder, device="cpu")


def pair_of(name: str) -> tuple[Any, Any]:
    """Model and tokenizer of an architecture, shared."""
    loaded = saved_and_loaded(name)
    return loaded.model, loaded.tokenizer


@cache
def moments(name: str) -> covariance.Covariance:
    """Second moments of the keys of the first two layers; shared."""
    return covariance.collect(*pair_of(name), CORPUS * 4, [0, 1])
