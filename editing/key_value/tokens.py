"""Rewrite requests as tokens: validation, then rows of prompt and target with their positions.

The target is appended as tokens. The published code decodes the target's first tokens and encodes
prompt and target again as one text, which can merge tokens across the boundary and then shift the
positions by one; with byte-level tokenizers and a leading space both give the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from thinkeval.editing.errors import RequestError
from thinkeval.editing.key_value.subject_position import (
    SLOT,
    Encoded,
    encode_with_subject,
    fill,
    with_subjects,
)
from thinkeval.editing.padding import pad
from thinkeval.loaders.records import RewriteRequest

BARE = "{}"
"""The empty context template."""


@dataclass(frozen=True, slots=True)
class Row:
    """A prompt as tokens.

    Attributes:
        ids: token ids, with a BOS if the tokenizer adds one.
        subject_last: index of the subject's last token in `ids`.
    """

    ids: tuple[int, ...]
    subject_last: int


def check(requests: Sequence[RewriteRequest], tokenizer: Any) -> None:
    """Validate requests before any computation.

    Raises:
        RequestError: no request, duplicate ids, a prompt without `{}`, an empty subject or target,
            a subject that no token covers, a target without tokens; names the request.
    """
    if not requests:
        raise RequestError("there is no rewrite request", remedy="Pass at least one.")
    seen: set[str] = set()
    for request in requests:
        if request.id in seen:
            raise RequestError(
                f"two rewrite requests have the id '{request.id}'",
                remedy="Give each request a unique id.",
            )
        seen.add(request.id)
        target_ids(tokenizer, request)
        prompt_row(tokenizer, request)


def target_ids(tokenizer: Any, request: RewriteRequest) -> tuple[int, ...]:
    """The tokens of " target_new" without BOS.

    A space is prepended to a target without one, as in the published code; a leading BOS or
    unknown token is removed.

    Raises:
        RequestError: the target is empty, or the tokenizer maps it to nothing.
    """
    if not request.target_new.strip():
        raise RequestError(f"request '{request.id}': target_new is empty")
    text = request.target_new if request.target_new[0] == " " else " " + request.target_new
    ids = list(tokenizer(text, add_special_tokens=False)["input_ids"])
    if ids and ids[0] in (tokenizer.bos_token_id, tokenizer.unk_token_id):
        ids = ids[1:]
    if not ids:
        raise RequestError(
            f"request '{request.id}': the tokenizer maps target_new '{request.target_new}' to "
            "nothing",
            remedy="Write the target in characters that the model's tokenizer knows.",
        )
    return tuple(ids)


def prompt_row(
    tokenizer: Any, request: RewriteRequest, template: str = BARE, prompt: str | None = None
) -> Row:
    """The tokens of a template filled with the request's prompt (or another) and its subject.

    Raises:
        RequestError: template or prompt lack `{}`, or no token covers the subject.
    """
    before, _, after = template.partition(SLOT)
    try:
        text, span = fill(
            request.prompt if prompt is None else prompt,
            request.subject,
            prefix=before,
            suffix=after,
        )
        batch = encode_with_subject(tokenizer, [text], [span])
    except RequestError as error:
        raise RequestError(
            f"request '{request.id}': {error.detail}", remedy=error.remedy
        ) from error
    ids = batch.input_ids[0].tolist()
    place = int(batch.subject_last[0])
    # Some tokenizers append an EOS; the target must follow the prompt directly.
    while len(ids) > place + 1 and ids[-1] == tokenizer.eos_token_id:
        ids.pop()
    return Row(tuple(ids), place)


def batch_of(rows: Sequence[Row], tokenizer: Any, device: torch.device) -> Encoded:
    """Rows padded on the right, with the position of each subject's last token."""
    batch = pad([row.ids for row in rows], tokenizer.pad_token_id or 0, "right", device)
    return with_subjects(batch, torch.tensor([row.subject_last for row in rows], device=device))
