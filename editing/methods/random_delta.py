"""A random update of another method's size: what an edit does merely by moving the weights.

The referenced method is carried out to know which parameters it changes and by how much. Each of
them then gets Gaussian numbers scaled to the same Frobenius norm. Whatever a score shows for this
control comes from the size of an update, not from its direction; with the norms of a usual edit it
should be inert: IFR and Preservation near 1, efficacy near 0.

The numbers of a parameter depend on the seed, its name and the requests' ids (in any order), so
that two parameters, and two edits of a sequence, never move the same way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn

from thinkeval.editing import hparams as hparams_files
from thinkeval.editing import registry
from thinkeval.editing.deltas import EditEffect
from thinkeval.editing.errors import EditFailedError
from thinkeval.editing.hparams.schema import Schema, require
from thinkeval.loaders.records import RewriteRequest

NAME = "random_delta"
PAPER = "control"
KIND = "control"


@dataclass(frozen=True, kw_only=True)
class HyperParams(Schema):
    """Whose norm, and how the random numbers are arranged.

    Attributes:
        method: the method whose update's norms are taken; it has to change weights.
        hparams: that method's hyperparameters: its keys, or the name of its file for a model
            (`gpt2-xl`). Held as keys, so that they are part of the record and its digest.
        scale: factor on the norm of every parameter's update.
        rank: `full`, or `reference` for the rank of the referenced update (a parameter with one
            dimension has no rank and gets full ones).
    """

    method: str = "memit"
    hparams: str | dict = field(default_factory=dict)  # type: ignore[type-arg]
    scale: float = 1.0
    rank: Literal["full", "reference"] = "full"

    def check(self) -> None:
        """A method that changes weights, with hyperparameters that fit it."""
        require(self.scale > 0, "'scale' has to be positive")
        kind = registry.info(self.method).kind
        require(
            kind == "weights",
            f"'method' is '{self.method}', of the kind '{kind}'; it has to change weights",
        )
        if isinstance(self.hparams, str):
            values = hparams_files.load(self.method, self.hparams)
        else:
            schema = registry.get(self.method).HyperParams
            values = schema.from_dict(self.hparams, source=f"hparams of '{self.method}'")
        object.__setattr__(self, "hparams", values.as_dict())


def reference(hparams: HyperParams) -> tuple[Any, Any]:
    """The referenced method and its hyperparameters; a sweep shares targets by them."""
    method = registry.get(hparams.method)
    return method, method.HyperParams.from_dict(hparams.hparams)


def covariance_layers(hparams: HyperParams) -> tuple[int, ...]:
    """Those of the referenced method."""
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
) -> EditEffect:
    """Carry out the referenced method, and answer with random updates of the same norms.

    All arguments go to the referenced method: with its `targets`, the optimisation is saved. Its
    targets, templates, state and step counts are returned.

    Raises:
        Whatever the referenced method raises.
        EditFailedError: it gave no update at all, so there is no norm to take.
    """
    method, values = reference(hparams)
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
        norm = hparams.scale * float(delta.double().norm())
        rank = _rank(delta, found.factors.get(name)) if hparams.rank == "reference" else None
        if rank is None:
            drawn = torch.randn(delta.shape, generator=generator)
            deltas[name] = _with_norm(drawn.to(delta.device), norm)
            continue
        left = torch.randn(delta.shape[0], rank, generator=generator, dtype=torch.float64)
        right = torch.randn(rank, delta.shape[1], generator=generator, dtype=torch.float64)
        left, right = left.to(delta.device), right.to(delta.device)
        left = left * (norm / max(float((left @ right).norm()), 1e-300))
        factors[name] = (left, right)
        deltas[name] = (left @ right).float()
    return EditEffect(
        deltas, found.targets, found.state, found.n_steps, found.templates, factors=factors
    )


def _generator(seed: int, name: str, ids: Sequence[str]) -> torch.Generator:
    """A stream of its own for each seed, parameter and set of requests."""
    text = "|".join((str(seed), name, *ids)).encode()
    # Seeds of torch are signed 64-bit numbers.
    number = int.from_bytes(hashlib.sha256(text).digest()[:8]) >> 1
    return torch.Generator().manual_seed(number)


def _with_norm(drawn: Tensor, norm: float) -> Tensor:
    """The numbers scaled to a Frobenius norm, float32."""
    return drawn * (norm / float(drawn.double().norm()))


def _rank(delta: Tensor, factors: tuple[Tensor, Tensor] | None) -> int | None:
    """The rank of an update; None where it is no matrix."""
    if delta.ndim != 2:
        return None
    if factors is not None:
        return factors[0].shape[1]
    # In float32: an update is rounded to it, and the rounding must not count as rank.
    return int(torch.linalg.matrix_rank(delta.float()))
