"""An objective's answers as rows, with the places where they are predicted, and its losses.

A row that begins with another's tokens serves for both, because attention is causal: answers of one
token are read at the end of the prompt itself, whatever follows there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ...loaders.records import RewriteRequest
from ..objectives import Objective
from .tokens import Row, answer_tokens


@dataclass(frozen=True, slots=True)
class Reading:
    """One answer of an objective.

    Attributes:
        tokens: its tokens behind the bare prompt.
        places: (row, index at which its first token is predicted) in each of its contexts; later
            tokens are predicted at the following indices.
    """

    tokens: tuple[int, ...]
    places: tuple[tuple[int, int], ...]


def with_answers(
    tokenizer: Any,
    request: RewriteRequest,
    objective: Objective | None,
    prompts: Sequence[Row],
    rows: Sequence[Row],
) -> tuple[list[Row], tuple[Reading, ...]]:
    """The rows of a request, extended by those that its objective's answers need.

    Args:
        prompts: one row per context, the bare one first.
        rows: existing rows, the first of which continue the prompts in their order.

    Raises:
        RequestError: an answer has no tokens.
    """
    found = list(rows)
    if objective is None:
        return found, ()
    answers = objective.rows(request)
    tokens = [answer_tokens(tokenizer, request, name) for name in answers.names]
    contexts = prompts if answers.as_targets else prompts[:1]
    at: dict[tuple[int, tuple[int, ...]], int] = {}

    def register(context: int, row: Row, number: int) -> None:
        for end in range(len(prompts[context].ids), len(row.ids) + 1):
            at.setdefault((context, row.ids[:end]), number)

    for i, row in enumerate(found[: len(contexts)]):
        register(i, row, i)
    wanted = {(i, (*prompt.ids, *ids[:-1])) for i, prompt in enumerate(contexts) for ids in tokens}
    # Long ones first, so that the row of an answer serves those that it begins with.
    for i, ids in sorted(wanted, key=lambda each: (-len(each[1]), each)):
        if (i, ids) not in at:
            row = Row(ids, prompts[i].subject_last)
            register(i, row, len(found))
            found.append(row)
    return found, tuple(
        Reading(
            ids,
            tuple(
                (at[i, (*prompt.ids, *ids[:-1])], len(prompt.ids) - 1)
                for i, prompt in enumerate(contexts)
            ),
        )
        for ids in tokens
    )


def losses(
    objective: Objective | None,
    requests: Sequence[RewriteRequest],
    sizes: Sequence[int],
    nll: Tensor,
    now: Tensor,
    start: Tensor,
) -> Tensor:
    """The loss of each request by its objective; `nll` itself where no request has answers.

    Args:
        sizes: number of answers of each request.
        nll: [n] −mean token log p of each request's target.
        now, start: [sum of sizes] mean token log p of the answers, and that before the edit.
    """
    if objective is None or not any(sizes):
        return nll
    found, after, before = list(nll), now.split(list(sizes)), start.split(list(sizes))
    for i, request in enumerate(requests):
        if sizes[i]:
            found[i] = objective.loss(request, nll[i], after[i], before[i])
    return torch.stack(found)
