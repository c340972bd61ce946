"""What the gradient of a linear map is made of: its inputs, and the loss' gradient at its outputs.

For y = x W the gradient with respect to W is Σ_tokens x ⊗ δ (Mitchell et al. 2022, §3.1). Neither
needs a gradient of the weight to be written out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack

import torch
from torch import Tensor, nn

from thinkeval.editing import nethook


def inputs_and_deltas(
    modules: Mapping[str, nn.Module], losses: Callable[[], Tensor]
) -> tuple[dict[str, tuple[Tensor, Tensor]], Tensor]:
    """{name: (x [..., d_in], δ [..., d_out])} of each map under the sum of the losses, and these.

    Args:
        losses: runs the model and returns one loss a row, [n]. A token's δ depends on its own row's
            loss only, so one backward pass serves all rows.
    """
    probes: dict[str, Tensor] = {}

    def probed(name: str, output: Tensor) -> Tensor:
        # Adding zeros changes no value; their gradient is that of the output.
        probes[name] = torch.zeros_like(output, requires_grad=True)
        return output + probes[name]

    with torch.enable_grad(), ExitStack() as stack:
        for name, module in modules.items():
            stack.enter_context(nethook.changing(module, lambda y, name=name: probed(name, y)))
        seen = stack.enter_context(nethook.recording(inputs=modules))
        taken = losses()
        deltas = torch.autograd.grad(taken.sum(), [probes[name] for name in modules])
    found = {
        name: (seen.inputs[name].detach(), delta)
        for name, delta in zip(modules, deltas, strict=True)
    }
    return found, taken.detach()
