"""Keys and hidden states at the subject's last token, the inputs of the closed-form updates.

k is the input of a layer's MLP output projection (Meng et al., ROME eq. 3). One forward pass serves
all requests and stops after the last module that is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ...loaders.records import RewriteRequest
from .. import nethook
from ..architectures import Adapter
from .tokens import BARE, Row, batch_of, prompt_row

Templates = tuple[tuple[str, ...], ...]
"""Context templates in groups. A request's key is the mean over groups of the groups' means.
MEMIT: (("{}",), the sampled ones); ROME: one group."""

BATCH_ROWS = 256
"""Maximum number of rows per forward pass."""


def d_model(adapter: Adapter) -> int:
    """Width of the residual stream: the output dimension of an MLP output projection."""
    module, _, weight = adapter.mlp_out(0)
    shape = adapter.model.get_parameter(weight).shape
    return shape[1] if adapter.orientation(module) == "in_out" else shape[0]


def projection_at_subject(
    adapter: Adapter, tokenizer: Any, rows: Sequence[Row], layer: int
) -> tuple[Tensor, Tensor]:
    """Input [n, d_in] and output [n, d_out] of a layer's MLP output projection, one per row."""
    module = adapter.mlp_out(layer).module
    return _between_at_subject(adapter, tokenizer, rows, module, module)


def keys_and_output(
    adapter: Adapter,
    tokenizer: Any,
    requests: Sequence[RewriteRequest],
    templates: Templates,
    layer: int,
    last: int,
) -> tuple[Tensor, Tensor]:
    """`mean_keys` of a layer and `layer_output_at_subject` of the last edited layer.

    If the bare prompt is the first template, as in every published configuration, its row gives
    both in one forward pass; the other rows stop at `layer`, as in `mean_keys`.

    Returns:
        Keys [n, d_in] and outputs [n, d_model] at the bare prompts' subjects.
    """
    bare = bare_rows(tokenizer, requests)
    sizes = [len(group) for group in templates]
    flat = [template for group in templates for template in group]
    if flat[0] != BARE:
        keys = mean_keys(adapter, tokenizer, requests, templates, layer)
        return keys, layer_output_at_subject(adapter, tokenizer, bare, last)
    key_module, out_module = adapter.mlp_out(layer).module, adapter.layer_module(last)
    first, outputs = _between_at_subject(adapter, tokenizer, bare, key_module, out_module)
    rows = [prompt_row(tokenizer, request, t) for request in requests for t in flat[1:]]
    keys = first[:, None]
    if rows:
        others, _ = projection_at_subject(adapter, tokenizer, rows, layer)
        keys = torch.cat([keys, others.view(len(requests), len(flat) - 1, -1)], dim=1)
    return _mean_of_groups(keys, sizes), outputs


def _between_at_subject(
    adapter: Adapter, tokenizer: Any, rows: Sequence[Row], first: nn.Module, last: nn.Module
) -> tuple[Tensor, Tensor]:
    """Input of one module and output of a later one (or the same), one per row."""
    ins, outs = [], []
    for batch in _chunks(adapter, tokenizer, rows):
        with (
            torch.no_grad(),
            nethook.recording(inputs={"in": first}, outputs={"out": last}, stop_after=last) as seen,
        ):
            nethook.forward(adapter.model, batch.inputs())
        here = torch.arange(len(batch.subject_last), device=batch.subject_last.device)
        ins.append(nethook.at(seen.inputs["in"], here, batch.subject_last))
        outs.append(nethook.at(seen.outputs["out"], here, batch.subject_last))
    return torch.cat(ins), torch.cat(outs)


def layer_output_at_subject(
    adapter: Adapter, tokenizer: Any, rows: Sequence[Row], layer: int
) -> Tensor:
    """The residual stream after a layer, [n, d_model], one per row."""
    module = adapter.layer_module(layer)
    return _between_at_subject(adapter, tokenizer, rows, module, module)[1]


def mean_keys(
    adapter: Adapter,
    tokenizer: Any,
    requests: Sequence[RewriteRequest],
    templates: Templates,
    layer: int,
) -> Tensor:
    """The key of each request, [n, d_in]: mean over groups of the means over their templates."""
    flat = [template for group in templates for template in group]
    rows = [prompt_row(tokenizer, request, t) for request in requests for t in flat]
    keys, _ = projection_at_subject(adapter, tokenizer, rows, layer)
    return _mean_of_groups(
        keys.view(len(requests), len(flat), -1), [len(group) for group in templates]
    )


def _mean_of_groups(keys: Tensor, sizes: Sequence[int]) -> Tensor:
    """[n, d_in] of keys [n, templates, d_in]: the mean over groups of their means."""
    return torch.stack([group.mean(1) for group in keys.split(list(sizes), dim=1)]).mean(0)


def bare_rows(tokenizer: Any, requests: Sequence[RewriteRequest]) -> list[Row]:
    """Rows of the prompts without a context template."""
    return [prompt_row(tokenizer, request, BARE) for request in requests]


def _chunks(adapter: Adapter, tokenizer: Any, rows: Sequence[Row]) -> Any:
    device = next(adapter.model.parameters()).device
    for start in range(0, len(rows), BATCH_ROWS):
        yield batch_of(rows[start : start + BATCH_ROWS], tokenizer, device)
