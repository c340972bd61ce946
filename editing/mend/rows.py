"""Prompts followed by their targets as one batch, and the log-probabilities read from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from thinkeval.editing import nethook
from thinkeval.editing.architectures import Adapter
from thinkeval.editing.key_value.tokens import Row, batch_of


@dataclass(frozen=True, slots=True)
class TargetRow:
    """The tokens of a prompt and of what has to follow it."""

    prompt: tuple[int, ...]
    target: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TargetBatch:
    """Rows with the places that are read; a target of m tokens is read at m places.

    Attributes:
        inputs: of the model, padded on the right.
        row: [places], the row of each place.
        place: [places], where the token is predicted.
        token: [places], the target's token.
        share: [places], 1 / number of the row's places.
        n: number of rows.
    """

    inputs: Mapping[str, Tensor]
    row: Tensor
    place: Tensor
    token: Tensor
    share: Tensor
    n: int

    def mean_by_row(self, values: Tensor) -> Tensor:
        """Mean of values [places] over each row's places, [n]."""
        zeros = torch.zeros(self.n, dtype=values.dtype, device=values.device)
        return zeros.index_add(0, self.row, values * self.share.to(values.dtype))

    def nll(self, log_p: Tensor) -> Tensor:
        """−mean log p of each row's target tokens, [n]; `log_p` is [places, vocabulary]."""
        return self.mean_by_row(-log_p.gather(1, self.token[:, None]).squeeze(1))


def target_batch(rows: Sequence[TargetRow], tokenizer: object, device: torch.device) -> TargetBatch:
    """Rows of prompt and target as tensors; the last target token is read, not shown."""
    shown = [Row((*row.prompt, *row.target[:-1]), 0) for row in rows]
    places = [
        (i, len(row.prompt) - 1 + k, token, 1 / len(row.target))
        for i, row in enumerate(rows)
        for k, token in enumerate(row.target)
    ]
    columns = [torch.tensor(column, device=device) for column in zip(*places, strict=True)]
    return TargetBatch(
        batch_of(shown, tokenizer, device).inputs(),  # the same padding as all methods have
        *columns,
        n=len(rows),
    )


def log_probabilities(adapter: Adapter, batch: TargetBatch) -> Tensor:
    """Log p over the vocabulary at the places of a batch, [places, vocabulary], float32.

    The head is applied at these places only.
    """
    head = adapter.lm_head
    with nethook.recording(inputs={"end": head}, stop_before=head) as seen:
        nethook.forward(adapter.model, batch.inputs)
    return head(seen.inputs["end"][batch.row, batch.place]).float().log_softmax(-1)
