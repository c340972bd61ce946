"""Rewrite requests as tokens: validation, then rows of prompt and target with their positions.

The target's tokens are those it has behind the prompt (`editing.answer_tokens`), the same that a
probe scores, and are appended as tokens. The published code tokenises " target" by itself (another
sequence on Llama 2 and Mistral v0.1), decodes its first tokens and encodes prompt and target again
as one text, which can merge tokens across the boundary and then shift the positions by one; with
byte-level tokenizers all of these give the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from ...loaders.records import SUBJECT_SLOT, RewriteRequest
from ..answer_tokens import answer_ids, text_ids
from ..errors import RequestError
from ..joint import parted
from ..objectives import Objective
from ..padding import pad
from .subject_position import (
    Encoded,
    Span,
    encode_with_subject,
    fill,
    with_subjects,
)

BARE = "{}"
"""The empty context template."""

Target = Literal["target_new", "target_true"]
"""The object of a request that a method reads: the one to install, or the one to forget."""


@dataclass(frozen=True, slots=True)
class Row:
    """A prompt as tokens.

    Attributes:
        ids: token ids, with a BOS if the tokenizer adds one.
        subject_last: index of the subject's last token in `ids`.
    """

    ids: tuple[int, ...]
    subject_last: int


def check(
    requests: Sequence[RewriteRequest],
    tokenizer: Any,
    objective: Objective | None = None,
    target: Target = "target_new",
) -> None:
    """Validate requests, and the answers of their objective, before any computation.

    Args:
        target: a method that forgets reads `target_true`.

    Raises:
        RequestError: no request, duplicate ids, a prompt without `{}`, an empty subject or target,
            a subject that no token covers, a target or answer without tokens; names the request.
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
        target_ids(tokenizer, request, target)
        prompt_row(tokenizer, request)
        for name in objective.rows(request).names if objective else ():
            answer_tokens(tokenizer, request, name)


def target_ids(
    tokenizer: Any, request: RewriteRequest, target: Target = "target_new"
) -> tuple[int, ...]:
    """The tokens of target_new, or target_true, behind the prompt, as a probe of it scores them.

    Context templates do not change them. White space around the target does not count.

    Raises:
        RequestError: the target is empty, or the tokenizer maps it to nothing (or to its unknown
            token only); or the prompt lacks `{}`.
    """
    return _tokens_of(tokenizer, request, getattr(request, target), target, "target")


def answer_tokens(tokenizer: Any, request: RewriteRequest, answer: str) -> tuple[int, ...]:
    """The tokens of another answer behind the request's prompt, as those of `target_ids`.

    Raises:
        RequestError: as in `target_ids`.
    """
    return _tokens_of(tokenizer, request, answer, "the answer", "answer")


def _tokens_of(
    tokenizer: Any, request: RewriteRequest, text: str, field: str, kind: str
) -> tuple[int, ...]:
    """The tokens of a text behind the request's prompt; errors name `field` and `kind`."""
    answer = text.strip()
    if not answer:
        raise RequestError(f"request '{request.id}': {field} is empty")
    prompt, lead, _ = _filled(request, BARE, request.prompt)
    ids = answer_ids(tokenizer, prompt, text_ids(tokenizer, prompt), answer, lead=lead)
    if set(ids) <= {tokenizer.unk_token_id}:
        raise RequestError(
            f"request '{request.id}': the tokenizer maps {field} '{text}' to nothing",
            remedy=f"Write the {kind} in characters that the model's tokenizer knows.",
        )
    return tuple(ids)


def prompt_row(
    tokenizer: Any, request: RewriteRequest, template: str = BARE, prompt: str | None = None
) -> Row:
    """The tokens of a template filled with the request's prompt (or another) and its subject.

    Spaces at the end are removed, as in a probe: a target begins with its own space.

    Raises:
        RequestError: template or prompt lack `{}`, or no token covers the subject.
    """
    text, _, span = _filled(request, template, request.prompt if prompt is None else prompt)
    try:
        batch = encode_with_subject(tokenizer, [text], [span])
    except RequestError as error:
        raise _of(request, error) from error
    return Row(tuple(batch.input_ids[0].tolist()), int(batch.subject_last[0]))


def _filled(request: RewriteRequest, template: str, prompt: str) -> tuple[str, str | None, Span]:
    """Text of a template with a prompt and the request's subject, its joint, the subject's span."""
    before, _, after = template.partition(SUBJECT_SLOT)
    try:
        text, span = fill(prompt, request.subject, prefix=before, suffix=after)
    except RequestError as error:
        raise _of(request, error) from error
    return *parted(text), span


def _of(request: RewriteRequest, error: RequestError) -> RequestError:
    return RequestError(f"request '{request.id}': {error.detail}", remedy=error.remedy)


def batch_of(rows: Sequence[Row], tokenizer: Any, device: torch.device) -> Encoded:
    """Rows padded on the right, with the position of each subject's last token."""
    batch = pad([row.ids for row in rows], tokenizer.pad_token_id or 0, "right", device)
    return with_subjects(batch, torch.tensor([row.subject_last for row in rows], device=device))
