"""Cosine similarity of two facts' gradients ∇θ log P(answer | question) (DepEdit, section 6.1).

If the gradients of a premise and of its conclusion point in the same direction, learning one helps
the other.

For a linear map y = W x a fact's gradient is Σ_t δ_t ⊗ x_t over its tokens, so the inner product of
two facts' gradients is Σ_{t,s} (x_t · x_s)(δ_t · δ_s): one forward and one backward pass over a
batch serve all its facts, and no gradient matrix is computed. `linear` does this over all linear
maps of the model except the output head. `all` covers every parameter, output head and embeddings
included; it stores one gradient per fact and computes them one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import psutil
import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from ...loaders.records import RewriteRequest
from .. import nethook
from ..deltas import preserved
from ..errors import DeviceMemoryError, EditingError
from ..key_value.tokens import prompt_row, target_ids
from .data import TargetBatch, TargetRow, target_batch
from .gradients import inputs_and_deltas

Parameters = Literal["linear", "all"]
PARAMETERS: tuple[Parameters, ...] = get_args(Parameters)

BATCH_ROWS = 32
_MAX_BYTES = 2e9
"""Bytes of inputs and gradients stored at once; more modules need more passes."""
_MEMORY_SHARE = 0.5


def rows_of(tokenizer: Any, requests: Sequence[RewriteRequest]) -> list[TargetRow]:
    """Each request's prompt with target_new as tokens.

    Raises:
        RequestError: a prompt or target cannot be tokenised; names the request.
    """
    return [TargetRow(prompt_row(tokenizer, r).ids, target_ids(tokenizer, r)) for r in requests]


def cosines(
    model: nn.Module,
    tokenizer: Any,
    rows: Sequence[TargetRow],
    pairs: Sequence[tuple[int, int]],
    *,
    parameters: Parameters = "linear",
    done: Callable[[int, int], None] | None = None,
) -> list[float | None]:
    """Cosine of the gradients of each pair of rows; None if one of them is zero.

    The model is unchanged on return.

    Args:
        rows: of `rows_of`.
        pairs: indices into `rows`.
        parameters: parameters of the gradient, see above.
        done: called with the numbers of completed and of all passes.

    Raises:
        EditingError: `parameters` is not one of `PARAMETERS`, or a loss is not finite.
        DeviceMemoryError: the gradients over `all` parameters do not fit.
    """
    if parameters not in PARAMETERS:
        raise EditingError(
            f"the gradient parameters '{parameters}' are unknown",
            remedy=f"Use one of {', '.join(PARAMETERS)}.",
        )
    inner = {"linear": linear_products, "all": whole_products}[parameters]
    products = inner(model, tokenizer, rows, done=done).cpu().double()
    norms = products.diagonal().clamp(min=0).sqrt().tolist()
    return [
        float(products[a, b]) / (norms[a] * norms[b]) if norms[a] * norms[b] > 0 else None
        for a, b in pairs
    ]


def linear_products(
    model: nn.Module,
    tokenizer: Any,
    rows: Sequence[TargetRow],
    *,
    done: Callable[[int, int], None] | None = None,
) -> Tensor:
    """[n, n], float64: inner products of the rows' gradients over the linear maps' parameters."""
    modules = linear_maps(model)
    length = max((len(row.prompt) + len(row.target) for row in rows), default=0)
    groups = _groups(modules, len(rows) * length * next(model.parameters()).element_size())
    batches = [range(i, min(i + BATCH_ROWS, len(rows))) for i in range(0, len(rows), BATCH_ROWS)]
    total = torch.zeros(len(rows), len(rows), dtype=torch.float64)
    passes = 0
    with preserved(model):
        for group in groups:
            found: dict[str, list[tuple[Tensor, Tensor, Tensor]]] = {name: [] for name in group}
            for some in batches:
                batch = target_batch([rows[i] for i in some], tokenizer, _device(model))
                for name, (x, delta, row) in _pairs(model, group, batch).items():
                    found[name].append((x, delta, row + some.start))
                passes += 1
                if done is not None:
                    done(passes, len(groups) * len(batches))
            for name, parts in found.items():
                total += _products(parts, len(rows), has_bias=group[name].bias is not None)
    return total


def whole_products(
    model: nn.Module,
    tokenizer: Any,
    rows: Sequence[TargetRow],
    *,
    done: Callable[[int, int], None] | None = None,
) -> Tensor:
    """[n, n]: inner products of the rows' gradients over all parameters, one pass per row."""
    parameters = list({id(p): p for p in model.parameters()}.values())
    size = sum(p.numel() for p in parameters) * parameters[0].element_size() * len(rows)
    if size > _MEMORY_SHARE * psutil.virtual_memory().available:
        raise DeviceMemoryError(
            f"{len(rows)} gradients over all parameters need {size / 1e9:.0f} GB",
            remedy="Take the gradient over the linear maps (--parameters linear).",
        )
    gradients = []
    with preserved(model), torch.enable_grad():
        for parameter in parameters:
            parameter.requires_grad_(True)
        for i, row in enumerate(rows):
            loss = _losses(model, target_batch([row], tokenizer, _device(model))).sum()
            flat = torch.autograd.grad(loss, parameters)
            gradients.append(torch.cat([g.reshape(-1) for g in flat]).cpu())
            if done is not None:
                done(i + 1, len(rows))
    if not gradients:
        return torch.zeros(0, 0)
    stacked = torch.stack(gradients)
    return stacked @ stacked.T


def linear_maps(model: Any) -> dict[str, Any]:
    """{name: module} of the model's linear maps, without the output head."""
    head = model.get_output_embeddings()
    return {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, (nn.Linear, Conv1D)) and module is not head
    }


def _groups(modules: dict[str, Any], bytes_each: int) -> list[dict[str, Any]]:
    """Split the modules into groups whose inputs and gradients fit together."""
    groups: list[dict[str, Any]] = [{}]
    used = 0.0
    for name, module in modules.items():
        cost = float(sum(module.weight.shape) * bytes_each)
        if groups[-1] and used + cost > _MAX_BYTES:
            groups.append({})
            used = 0.0
        groups[-1][name] = module
        used += cost
    return groups


def _pairs(
    model: nn.Module, modules: dict[str, Any], batch: TargetBatch
) -> dict[str, tuple[Tensor, Tensor, Tensor]]:
    """{name: (x [tokens, d_in], δ [tokens, d_out], row [tokens])} under each row's loss."""
    pairs, _ = inputs_and_deltas(modules, lambda: _losses(model, batch))
    found = {}
    for name, (x, delta) in pairs.items():
        row, place = (delta != 0).any(-1).nonzero(as_tuple=True)
        found[name] = (x[row, place], delta[row, place], row)
    return found


def _losses(model: nn.Module, batch: TargetBatch) -> Tensor:
    """−log P of each row's complete target, [n], in float32 or the model's type if wider."""
    logits = nethook.forward(model, batch.inputs).logits[batch.row, batch.place]
    log_p = logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(-1)
    picked = log_p.gather(1, batch.token[:, None]).squeeze(1)
    losses = torch.zeros(batch.n, dtype=picked.dtype, device=picked.device)
    losses = losses.index_add(0, batch.row, -picked)
    if not torch.isfinite(losses).all():
        raise EditingError(
            "the model gives NaN or infinite probabilities", remedy="Load it in float32."
        )
    return losses


def _products(parts: Sequence[tuple[Tensor, Tensor, Tensor]], n: int, *, has_bias: bool) -> Tensor:
    """Σ_{t,s} (x_t · x_s)(δ_t · δ_s) for each pair of rows, [n, n], float64, biases included."""
    x, delta, row = (torch.cat(column) for column in zip(*parts, strict=True))
    fine = torch.promote_types(x.dtype, torch.float32)
    x, delta = x.to(fine), delta.to(fine)
    weight = x @ x.T + 1 if has_bias else x @ x.T  # a bias is a weight whose input is 1
    by_token = (weight * (delta @ delta.T)).cpu().double()
    row = row.cpu()
    by_row = torch.zeros(n, len(row), dtype=torch.float64).index_add(0, row, by_token)
    return torch.zeros(n, n, dtype=torch.float64).index_add(1, row, by_row)


def _device(model: nn.Module) -> torch.device:
    return next(model.parameters()).device
