"""Requests as batches for the value optimisation: contexts, targets, and where each is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from editing.architectures import Adapter
from editing.keys import Templates
from editing.requests import BARE, Row, batch_of, prompt_row, target_ids
from loaders.records import RewriteRequest

KL_PROMPT = "{} is a"
"""What should stay true of the subject: the essence prompt of ROME §3.1."""


@dataclass(frozen=True)
class Entry:
    """One request as rows: its contexts with the target behind, and the KL row last."""

    request: RewriteRequest
    rows: tuple[Row, ...]
    target: tuple[int, ...]

    @property
    def n_tokens(self) -> int:
        """Size of its rows in a batch, padding counted."""
        return len(self.rows) * max(len(row.ids) for row in self.rows)


@dataclass(frozen=True)
class ValueBatch:
    """Some requests as one padded batch. R rows, n requests, P (row, target token) pairs.

    Attributes:
        subject: [R] place of each row's subject.
        owner: [R] which request a row belongs to.
        first, kl: [n] each request's bare row and KL row.
        pair_row, pair_place, pair_token: [P] what is read where.
        pair_owner, pair_weight: [P] 1 / (|T| · templates), so that a sum is the mean NLL.
    """

    inputs: dict[str, Tensor]
    subject: Tensor
    owner: Tensor
    first: Tensor
    kl: Tensor
    pair_row: Tensor
    pair_place: Tensor
    pair_token: Tensor
    pair_owner: Tensor
    pair_weight: Tensor


def entry_for(tokenizer: Any, request: RewriteRequest, templates: Templates) -> Entry:
    """The rows of a request; the target's last token is only predicted, so it stays out of them."""
    target = target_ids(tokenizer, request)
    flat = [template for group in templates for template in group]
    contexts = [prompt_row(tokenizer, request, template) for template in flat]
    rows = [Row((*row.ids, *target[:-1]), row.subject_last) for row in contexts]
    return Entry(request, (*rows, prompt_row(tokenizer, request, BARE, prompt=KL_PROMPT)), target)


def groups_within(entries: Sequence[Entry], budget: int) -> list[list[Entry]]:
    """Entries in order, as many to a group as the budget of tokens allows, at least one."""
    groups: list[list[Entry]] = []
    used = 0
    for entry in entries:
        if not groups or used + entry.n_tokens > budget:
            groups.append([])
            used = 0
        groups[-1].append(entry)
        used += entry.n_tokens
    return groups


def token_budget_of(adapter: Adapter) -> int:
    """Tokens whose activations for the backward pass take 2 GB, or half of a GPU's free memory."""
    device = next(adapter.model.parameters()).device
    free = torch.cuda.mem_get_info(device)[0] / 2 if device.type == "cuda" else 2e9
    width = adapter.model.get_parameter(adapter.mlp_out(0).weight).shape
    # About 9 vectors of the MLP's inner width a layer and token, 4 bytes a number.
    return max(1, int(free / (9 * 4 * max(width) * adapter.n_layers)))


def value_batch(entries: Sequence[Entry], tokenizer: Any, device: torch.device) -> ValueBatch:
    """The rows of all entries, padded together, with the places that the loss reads."""
    rows = [row for entry in entries for row in entry.rows]
    owner, first, kl = [], [], []
    pairs: list[tuple[int, int, int, int, float]] = []
    for i, entry in enumerate(entries):
        start, contexts, width = len(owner), len(entry.rows) - 1, len(entry.target)
        first.append(start)
        kl.append(start + contexts)
        owner += [i] * len(entry.rows)
        for j, row in enumerate(entry.rows[:-1]):
            # The row ends with all target tokens but the last; each predicts the next.
            begin = len(row.ids) - width
            for k, token in enumerate(entry.target):
                pairs.append((start + j, begin + k, token, i, 1 / (width * contexts)))
    encoded = batch_of(rows, tokenizer, device)
    columns = list(zip(*pairs, strict=True))

    def whole(values: Sequence[Any]) -> Tensor:
        return torch.tensor(values, device=device)

    return ValueBatch(
        encoded.inputs(),
        encoded.subject_last,
        whole(owner),
        whole(first),
        whole(kl),
        *(whole(column) for column in columns),
    )
