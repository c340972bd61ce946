"""Forward passes of the probes: evaluate a batch of prompts once, then continue each row.

Keys and values are computed once per distinct prompt and copied to the rows that continue it
(samples of a prompt, aliases of an object). Prompts are padded on the left, so that all rows
continue at the same position; position ids are passed explicitly, because GPT-2 would otherwise
count the padding.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Collection, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import DynamicLayer

from ..padding import pad

HEAD_TOKENS = 16
"""Least number of tokens at the beginning of all prompts that are read by themselves."""


class Continuation:
    """A batch of rows that grow to the right.

    Works without a cache too (for a model without one, complete rows are evaluated again).

    Attributes:
        logits: [rows, vocabulary] in the model's dtype: predictions after each row's last token.
        device: of the model.
    """

    def __init__(
        self,
        model: Any,
        prompts: Sequence[Sequence[int]],
        pad_id: int,
        head: Continuation | None = None,
    ) -> None:
        """Read the prompts.

        Args:
            head: of `shared_head`: the beginning of all prompts, which is not read again.
        """
        self._model = model
        self._accepts = frozenset(inspect.signature(model.forward).parameters)
        self.device = next(model.parameters()).device
        self._cache: Any = None
        known = 0
        self._ids = self._mask = torch.zeros(len(prompts), 0, dtype=torch.long, device=self.device)
        if head is not None:
            known = head._ids.shape[1]
            self._ids = head._ids.expand(len(prompts), -1)
            self._mask = head._mask.expand(len(prompts), -1)
            self._cache = copy.deepcopy(head._cache)
            self._cache.batch_repeat_interleave(len(prompts))
        batch = pad([prompt[known:] for prompt in prompts], pad_id, "left", self.device)
        self._append(batch.input_ids, batch.attention_mask, 1)

    def select(self, rows: Tensor, *, logits: bool = True) -> None:
        """Select rows, in the given order; a row may be selected several times.

        Args:
            rows: [n], indices into the current rows.
            logits: False where the next step feeds tokens: the logits are then not copied, and
                there are none until it has.
        """
        self._ids, self._mask = self._ids[rows], self._mask[rows]
        self.logits = self.logits[rows] if logits else self.logits[:0].clone()
        if self._cache is not None:
            for layer in self._cache.layers:
                here = getattr(layer, "device", None) or rows.device  # none before its first tokens
                layer.batch_select_indices(rows.to(here))

    def feed(self, ids: Tensor, real: Tensor) -> Tensor:
        """Append tokens to every row.

        Args:
            ids: [rows, n] token ids, padded on the right.
            real: [rows, n], 1 on real tokens.

        Returns:
            [rows, n, vocabulary]: predictions after each appended token, meaningless on padding.
            Rows that end in padding must not be continued.
        """
        return self._append(ids, real, ids.shape[1])

    def _append(self, ids: Tensor, real: Tensor, n_last: int) -> Tensor:
        self._ids = torch.cat([self._ids, ids], 1)
        self._mask = torch.cat([self._mask, real.to(self._mask.dtype)], 1)
        fresh = ids if self._cache is not None else self._ids
        logits = self._forward(fresh, n_last)
        self.logits = logits[:, -1]
        return logits

    @property
    def is_head(self) -> bool:
        """True if rows of different lengths can continue these tokens.

        Padding follows them then, which a sliding window and a model without position ids count.
        """
        layers = getattr(self._cache, "layers", ())
        full = bool(layers) and all(type(layer) is DynamicLayer for layer in layers)
        return full and "position_ids" in self._accepts

    def extend(self, tokens: Sequence[int], rows: Sequence[int]) -> None:
        """Append one token to the selected rows; remove the others, with their cache.

        Args:
            tokens: a token for every current row.
            rows: indices of the rows to continue, ascending, at least one.
        """
        if len(rows) < len(tokens):
            self.select(torch.tensor(rows, device=self.device), logits=False)
        column = torch.tensor([tokens[i] for i in rows], device=self.device)[:, None]
        self.feed(column, torch.ones_like(column))

    def _forward(self, ids: Tensor, n_last: int) -> Tensor:
        """Logits of the last `n_last` positions of `ids`, which are the rows' last tokens."""
        positions = (self._mask.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        options: dict[str, Any] = {
            "attention_mask": self._mask,
            "position_ids": positions,
            "past_key_values": self._cache,
            "use_cache": True,
            "logits_to_keep": n_last,
        }
        # Models accept different arguments: ALiBi models no positions, the oldest no cache.
        accepted = {key: value for key, value in options.items() if key in self._accepts}
        output = self._model(input_ids=ids, **accepted)
        cache = getattr(output, "past_key_values", None)
        self._cache = cache if hasattr(cache, "batch_select_indices") else None
        return output.logits[:, -n_last:]


def shared_head(model: Any, prompts: Collection[list[int]], pad_id: int) -> Continuation | None:
    """Read the tokens that all prompts begin with: a chat template's, or demonstrations in context.

    None where these are few, or the model cannot continue them.
    """
    first, last = min(prompts), max(prompts)
    pairs = enumerate(zip(first, last, strict=False))
    n = next((i for i, (one, other) in pairs if one != other), len(first))
    n = min(n, min(map(len, prompts)) - 1)
    if len(prompts) < 2 or n < HEAD_TOKENS:
        return None
    head = Continuation(model, [first[:n]], pad_id)
    return head if head.is_head else None


def position_limit(model: Any) -> int | None:
    """Maximum number of tokens of a row; None if the architecture has no limit."""
    limit = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return limit if limit and limit > 0 else None  # XLNet has -1 for none
