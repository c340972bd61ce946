"""Tokens of a prompt and of the answer behind it: one rule for editing and for probing.

An edit raises the probability of a token sequence, and a probe measures the probability of one. If
the two tokenise an answer differently, the edit is scored on a sequence it was not made for: with
the tokenizers of Llama 2 and Mistral v0.1, which put `▁` before every text, " Kyoto" by itself is
`▁ ▁Kyoto`, behind a prompt `▁Kyoto`. The text between the two follows from the prompt, the script
and the chat template (`editing.joint`). Imports no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .joint import joint

LINE = "\n"


class Spelling(NamedTuple):
    """The tokens of an answer behind its prompt.

    Attributes:
        apart: the tokens of prompt and answer as one text are not those of the prompt and more, so
            the answer is tokenised by itself: a spelling that the model has rarely read.
    """

    ids: list[int]
    apart: bool


def text_ids(tokenizer: Any, text: str, *, special: bool = True) -> list[int]:
    """Token ids of a text that an answer follows.

    Args:
        special: True if the tokenizer adds its special tokens; leading ones (a BOS) are kept,
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
    lead: str | None = None,
    special: bool = True,
) -> list[int]:
    """Token ids of an answer as the continuation of a text; see `spelling`."""
    return spelling(tokenizer, text, prompt, answer, lead=lead, special=special).ids


def spelling(
    tokenizer: Any,
    text: str,
    prompt: Sequence[int],
    answer: str,
    *,
    lead: str | None = None,
    special: bool = True,
) -> Spelling:
    """Tokenise an answer as the continuation of a text.

    Text and answer are tokenised together, as in training data. If there is no token boundary
    between the two, the answer is tokenised separately, because the model is evaluated on the
    prompt's own tokens.

    Args:
        text: the prompt, without spaces at its end (`joint.parted`).
        prompt: its `text_ids`.
        answer: without white space around it.
        lead: the text between the two; by default that of the rule (`joint.joint`).
        special: as in `text_ids`.
    """
    tail = (joint(text, answer) if lead is None else lead) + answer
    both = text_ids(tokenizer, text + tail, special=special)
    if both[: len(prompt)] == list(prompt):
        return Spelling(both[len(prompt) :], apart=False)
    alone = text_ids(tokenizer, tail, special=False)
    # A tokenizer that puts `▁` before every text would put a space there that is not in the text.
    line = text_ids(tokenizer, LINE, special=False)
    behind = text_ids(tokenizer, LINE + tail, special=False)
    if not tail[:1].isspace() and line and behind[: len(line)] == line:
        alone = behind[len(line) :]
    return Spelling(alone, apart=True)
