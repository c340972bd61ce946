"""A random update of another method's size: the effect of changing weights without a direction.

The reference method is executed to determine which parameters it changes and by how much. Each of
them then gets a Gaussian update of the same Frobenius norm. A score of this control is caused by
the size of an update, not by its direction; at the norms of a typical edit it should be inert: IFR
and Preservation near 1, efficacy near 0.

The random numbers of a parameter depend on the seed, the parameter's name and the requests' ids (in
any order), so two parameters, or two edits of a sequence, never get the same update.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ...loaders.records import RewriteRequest
from .. import registry
from ..deltas import EditEffect
from ..errors import EditFailedError
from ..hparams.of.random_delta import HyperParams
from ..hparams.schema import require
from ..linear_algebra import in_float64, linear_algebra_device
from ..objectives import Objective

NAME = "random_delta"
PAPER = "control"
KIND = "control"
TAKES_OBJECTIVE = True


def reference(hparams: HyperParams) -> tuple[Any, Any]:
    """The reference method and its hyperparameters; sweeps share targets by them."""
    method = registry.get(hparams.method)
    return method, method.HyperParams.from_dict(hparams.hparams)


def covariance_layers(hparams: HyperParams) -> tuple[int, ...]:
    """Layers of the reference method."""
    return registry.covariance_layers(*reference(hparams))


def execute(
    model: nn.Module,
    tokenizer: Any,
    requests: Sequence[RewriteRequest],
    hparams: HyperParams,
    covariance: Mapping[str, Tensor] | None,
    *,
    context_templates: Any = None,
    targets: Mapping[str, Tensor] | None = None,
    state: Any = None,
    seed: int = 0,
    objective: Objective | None = None,
) -> EditEffect:
    """Execute the reference method; return random updates of the same norms.

    All arguments (contract: `editing.methods`) are passed to the reference method; with `targets`,
    it needs no optimisation. Its targets, templates, state and step counts are returned.

    Raises:
        HparamsError: an objective is passed, and the reference method takes none.
        EditFailedError: the reference method returned no update; and as the reference method.
    """
    method, values = reference(hparams)
    taken: dict[str, Any] = {}
    if objective is not None:
        require(
            getattr(method, "TAKES_OBJECTIVE", False),
            f"the reference method '{hparams.method}' takes no objective",
        )
        taken["objective"] = objective
    found = method.execute(
        model,
        tokenizer,
        requests,
        values,
        covariance,
        context_templates=context_templates,
        targets=targets,
        state=state,
        seed=seed,
        **taken,
    )
    if not found.deltas:
        raise EditFailedError(
            f"'{hparams.method}' gave no update, so there is no norm to take",
            remedy="Name a method that changes weights as 'method'.",
        )
    ids = sorted(request.id for request in requests)
    deltas: dict[str, Tensor] = {}
    factors: dict[str, tuple[Tensor, Tensor]] = {}
    for name, delta in found.deltas.items():
        generator = _generator(seed, name, ids)
        norm = hparams.scale * float(in_float64(delta).norm())
        rank = _rank(delta, found.factors.get(name)) if hparams.rank == "reference" else None
        if rank is None:
            drawn = torch.randn(delta.shape, generator=generator)
            deltas[name] = _with_norm(drawn.to(delta.device), norm)
            continue
        left = torch.randn(delta.shape[0], rank, generator=generator, dtype=torch.float64)
        right = torch.randn(rank, delta.shape[1], generator=generator, dtype=torch.float64)
        place = linear_algebra_device(delta.device)
        left, right = left.to(place), right.to(place)
        left = left * (norm / max(float((left @ right).norm()), 1e-300))
        factors[name] = (left, right)
        deltas[name] = (left @ right).float()
    return EditEffect(
        deltas, found.targets, found.state, found.n_steps, found.templates, factors=factors
    )


def _generator(seed: int, name: str, ids: Sequence[str]) -> torch.Generator:
    """A separate random stream for each seed, parameter and set of requests."""
    text = "|".join((str(seed), name, *ids)).encode()
    # torch takes signed 64-bit seeds.
    number = int.from_bytes(hashlib.sha256(text).digest()[:8]) >> 1
    return torch.Generator().manual_seed(number)


def _with_norm(drawn: Tensor, norm: float) -> Tensor:
    """Random numbers scaled to a Frobenius norm, float32."""
    return drawn * (norm / float(in_float64(drawn).norm()))


def _rank(delta: Tensor, factors: tuple[Tensor, Tensor] | None) -> int | None:
    """Rank of an update; None if it is not a matrix."""
    if delta.ndim != 2:
        return None
    if factors is not None:
        return factors[0].shape[1]
    # In float32, to which updates are rounded: rounding errors must not add to the rank.
    return int(torch.linalg.matrix_rank(delta.to(linear_algebra_device(delta.device)).float()))
