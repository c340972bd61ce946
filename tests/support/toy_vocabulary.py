"""A language of a dozen words, so small that every continuation can be counted."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

from thinkeval.editing.models import LoadedModel, wrap

WORDS = ("<end>", ".", "red", "blue", "green", "cat", "dog", "sees")
END = 0


def toy(architecture: str = "gpt2", seed: int = 0) -> LoadedModel:
    """A tiny random model whose tokens are the words above."""
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="<end>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<end>", pad_token="<end>"
    )
    size: dict[str, Any] = {"vocab_size": len(WORDS), "initializer_range": 0.4}
    ends = {"bos_token_id": END, "eos_token_id": END, "pad_token_id": END}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if architecture == "gpt2":
            config = GPT2Config(n_positions=32, n_embd=16, n_layer=2, n_head=2, **size, **ends)
            model: Any = GPT2LMHeadModel(config)
        else:
            llama = LlamaConfig(
                max_position_embeddings=32,
                hidden_size=16,
                intermediate_size=24,
                num_hidden_layers=2,
                num_attention_heads=2,
                **size,
                **ends,
            )
            model = LlamaForCausalLM(llama)
    return wrap(model, wrapped, name=f"toy-{architecture}")


def continuations(
    loaded: LoadedModel, prompt: str, length: int
) -> Iterator[tuple[list[int], float]]:
    """Every continuation of `length` tokens with its probability; no cache, no padding."""
    ids = loaded.tokenizer(prompt)["input_ids"]
    tails = list(itertools.product(range(len(WORDS)), repeat=length))
    with torch.no_grad():
        rows = torch.tensor([ids + list(tail) for tail in tails])
        log_p = loaded.model(rows).logits.double().log_softmax(-1)
    for row, tail in enumerate(tails):
        steps = [log_p[row, len(ids) - 1 + t, token] for t, token in enumerate(tail)]
        yield list(tail), float(sum(steps).exp())  # type: ignore[union-attr]


def words(ids: list[int]) -> list[str]:
    """The words of some tokens."""
    return [WORDS[i] for i in ids]
