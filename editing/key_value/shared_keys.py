"""Requests that share a key: which of them a method that writes at the subject cannot tell apart.

ΔW maps a key to a value, and the key of a request is the MLP's inner activation at the subject's
last token (Meng et al., ROME §3.1). Causal attention lets it see only the text before it, so
two facts of one subject whose prompts begin with it have one key, and a solve for two values at one
key returns a mean of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ...loaders.records import RewriteRequest
from ..architectures import adapter_for
from ..deltas import preserved
from ..linear_algebra import in_float64
from .keys import BATCH_ROWS, bare_rows, projection_at_subject
from .sites import check_exist

SIMILAR = 0.95
"""Cosine of two keys above which they count as one."""

Groups = tuple[tuple[int, ...], ...]
"""A partition of requests by index: each index once, ascending, groups by their first index."""


def similar_keys(
    model: nn.Module,
    tokenizer: Any,
    requests: Sequence[RewriteRequest],
    layer: int,
    threshold: float = SIMILAR,
) -> list[tuple[int, ...]]:
    """For each request, the indices of the others whose key has a cosine above the threshold.

    Keys are those of the bare prompts at a layer's MLP output projection, of the model with its
    current weights; one forward pass, in batches. Cosines are computed in float64.

    Raises:
        UnsupportedArchitectureError: no adapter for the model.
        HparamsError: the layer does not exist.
        RequestError: a prompt without `{}`, or a subject that no token covers; names the request.
    """
    adapter = adapter_for(model)
    check_exist(adapter, [layer])
    if not requests:
        return []
    rows = bare_rows(tokenizer, requests)
    with preserved(model):
        keys, _ = projection_at_subject(adapter, tokenizer, rows, layer)
    return _above(in_float64(keys), threshold)


def _above(keys: Tensor, threshold: float) -> list[tuple[int, ...]]:
    """The indices of the other rows of keys [n, d_in] with a cosine above the threshold."""
    # A key of length 0 has no direction: NaN is above no threshold.
    units = keys / keys.norm(dim=1, keepdim=True)
    found: list[tuple[int, ...]] = []
    for start in range(0, len(units), BATCH_ROWS):
        near = units[start : start + BATCH_ROWS] @ units.T > threshold
        here = torch.arange(len(near), device=near.device)
        near[here, start + here] = False
        found += [tuple(row.nonzero().flatten().tolist()) for row in near]
    return found


def groups(neighbours: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Connected components of `similar_keys`, those of a single request included.

    Similarity is not transitive: the first and the last of a group may differ by more.
    """
    found: list[tuple[int, ...]] = []
    seen: set[int] = set()
    for first in range(len(neighbours)):
        if first in seen:
            continue
        members, to_visit = {first}, [first]
        while to_visit:
            new = set(neighbours[to_visit.pop()]) - members
            members |= new
            to_visit += new
        seen |= members
        found.append(tuple(sorted(members)))
    return found
