"""Sequences of tokens that share beginnings, packed into rows so that each beginning is read once.

A causal model's state at a token depends on the tokens before it alone. A row holds the tokens of
several sequences as a tree: each token attends to its own ancestors (a mask of four dimensions)
and its position is its depth. Prompts about one subject, and names that continue one prompt, share
most of their tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

ROW_TOKENS = 128
"""Tokens of a row; attention costs their square, and beginnings are repeated in every row."""


@dataclass(frozen=True)
class TokenTree:
    """Sequences packed into R rows of at most T tokens.

    Attributes:
        ids: [R, T] tokens; 0 where a row is shorter.
        depth: [R, T] number of tokens before, in the token's own sequences.
        seen: [R, T, T], True if the second token is the first one or an ancestor of it.
        places: for each sequence the indices of its tokens in the flattened rows, ascending depth.
    """

    ids: Tensor
    depth: Tensor
    seen: Tensor
    places: tuple[tuple[int, ...], ...]

    def inputs(self, config: Any, dtype: torch.dtype, rows: Tensor, copies: int) -> dict[str, Any]:
        """Arguments of a model's forward pass for some rows, all of them repeated `copies` times.

        Args:
            config: of the model's text part; names the windows of its layers.
            rows: [n], indices of rows.
        """
        depth, seen = self.depth[rows], self.seen[rows]
        apart = depth[:, :, None] - depth[:, None, :]

        def mask(window: int | None) -> Tensor:
            near = seen if window is None else seen & (apart < window)
            out = torch.zeros(near.shape, dtype=dtype, device=near.device)
            out.masked_fill_(~near, torch.finfo(dtype).min)
            return out[:, None].repeat(copies, 1, 1, 1)

        window = getattr(config, "sliding_window", None)
        kinds = set(getattr(config, "layer_types", None) or ())
        masks: Any
        if len(kinds) > 1 and window is not None:
            masks = {"full_attention": mask(None), "sliding_attention": mask(window)}
        else:
            masks = mask(None if kinds == {"full_attention"} else window)
        return {
            "input_ids": self.ids[rows].repeat(copies, 1),
            "position_ids": depth.repeat(copies, 1),
            "attention_mask": masks,
        }


@dataclass
class _Row:
    """A row that is being filled.

    Attributes:
        nodes: column by (column of the parent, or -1; token).
    """

    ids: list[int] = field(default_factory=list)
    above: list[list[int]] = field(default_factory=list)
    nodes: dict[tuple[int, int], int] = field(default_factory=dict)

    def missing(self, sequence: Sequence[int]) -> int:
        """Number of tokens of the sequence that the row does not hold yet."""
        parent = -1
        for i, token in enumerate(sequence):
            found = self.nodes.get((parent, token))
            if found is None:
                return len(sequence) - i
            parent = found
        return 0

    def add(self, sequence: Sequence[int]) -> list[int]:
        """Columns of the sequence's tokens; those that the row lacks are appended."""
        columns: list[int] = []
        for token in sequence:
            key = (columns[-1] if columns else -1, token)
            if key not in self.nodes:
                self.nodes[key] = len(self.ids)
                self.ids.append(token)
                self.above.append([*columns, self.nodes[key]])
            columns.append(self.nodes[key])
        return columns


def pack(
    sequences: Sequence[Sequence[int]], device: torch.device | str, limit: int = ROW_TOKENS
) -> TokenTree:
    """Pack sequences into rows of at most `limit` tokens, or of the longest sequence's.

    Neighbours in alphabetical order share most of their tokens, so they are put into one row.
    """
    rows: list[_Row] = [_Row()]
    found: list[tuple[int, list[int]]] = [(0, [])] * len(sequences)
    for i in sorted(range(len(sequences)), key=lambda i: tuple(sequences[i])):
        sequence = sequences[i]
        if rows[-1].ids and len(rows[-1].ids) + rows[-1].missing(sequence) > limit:
            rows.append(_Row())
        found[i] = (len(rows) - 1, rows[-1].add(sequence))
    width = max(len(row.ids) for row in rows)
    ids, depth = (torch.zeros(len(rows), width, dtype=torch.long) for _ in range(2))
    # A token of the padding sees itself: a softmax over nothing is NaN.
    seen = torch.eye(width, dtype=torch.bool).repeat(len(rows), 1, 1)
    for r, row in enumerate(rows):
        ids[r, : len(row.ids)] = torch.tensor(row.ids)
        depth[r, : len(row.ids)] = torch.tensor([len(above) - 1 for above in row.above])
        pairs = [(column, one) for column, above in enumerate(row.above) for one in above]
        one, other = torch.tensor(pairs).T
        seen[r, one, other] = True
    places = tuple(tuple(r * width + column for column in columns) for r, columns in found)
    return TokenTree(ids.to(device), depth.to(device), seen.to(device), places)


def beginnings(sequences: Iterable[Sequence[int]]) -> int:
    """Number of distinct beginnings: the tokens that are read if each beginning is read once."""
    count, before = 0, ()
    for sequence in sorted(map(tuple, sequences)):
        shared = 0
        for one, other in zip(before, sequence, strict=False):
            if one != other:
                break
            shared += 1
        count, before = count + len(sequence) - shared, sequence
    return count
