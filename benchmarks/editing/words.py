"""A tokenizer of made-up words, a token each, for models whose weights are random."""

from __future__ import annotations

from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast


def word_tokenizer(n_words: int) -> tuple[Any, list[str]]:
    """The tokenizer, and the words w0, w1, ... that it knows; all else is one unknown token."""
    words = [f"w{i}" for i in range(n_words)]
    table = {word: i for i, word in enumerate(["<end>", "<other>", *words])}
    made = Tokenizer(models.WordLevel(table, unk_token="<other>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="<end>", pad_token="<end>", unk_token="<other>"
    )
    return tokenizer, words
