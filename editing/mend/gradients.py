"""Gradients of linear maps as token pairs (x, δ), and forward passes with one update per row.

For a linear map y = x W the gradient of a loss with respect to W is Σ_tokens x ⊗ δ, where δ is the
loss' gradient with respect to y at that token (Mitchell et al. 2022, §3.1). The gradient matrix
itself is never computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn

from .. import nethook
from ..architectures import Adapter
from .data import TargetBatch, log_probabilities
from .network import Matrix


def inputs_and_deltas(
    modules: Mapping[str, nn.Module], losses: Callable[[], Tensor]
) -> tuple[dict[str, tuple[Tensor, Tensor]], Tensor]:
    """{name: (x [..., d_in], δ [..., d_out])} of each map under the summed losses; the losses.

    Args:
        losses: runs the model and returns one loss per row, [n]. A token's δ depends on its own
            row's loss only, so one backward pass serves all rows.
    """
    probes: dict[str, Tensor] = {}

    def probed(name: str, output: Tensor) -> Tensor:
        # Adding zeros changes no value; their gradient equals the output's.
        probes[name] = torch.zeros_like(output, requires_grad=True)
        return output + probes[name]

    with torch.enable_grad(), ExitStack() as stack:
        for name, module in modules.items():
            stack.enter_context(nethook.changing(module, lambda y, name=name: probed(name, y)))
        seen = stack.enter_context(nethook.recording(inputs=modules))
        values = losses()
        deltas = torch.autograd.grad(values.sum(), [probes[name] for name in modules])
    found = {
        name: (seen.inputs[name].detach().to(values.device), delta.to(values.device))
        for name, delta in zip(modules, deltas, strict=True)
    }
    return found, values.detach()


class Pairs(NamedTuple):
    """Token pairs of one matrix with a non-zero gradient.

    Attributes:
        x: [tokens, d_in], inputs of the map.
        delta: [tokens, d_out], gradients of the loss with respect to the map's outputs.
        row: [tokens], row of the batch that contains the token.
    """

    x: Tensor
    delta: Tensor
    row: Tensor


def token_pairs(
    adapter: Adapter, matrices: Sequence[Matrix], batch: TargetBatch
) -> tuple[dict[str, Pairs], Tensor]:
    """Token pairs of each matrix under each row's mean NLL, and these losses [n].

    Tokens with x or δ all zero are omitted (padding, and tokens after the last target token).
    """
    modules = {m.name: adapter.model.get_submodule(m.module) for m in matrices}
    found, losses = inputs_and_deltas(modules, lambda: batch.nll(log_probabilities(adapter, batch)))
    return {name: _nonzero(x, delta) for name, (x, delta) in found.items()}, losses


def _nonzero(x: Tensor, delta: Tensor) -> Pairs:
    row, place = ((x != 0).any(-1) & (delta != 0).any(-1)).nonzero(as_tuple=True)
    return Pairs(x[row, place], delta[row, place], row)


class RowUpdate(NamedTuple):
    """One update of a matrix per row: row i's is Σ_t left[i, t] ⊗ right[i, t].

    Attributes:
        left: [rows, tokens, d_in].
        right: [rows, tokens, d_out].
    """

    left: Tensor
    right: Tensor


@contextmanager
def row_updates(
    adapter: Adapter, matrices: Sequence[Matrix], updates: Mapping[str, RowUpdate]
) -> Iterator[None]:
    """Compute each row of a batch with its own weights, W + Σ_t left ⊗ right.

    x (W + Σ l ⊗ r) = x W + (x lᵀ) r, so the update is never computed as a matrix, one forward pass
    serves the edits of many rows, and gradients flow into left and right. The model is unchanged.
    """

    def hook(update: RowUpdate):
        def add(module: object, arguments: tuple[Tensor, ...], output: Tensor) -> Tensor:
            x = arguments[0].to(update.left)
            return output + (x @ update.left.mT @ update.right).to(output)

        return add

    with ExitStack() as stack:
        for matrix in matrices:
            module = adapter.model.get_submodule(matrix.module)
            handle = module.register_forward_hook(hook(updates[matrix.name]))
            stack.callback(handle.remove)
        yield


def by_row(factors: tuple[Tensor, Tensor], row: Tensor, owners: Sequence[int]) -> RowUpdate:
    """Group token factors by row: row i gets the tokens of edit owners[i], padded with zeros.

    Args:
        factors: [tokens, d_in] and [tokens, d_out] of all edits.
        row: [tokens], the edit of each token, in ascending order.
        owners: the edit of each row.
    """
    n = max(owners) + 1
    counts = torch.bincount(row, minlength=n)
    starts = counts.cumsum(0) - counts
    slot = torch.arange(len(row), device=row.device) - starts[row]
    longest = int(counts.max()) if len(row) else 0

    def spread(values: Tensor) -> Tensor:
        empty = values.new_zeros(n, longest, values.shape[1])
        return empty.index_put((row, slot), values)[list(owners)]

    left, right = factors
    return RowUpdate(spread(left), spread(right))
