"""Where the subject ends in the tokens of a prompt: the place that ROME and MEMIT edit.

The subject is found by character offsets, never by its tokens' ids: the ids of a subject differ
with what stands before it, and a subject may stand twice in a text. Works with or without a BOS
token, with padding on either side, and when the prompt starts with the subject.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from thinkeval.editing.errors import EditingError, RequestError
from thinkeval.loaders.records import SUBJECT_SLOT as SLOT

Span = tuple[int, int]
"""Start and end of the subject in a text, in characters; the end is exclusive."""


class Encoded(NamedTuple):
    """A padded batch with the place of each row's subject.

    Attributes:
        input_ids: [n, length], padded with the tokenizer's pad token.
        attention_mask: [n, length], 1 on real tokens.
        position_ids: [n, length], counted from 0 over the real tokens (0 on padding). GPT-2 needs
            them with left padding: without, probabilities shift.
        subject_last: [n], index of the subject's last token in `input_ids`, padding counted.
        lengths: [n], number of real tokens of a row.

    """

    input_ids: Tensor
    attention_mask: Tensor
    position_ids: Tensor
    subject_last: Tensor
    lengths: Tensor

    def inputs(self) -> dict[str, Tensor]:
        """The keyword arguments of a model's forward."""
        return {
            "input_ids": self.input_ids,
            "attention_mask": self.attention_mask,
            "position_ids": self.position_ids,
        }


def fill(prompt: str, subject: str, *, prefix: str = "", suffix: str = "") -> tuple[str, Span]:
    """Put the subject into a prompt and say where it stands.

    Args:
        prompt: text with exactly one `{}`.
        subject: what takes its place; may itself hold braces, or stand elsewhere in the prompt too.
        prefix: text before the prompt (a context template's).
        suffix: text after the prompt (a target's).

    Raises:
        RequestError: no `{}`, more than one, or an empty subject.

    """
    count = prompt.count(SLOT)
    if count != 1:
        found = "no {}" if count == 0 else f"{count} times {{}}"
        raise RequestError(
            f"the prompt '{prompt}' has {found} for its subject '{subject}'",
            remedy="Write the prompt with exactly one {} where the subject stands.",
        )
    if not subject.strip():
        raise RequestError(f"the subject of the prompt '{prompt}' is empty")
    before, after = prompt.split(SLOT)
    start = len(prefix) + len(before)
    return prefix + before + subject + after + suffix, (start, start + len(subject))


def last_token(offsets: Sequence[tuple[int, int]], span: Span) -> int | None:
    """Index of the last token that covers a character of the span; None if there is none.

    Special tokens have empty offsets and so cover nothing. A token that reaches beyond the subject
    ("Paris's" as one token) counts, because the subject's last character lies in it.
    """
    start, end = span
    covering = [i for i, (a, b) in enumerate(offsets) if a < b and a < end and b > start]
    return covering[-1] if covering else None


def subject_last(tokenizer: Any, texts: Sequence[str], spans: Sequence[Span]) -> list[int]:
    """Index of the subject's last token in each text's own tokens (a BOS counts, no padding).

    Raises:
        RequestError: the tokens hold no character of the subject.
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
    """Tokenise texts into one padded batch that knows where each subject ends.

    The tokenizer's own `padding_side` is neither used nor changed.

    Raises:
        RequestError: a text whose tokens hold no character of its subject.

    """
    rows = _encode_each(tokenizer, texts, spans)
    batch = pad([ids for ids, _ in rows], tokenizer.pad_token_id, padding_side, device)
    shift = torch.zeros_like(batch.lengths)
    if padding_side == "left":
        shift = batch.input_ids.shape[1] - batch.lengths
    places = torch.tensor([index for _, index in rows], device=device) + shift
    return batch._replace(subject_last=places)


def pad(
    rows: Sequence[Sequence[int]],
    pad_id: int,
    padding_side: str = "right",
    device: torch.device | str = "cpu",
) -> Encoded:
    """Pad rows of token ids to one length; `subject_last` is left at 0.

    Raises:
        EditingError: `padding_side` is neither `left` nor `right`.

    """
    if padding_side not in ("left", "right"):
        raise EditingError(f"padding_side is '{padding_side}'; it is 'left' or 'right'")
    width = max(map(len, rows), default=0)
    ids = torch.full((len(rows), width), pad_id, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for i, row in enumerate(rows):
        at = slice(width - len(row), width) if padding_side == "left" else slice(0, len(row))
        ids[i, at] = torch.tensor(row, dtype=torch.long)
        mask[i, at] = 1
    positions = (mask.cumsum(1) - 1).clamp(min=0) * mask
    lengths = mask.sum(1)
    moved = (t.to(device) for t in (ids, mask, positions, torch.zeros_like(lengths), lengths))
    return Encoded(*moved)


def _encode_each(
    tokenizer: Any, texts: Sequence[str], spans: Sequence[Span]
) -> list[tuple[list[int], int]]:
    if not tokenizer.is_fast:
        raise EditingError(
            f"the tokenizer {type(tokenizer).__name__} gives no character offsets",
            remedy="Save the model with a fast tokenizer (tokenizer.json).",
        )
    encoded = tokenizer(list(texts), return_offsets_mapping=True, return_attention_mask=False)
    rows = []
    for text, span, ids, offsets in zip(
        texts, spans, encoded["input_ids"], encoded["offset_mapping"], strict=True
    ):
        index = last_token(offsets, span)
        if index is None:
            raise RequestError(
                f"the subject '{text[slice(*span)]}' is missing from the tokens of '{text}'",
                remedy="The tokenizer drops its characters; write the subject otherwise.",
            )
        rows.append((list(ids), index))
    return rows
