"""Knowledge neurons: attribution of a prediction to MLP neurons, and updates of their memory slots.

Attribution: for a neuron with the activation w̄ at the last token, integrated gradients of the
probability of a token along the straight path from 0 to w̄ (Dai et al. 2022, §3.1, eq. 5):

    Attr(w) = w̄ · (1/m) Σ_k ∂P(α_k w̄) / ∂w          m steps

As in the authors' code all neurons of a layer are scaled together, one layer at a time: taken
literally, one neuron at a time, the equation would need a forward pass per neuron.

Memory slot: a neuron's row of the MLP's output projection as [d_mlp, d_model] (Dai et al. 2022,
§2: FFN values): a row of a Conv1D's weight, a column of a Linear's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import torch
from torch import Tensor, nn

from .. import interruption, nethook
from ..architectures import Adapter

Site = Literal["activation", "pre_activation"]
"""`activation`: input of the MLP's output projection, the factor of each memory slot (in a gated
MLP: gate times up). `pre_activation`: output of the first projection (`c_fc`, `gate_proj`; of a
`gate_up_proj` the first half, the gate), before the nonlinearity."""

Neuron = tuple[int, int]
"""Layer, and index within the layer."""


def paper_path(steps: int) -> list[float]:
    """α = 1/m, 2/m … 1 (Dai et al. 2022, eq. 5)."""
    return [(k + 1) / steps for k in range(steps)]


def closed_path(steps: int) -> list[float]:
    """`steps` points from 0 to 1, both included; a single one is 0 (the published code)."""
    return [k / (steps - 1) for k in range(steps)] if steps > 1 else [0.0]


def attribution(
    adapter: Adapter,
    ids: Sequence[int],
    token: int,
    *,
    site: Site,
    path: Sequence[float],
    batch_size: int,
) -> Tensor:
    """Attribution scores of all neurons for P(token | ids), [n_layers, d_mlp] in float32.

    The model must be frozen and gradients enabled (`editing.key_value.sites.editable`).

    Args:
        ids: a prompt's token ids; activations are read and replaced at the last position.
        path: the factors α.
        batch_size: maximum number of rows per forward pass.
    """
    modules = [_module(adapter, layer, site) for layer in range(adapter.n_layers)]
    scores, first = [], next(adapter.model.parameters()).device
    for module, own in zip(modules, _activations(adapter, ids, modules, site), strict=True):
        total = torch.zeros_like(own, dtype=torch.float32)
        for start in range(0, len(path), batch_size):
            interruption.check()
            factors = torch.tensor(path[start : start + batch_size], device=own.device)
            scaled = (factors[:, None] * own.float()).to(own.dtype).requires_grad_(True)
            with _replacing(module, site, scaled):
                probability = _probability(adapter, ids, token, len(factors))
            (gradient,) = torch.autograd.grad(probability.sum(), scaled)
            total += gradient.float().sum(0)
        scores.append((own.float() * total / len(path)).to(first))
    return torch.stack(scores)


@torch.no_grad()
def greedy(adapter: Adapter, prompt: Sequence[int], length: int) -> list[int]:
    """Greedy continuation of a prompt by `length` tokens."""
    ids = list(prompt)
    for _ in range(length):
        logits = nethook.forward(adapter.model, _inputs(adapter, ids, 1)).logits
        ids.append(int(logits[0, -1].argmax()))
    return ids[len(prompt) :]


def _module(adapter: Adapter, layer: int, site: Site) -> nn.Module:
    found = adapter.mlp_out(layer) if site == "activation" else adapter.mlp_in(layer)
    return found.module


def _activations(
    adapter: Adapter, ids: Sequence[int], modules: Sequence[nn.Module], site: Site
) -> list[Tensor]:
    """Activations of every layer's site at the last token, [d_mlp] each."""
    named = {str(layer): module for layer, module in enumerate(modules)}
    after, head = site == "pre_activation", adapter.lm_head
    ins, outs = (None, named) if after else (named, None)
    with torch.no_grad(), nethook.recording(inputs=ins, outputs=outs, stop_before=head) as seen:
        nethook.forward(adapter.model, _inputs(adapter, ids, 1))
    found = seen.outputs if after else seen.inputs
    size = adapter.key_size(0)
    return [found[name][0, -1, :size].detach() for name in named]


def _probability(adapter: Adapter, ids: Sequence[int], token: int, rows: int) -> Tensor:
    """P(token | ids) of identical rows, [rows]; the head is applied at the last token only."""
    head = adapter.lm_head
    with nethook.recording(inputs={"end": head}, stop_before=head) as seen:
        nethook.forward(adapter.model, _inputs(adapter, ids, rows))
    logits = adapter.logits(seen.inputs["end"][:, -1])
    return logits.float().softmax(-1)[:, token]


def _inputs(adapter: Adapter, ids: Sequence[int], rows: int) -> dict[str, Tensor]:
    device = next(adapter.model.parameters()).device
    batch = torch.tensor([list(ids)] * rows, device=device)
    return {"input_ids": batch, "attention_mask": torch.ones_like(batch)}


@contextmanager
def _replacing(module: nn.Module, site: Site, rows: Tensor) -> Iterator[None]:
    """Replace the activations at the last token of each row by `rows` [n, d_mlp].

    The output of a fused projection beside its gate remains.
    """

    def put(value: Tensor) -> Tensor:
        last = torch.cat([rows.to(value.dtype), value[:, -1, rows.shape[1] :]], 1)
        return torch.cat([value[:, :-1], last[:, None]], 1)

    if site == "pre_activation":
        with nethook.changing(module, put):
            yield
        return
    handle = module.register_forward_pre_hook(_on_input(put))
    try:
        yield
    finally:
        handle.remove()


def _on_input(put: Callable[[Tensor], Tensor]) -> Callable[[nn.Module, Any], Any]:
    def hook(_: nn.Module, arguments: Any) -> Any:
        return (put(arguments[0]), *arguments[1:])

    return hook


def shifted_slots(
    adapter: Adapter, neurons: Mapping[str, Sequence[Neuron]], shifts: Mapping[str, Tensor]
) -> tuple[dict[str, Tensor], dict[str, tuple[Tensor, Tensor]]]:
    """The updates that add each request's shift to the slots of its neurons.

    Args:
        neurons: {request id: neurons}; shifts of a neuron of several requests are added.
        shifts: {request id: [d_model], float64}.

    Returns:
        {weight name: update, float32} of the layers with neurons, in the weight's own orientation;
        and the factors of each, with one rank per request.
    """
    deltas, factors = {}, {}
    for layer in range(adapter.n_layers):
        here = {
            request: [neuron for at, neuron in found if at == layer]
            for request, found in neurons.items()
        }
        owners = [request for request, found in here.items() if found]
        if not owners:
            continue
        module, _, name = adapter.mlp_out(layer)
        turned = adapter.orientation(module) == "in_out"
        size = adapter.key_size(layer)
        vectors = torch.stack([shifts[request] for request in owners])
        slots = vectors.new_zeros(len(owners), size)
        for row, request in enumerate(owners):
            slots[row, here[request]] = 1
        left, right = (slots.T, vectors) if turned else (vectors.T, slots)
        factors[name] = (left.contiguous(), right.contiguous())
        deltas[name] = (left @ right).float()
    return deltas, factors
