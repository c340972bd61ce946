"""Position of the subject's last token in a tokenised prompt, where ROME and MEMIT edit.

The subject is located by character offsets, never by its token ids: these depend on the preceding
text, and the subject's name may occur more than once. Works with or without a BOS token, with
padding on either side, and when the prompt starts with the subject.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ...loaders.records import slot_parts
from ..answer_tokens import unclosed
from ..errors import EditingError, RequestError
from ..padding import Padded, pad

Span = tuple[int, int]
"""Start and end of the subject in a text, in characters; the end is exclusive."""


@dataclass(frozen=True)
class Encoded(Padded):
    """A padded batch with the position of each row's subject.

    Attributes:
        subject_last: [n], index of the subject's last token in `input_ids`, padding counted.
    """

    subject_last: Tensor


def fill(prompt: str, subject: str, *, prefix: str = "", suffix: str = "") -> tuple[str, Span]:
    """Insert the subject into a prompt; returns the text and the subject's span.

    Args:
        prompt: text with exactly one `{}`.
        subject: replaces the `{}`; may contain braces, or occur elsewhere in the prompt too.
        prefix: text before the prompt (of a context template).
        suffix: text after the prompt (of a target).

    Raises:
        RequestError: no `{}`, more than one, or an empty subject.
    """
    parts = slot_parts(prompt)
    count = len(parts) - 1
    if count != 1:
        found = "no {}" if count == 0 else f"{count} times {{}}"
        raise RequestError(
            f"the prompt '{prompt}' has {found} for its subject '{subject}'",
            remedy="Write the prompt with exactly one {} in the subject's place.",
        )
    if not subject.strip():
        raise RequestError(f"the subject of the prompt '{prompt}' is empty")
    before, after = parts
    start = len(prefix) + len(before)
    return prefix + before + subject + after + suffix, (start, start + len(subject))


def last_token(offsets: Sequence[tuple[int, int]], span: Span) -> int | None:
    """Index of the last token that covers a character of the span; None without one.

    Special tokens have empty offsets and so cover nothing. A token that extends beyond the subject
    ("Paris's" as one token) counts, because it contains the subject's last character.
    """
    start, end = span
    covering = [i for i, (a, b) in enumerate(offsets) if a < b and a < end and b > start]
    return covering[-1] if covering else None


def subject_last(tokenizer: Any, texts: Sequence[str], spans: Sequence[Span]) -> list[int]:
    """Index of the subject's last token in each text's own tokens (a BOS counts, no padding).

    Raises:
        RequestError: no token covers a character of the subject.
        EditingError: the tokenizer gives no offsets.
    """
    return [index for _, index in _encode_each(tokenizer, texts, spans)]


def encode_with_subject(
    tokenizer: Any,
    texts: Sequence[str],
    spans: Sequence[Span],
    *,
    device: torch.device | str = "cpu",
    padding_side: str = "right",
) -> Encoded:
    """Tokenise texts into one padded batch with the position of each subject's last token.

    Special tokens that the tokenizer appends (an EOS) are left out (`answer_tokens.unclosed`). The
    tokenizer's own `padding_side` is neither used nor changed.

    Raises:
        RequestError: no token of a text covers a character of its subject.
    """
    rows = _encode_each(tokenizer, texts, spans)
    batch = pad([ids for ids, _ in rows], tokenizer.pad_token_id, padding_side, device)
    shift = torch.zeros_like(batch.lengths)
    if padding_side == "left":
        shift = batch.input_ids.shape[1] - batch.lengths
    places = torch.tensor([index for _, index in rows], device=device) + shift
    return with_subjects(batch, places)


def with_subjects(batch: Padded, subject_last: Tensor) -> Encoded:
    """The batch with the positions of its subjects' last tokens, [n]."""
    return Encoded(
        batch.input_ids, batch.attention_mask, batch.position_ids, batch.lengths, subject_last
    )


def _encode_each(
    tokenizer: Any, texts: Sequence[str], spans: Sequence[Span]
) -> list[tuple[list[int], int]]:
    if not tokenizer.is_fast:
        raise EditingError(
            f"the tokenizer {type(tokenizer).__name__} gives no character offsets",
            remedy="Save the model with a fast tokenizer (tokenizer.json).",
        )
    encoded = tokenizer(
        list(texts),
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
        return_attention_mask=False,
    )
    columns = (encoded[key] for key in ("input_ids", "special_tokens_mask", "offset_mapping"))
    rows = []
    for text, span, ids, special, offsets in zip(texts, spans, *columns, strict=True):
        index = last_token(offsets, span)
        if index is None:
            raise RequestError(
                f"the subject '{text[slice(*span)]}' is missing from the tokens of '{text}'",
                remedy="The tokenizer drops its characters; write the subject differently.",
            )
        rows.append((unclosed(ids, special), index))
    return rows
