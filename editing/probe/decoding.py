"""Forward passes of the probes: evaluate a batch of prompts once, then continue each row.

Keys and values are computed once per distinct prompt and copied to the rows that continue it
(samples of a prompt, aliases of an object). Prompts are padded on the left, so that all rows
continue at the same position; position ids are passed explicitly, because GPT-2 would otherwise
count the padding.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..padding import pad


class Continuation:
    """A batch of rows that grow to the right.

    Works without a cache too (for a model without one, complete rows are evaluated again).

    Attributes:
        logits: [rows, vocabulary] in the model's dtype: predictions after each row's last token.
        device: of the model.
    """

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]], pad_id: int) -> None:
        self._model = model
        self._accepts = frozenset(inspect.signature(model.forward).parameters)
        self.device = next(model.parameters()).device
        batch = pad(prompts, pad_id, "left", self.device)
        self._ids, self._mask = batch.input_ids, batch.attention_mask
        self._cache: Any = None
        self.logits = self._forward(self._ids, 1)[:, -1]

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
            self._cache.batch_select_indices(rows)

    def feed(self, ids: Tensor, real: Tensor) -> Tensor:
        """Append tokens to every row.

        Args:
            ids: [rows, n] token ids, padded on the right.
            real: [rows, n], 1 on real tokens.

        Returns:
            [rows, n, vocabulary]: predictions after each appended token, meaningless on padding.
            Rows that end in padding must not be continued.
        """
        self._ids = torch.cat([self._ids, ids], 1)
        self._mask = torch.cat([self._mask, real.to(self._mask.dtype)], 1)
        fresh = ids if self._cache is not None else self._ids
        logits = self._forward(fresh, ids.shape[1])
        self.logits = logits[:, -1]
        return logits

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


def position_limit(model: Any) -> int | None:
    """Maximum number of tokens of a row; None if the architecture has no limit."""
    limit = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return limit if limit and limit > 0 else None  # XLNet has -1 for none
