"""Tiny random models with real tokenizers, built in memory in milliseconds."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

CORPUS = (
    "Harry Potter studied at Hogwarts. Hogwarts is located in Scotland. The mother of Harry "
    "Potter is Lily Evans. Ron Weasley studied at Hogwarts. Ilvermorny is located in America.",
    "The headmaster of Hogwarts is Albus Dumbledore. Question: Where did Hermione Granger study? "
    "Answer: Hogwarts. Apple Inc. was founded by Steve Jobs. St. Mungo's is a hospital in London.",
    "The capital of France is Paris. Marie Curie was born in Warsaw, the capital of Poland. "
    "The sister of Padma Patil is Parvati Patil. Sirius Black is the godfather of Harry Potter.",
)
"""What the tokenizers are trained on. Any text can still be encoded: they work on bytes."""

ARCHITECTURES = ("gpt2", "llama")


def build_tokenizer(
    texts: Sequence[str] = CORPUS, *, vocab_size: int = 420, bos: bool = False
) -> Any:
    """A byte-level BPE tokenizer; `bos` puts `<|begin|>` before every text, as Llama's does."""
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(_trained(tuple(texts), vocab_size, bos)),
        bos_token="<|begin|>" if bos else "<|endoftext|>",
        eos_token="<|endoftext|>",
        pad_token="<|endoftext|>",
    )


@cache
def _trained(texts: tuple[str, ...], vocab_size: int, bos: bool) -> str:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=["<|endoftext|>", "<|begin|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    if bos:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<|begin|> $A", special_tokens=[("<|begin|>", 1)]
        )
    return tokenizer.to_str()


def build_tiny(
    architecture: str, seed: int = 0, *, n_layers: int = 3, width: int = 32, scale: float = 4.0
) -> tuple[Any, Any]:
    """A tiny random (model, tokenizer) pair: evaluation mode, float32, global RNG untouched.

    Args:
        architecture: `gpt2` (no BOS) or `llama` (BOS, two key-value heads).
        seed: of the weights.
        scale: factor on the standard deviation of the initial weights; 1 gives almost uniform
            predictions, 4 a model whose predictions depend on what it reads.
    """
    tokenizer = build_tokenizer(bos=architecture == "llama")
    # Copied: drawing the weights takes two (Llama) to six times as long (GPT-2).
    return copy.deepcopy(_drawn(architecture, seed, n_layers, width, scale)), tokenizer


@lru_cache(maxsize=32)
def _drawn(architecture: str, seed: int, n_layers: int, width: int, scale: float) -> Any:
    """The model of `build_tiny`, which nobody may change."""
    tokenizer = build_tokenizer(bos=architecture == "llama")
    special = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": 0, "pad_token_id": 0}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if architecture == "gpt2":
            model: Any = GPT2LMHeadModel(
                GPT2Config(
                    vocab_size=len(tokenizer),
                    n_positions=128,
                    n_embd=width,
                    n_layer=n_layers,
                    n_head=4,
                    initializer_range=0.02 * scale,
                    resid_pdrop=0.0,
                    embd_pdrop=0.0,
                    attn_pdrop=0.0,
                    **special,
                )
            )
        elif architecture == "llama":
            model = LlamaForCausalLM(
                LlamaConfig(
                    vocab_size=len(tokenizer),
                    max_position_embeddings=128,
                    hidden_size=width,
                    intermediate_size=2 * width + 8,
                    num_hidden_layers=n_layers,
                    num_attention_heads=4,
                    num_key_value_heads=2,
                    initializer_range=0.02 * scale,
                    **special,
                )
            )
        else:
            raise ValueError(f"no tiny model for {architecture}")
    return model.eval()
