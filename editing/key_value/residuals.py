"""From a residual of the stream to one of the MLP's output, and how much of it an edit leaves.

MEMIT adds a residual R to the output of an MLP's projection, as if that were added to the residual
stream as it is. Some architectures multiply it by a constant first (Granite), others normalise it:
with m the projection's output, c the constant and N(m) = g ⊙ m / rms(m) (OLMo 2, Gemma 2 and 3),
the stream receives c · N(m). The residual is pulled back through both, so that the update aims at
the right stream:

    without a norm   R / c
    with a norm      m' − m,  m' = the output of m's length whose N(m') is nearest to N(m) + R / c

N(m') lies on the ellipsoid {g ⊙ x : ‖x‖ = ρ}: a norm bounds an MLP's addition. Its point nearest
to t solves min ‖g ⊙ x − t‖ at ‖x‖ = ρ, so x = g ⊙ t / (g² + μ) with the μ > −min g² at which
‖x‖ = ρ (least squares over a sphere; Golub & Van Loan, 4th ed., §6.2.1). A part of z that the norms
do not let through remains; `fractions_left` measures it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ...loaders.records import RewriteRequest
from ..architectures import Adapter
from ..deltas import EditEffect, applied
from ..linear_algebra import in_float64
from .keys import (
    bare_rows,
    layer_output_at_subject,
    projection_at_subject,
)

HALVINGS = 200
"""Steps of the bisection for μ; float64 is exhausted after about 100."""


def pulled_back(
    adapter: Adapter,
    tokenizer: Any,
    requests: Sequence[RewriteRequest],
    layer: int,
    residual: Tensor,
) -> Tensor:
    """Residual of a layer's MLP projection for residuals of the stream, [n, d_model], float64.

    Where the projection's output is added as it is, the residual itself.
    """
    factor, norm = adapter.residual_factor, adapter.post_norm(layer)
    if norm is None:
        return residual if factor == 1 else residual / factor
    _, outputs = projection_at_subject(adapter, tokenizer, bare_rows(tokenizer, requests), layer)
    with torch.no_grad():
        added = in_float64(norm(outputs.float()))
        gains = in_float64(norm(torch.ones_like(outputs[0], dtype=torch.float32)))
    m = in_float64(outputs)
    length = m.norm(dim=1, keepdim=True)
    # N(m) = (ρ / ‖m‖) g ⊙ m, with the norm's ε in ρ.
    radius = length * added.norm(dim=1, keepdim=True) / (gains * m).norm(dim=1, keepdim=True)
    return nearest(added + residual / factor, gains, radius) * (length / radius) - m


def nearest(points: Tensor, gains: Tensor, radius: Tensor) -> Tensor:
    """The x of length `radius` [n, 1] with g ⊙ x nearest to each point [n, d], float64."""
    pulled, squares = gains * points, gains.square()
    # ‖x(μ)‖ falls from infinity at −min g² to at most the radius at this upper bound.
    low = -squares.min().expand(len(points), 1)
    high = low + pulled.norm(dim=1, keepdim=True) / radius
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        short = (pulled / (squares + middle)).norm(dim=1, keepdim=True) <= radius
        low, high = torch.where(short, low, middle), torch.where(short, middle, high)
    found = pulled / (squares + high)
    return found * (radius / found.norm(dim=1, keepdim=True))


def fractions_left(
    adapter: Adapter,
    tokenizer: Any,
    requests: Sequence[RewriteRequest],
    layer: int,
    vectors: Mapping[str, Tensor],
    deltas: Mapping[str, Tensor],
) -> dict[str, float | None]:
    """{request id: ‖z − h'‖ / ‖z − h‖}, h and h' the layer's output without and with the updates.

    0: the edit reaches z; 1: it comes no nearer. None where z is h.
    """
    rows = bare_rows(tokenizer, requests)
    wanted = torch.stack([vectors[request.id] for request in requests])
    before = layer_output_at_subject(adapter, tokenizer, rows, layer).float()
    with applied(adapter.model, EditEffect(dict(deltas))):
        after = layer_output_at_subject(adapter, tokenizer, rows, layer).float()
    whole, left = ((wanted - h).norm(dim=1).tolist() for h in (before, after))
    return {
        request.id: left[i] / whole[i] if whole[i] else None for i, request in enumerate(requests)
    }
