"""Memory slots: the vectors that single MLP neurons write, shifted as updates of whole weights.

A neuron's slot is its row of the MLP's output projection seen as [d_mlp, d_model] (Dai et al. 2022,
§2: FFN values): a row of a Conv1D's weight, a column of a Linear's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from thinkeval.editing.architectures import Adapter

Neuron = tuple[int, int]
"""Layer and index within it."""


def shifted_slots(
    adapter: Adapter, neurons: Mapping[str, Sequence[Neuron]], shifts: Mapping[str, Tensor]
) -> tuple[dict[str, Tensor], dict[str, tuple[Tensor, Tensor]]]:
    """The updates that add each request's shift to each of its neurons' slots.

    Args:
        neurons: {request id: neurons}; one may be in several requests, which then add up.
        shifts: {request id: [d_model], float64}.

    Returns:
        {weight name: update, float32} of the layers with neurons, in the weight's own orientation;
        and the factors of each, of one rank a request.
    """
    deltas, factors = {}, {}
    for layer in range(adapter.n_layers):
        mine = {
            request: [neuron for at, neuron in found if at == layer]
            for request, found in neurons.items()
        }
        owners = [request for request, found in mine.items() if found]
        if not owners:
            continue
        module, _, name = adapter.mlp_out(layer)
        weight, turned = adapter.model.get_parameter(name), adapter.orientation(module) == "in_out"
        size = weight.shape[0 if turned else 1]
        slots = torch.zeros(len(owners), size, dtype=torch.float64, device=weight.device)
        for row, request in enumerate(owners):
            slots[row, mine[request]] = 1
        vectors = torch.stack([shifts[request] for request in owners])
        left, right = (slots.T, vectors) if turned else (vectors.T, slots)
        factors[name] = (left.contiguous(), right.contiguous())
        deltas[name] = (left @ right).float()
    return deltas, factors
