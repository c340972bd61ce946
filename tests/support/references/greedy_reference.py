"""Greedy answers by transformers' own generation, one prompt at a time."""

from __future__ import annotations

from typing import Any

import torch

from thinkeval.editing.models import LoadedModel
from thinkeval.editing.probe.sentences import first_clause

LENGTH = 12
"""Tokens of an answer at most."""


def generated(loaded: LoadedModel, text: str, *, special: bool = True) -> str:
    """The text that greedy generation appends to a text, without special tokens.

    Args:
        special: the tokenizer adds its special tokens to the text.
    """
    ids = torch.tensor([loaded.tokenizer(text, add_special_tokens=special)["input_ids"]])
    model: Any = loaded.model
    made = model.generate(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=LENGTH,
        do_sample=False,
        pad_token_id=loaded.tokenizer.pad_token_id,
    )
    return loaded.tokenizer.decode(
        made[0, ids.shape[1] :], skip_special_tokens=True, clean_up_tokenization_spaces=False
    )


def own_answer(loaded: LoadedModel, text: str, *, special: bool = True) -> str:
    """The first clause of that text."""
    return first_clause(generated(loaded, text, special=special))
