"""Tokens of a prompt and of the answer behind it: one rule for editing and for probing.

An edit raises the probability of a token sequence, and a probe measures the probability of one. If
the two tokenise an answer differently, the edit is scored on a sequence it was not made for: with
the tokenizers of Llama 2 and Mistral v0.1, which put `▁` before every text, " Kyoto" by itself is
`▁ ▁Kyoto`, behind a prompt `▁Kyoto`. Imports no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def text_ids(tokenizer: Any, text: str, *, special: bool = True) -> list[int]:
    """Token ids of a text that an answer follows.

    Args:
        special: whether the tokenizer adds its special tokens; leading ones (a BOS) are kept,
            trailing ones (an EOS) removed.
    """
    encoded = tokenizer(
        text,
        add_special_tokens=special,
        return_special_tokens_mask=True,
        return_attention_mask=False,
    )
    return unclosed(encoded["input_ids"], encoded["special_tokens_mask"] if special else [])


def unclosed(ids: Sequence[int], special: Sequence[int]) -> list[int]:
    """Token ids without the trailing special tokens that the tokenizer added; at least one remains.

    Args:
        special: the tokenizer's `special_tokens_mask`, 1 for a token that it added; may be empty.
    """
    end = len(ids)
    while special and end > 1 and special[end - 1]:
        end -= 1
    return list(ids[:end])


def answer_ids(
    tokenizer: Any,
    text: str,
    prompt: Sequence[int],
    answer: str,
    *,
    lead: str = " ",
    special: bool = True,
) -> list[int]:
    """Token ids of an answer as the continuation of a text.

    Text and answer are tokenised together, as in training data. If there is no token boundary
    between the two, the answer is tokenised separately, because the model is evaluated on the
    prompt's own tokens.

    Args:
        text: the prompt, without white space at its end.
        prompt: its `text_ids`.
        answer: without white space around it.
        lead: what separates the two: a space, or nothing in a chat.
        special: as in `text_ids`.
    """
    joint = text_ids(tokenizer, text + lead + answer, special=special)
    if joint[: len(prompt)] == list(prompt):
        return joint[len(prompt) :]
    return text_ids(tokenizer, lead + answer, special=False)
