"""The value optimisation of ROME (v*) and MEMIT (z), for many requests at once.

A vector δ is added at the subject's last token of the frozen model and trained until the model
predicts the new target after the prompt in every context:

    loss = mean over templates of −(1/|T|) Σ log p(T_k)  +  kl_factor · KL(new ‖ initial)
           + v_weight_decay · ‖δ‖ / ‖v0‖²

(Meng et al., ROME eq. 4 and its code; MEMIT eq. 16.) KL is of the next-token distribution at the
subject's last token of "{subject} is a", with δ added there too; the weight decay uses the first
power of ‖δ‖, as published. Each step: forward pass; stop if the loss is below `v_stop_loss` or this
was forward pass number `v_num_grad_steps`; otherwise one Adam update, then δ is scaled down to
`clamp_norm_factor` · ‖v0‖ if it is longer.

An objective (`editing.objectives`) replaces the loss' first line by its own. Rows of its answers
join the same forward pass, with δ at the subject's last token, and the total loss stops.

Each step computes only values that depend on δ (`editing.key_value.value_prefix`).

Requests share forward passes, each with separate δ and Adam moments; a finished request leaves the
batch. The results equal those of single requests: no term of the loss joins two requests.

Joint targets are the exception: requests of one unit (one key) share one δ, which minimises the sum
of their losses, each of its own prompt, contexts and essence. The steps end once each of the losses
is below `v_stop_loss`, and v0 is the mean of theirs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn

from ...loaders.records import RewriteRequest
from .. import interruption, nethook
from ..architectures import Adapter
from ..errors import DeviceMemoryError, EditFailedError
from ..hparams.common import ValueHyperParams
from ..objectives import Objective
from ..probe.batching import Room
from .answer_rows import losses
from .keys import Templates, d_model
from .tokens import batch_of
from .value_batches import (
    Entry,
    Unit,
    ValueBatch,
    entry_for,
    groups_within,
    units_of,
    value_batch,
    value_room,
)
from .value_prefix import Prefix, prefix_of

BETAS, EPSILON = (0.9, 0.999), 1e-8
"""Adam's constants, as published (torch's defaults)."""


@dataclass
class Targets:
    """Optimised vectors.

    Attributes:
        vectors: {request id: v0 + δ, [d_model], float32, on the model's device}; requests with a
            joint target have the same one.
        n_steps: {request id: updates taken}.
    """

    vectors: dict[str, Tensor] = field(default_factory=dict)
    n_steps: dict[str, int] = field(default_factory=dict)


def optimise(
    adapter: Adapter,
    tokenizer: Any,
    requests: Sequence[RewriteRequest],
    hparams: ValueHyperParams,
    templates: Templates,
    *,
    layer: int,
    site: Literal["mlp", "layer"],
    token_budget: int | None = None,
    objective: Objective | None = None,
    joint: Sequence[Sequence[str]] | None = None,
) -> Targets:
    """Find v* (`site="mlp"`: the MLP's output) or z (`site="layer"`: the layer's output).

    The model must be frozen and in evaluation mode (`deltas.preserved`).

    Args:
        requests: already checked (`tokens.check`).
        layer: layer at which δ is added.
        token_budget: maximum number of padded tokens of a joint batch; by default determined by
            the memory of the device and of the weights, and logits count too.
        objective: the loss of requests for which it names answers.
        joint: a partition of the requests by id; those of a part share one vector. None: none do.

    Raises:
        EditFailedError: a loss is not finite, or ends at ten times its start; names the request.
        DeviceMemoryError: a single request does not fit.
    """
    solver = _Solver(adapter, tokenizer, hparams, layer, site, objective)
    entries = [entry_for(tokenizer, request, templates, objective) for request in requests]
    room = value_room(adapter) if token_budget is None else Room(token_budget, 0)
    result = Targets()
    for group in groups_within(units_of(entries, joint), room.tokens, room.logits):
        _solve_halving(solver, group, result)
    order = [request.id for request in requests]
    return Targets({i: result.vectors[i] for i in order}, {i: result.n_steps[i] for i in order})


def _solve_halving(solver: _Solver, units: list[Unit], result: Targets) -> None:
    """Solve a group; if the device runs out of memory, in two halves."""
    try:
        solver.solve(units, result)
        return
    except torch.OutOfMemoryError as error:
        if len(units) == 1:
            raise DeviceMemoryError(
                f"request '{units[0].entries[0].request.id}': no memory to optimise its target"
            ) from error
    # Outside of the handler: the exception references the failed batch's tensors.
    half = len(units) // 2
    _solve_halving(solver, units[:half], result)
    _solve_halving(solver, units[half:], result)


class _Solver:
    """The optimisation loop, and the modules that it reads."""

    def __init__(
        self,
        adapter: Adapter,
        tokenizer: Any,
        hparams: ValueHyperParams,
        layer: int,
        site: Literal["mlp", "layer"],
        objective: Objective | None,
    ) -> None:
        self.adapter, self.tokenizer, self.hparams = adapter, tokenizer, hparams
        self.objective = objective
        self.device = next(adapter.model.parameters()).device
        self.layer, self.width = layer, d_model(adapter)
        # The layer of the MLP must run to produce its output; a layer's own output is constant.
        self.first_layer = layer if site == "mlp" else layer + 1
        self.place: nn.Module = (
            adapter.mlp_out(layer).module if site == "mlp" else adapter.layer_module(layer)
        )
        last = adapter.n_layers - 1
        read = last if site == "mlp" or hparams.v_loss_layer is None else hparams.v_loss_layer
        # Only MEMIT's code reads another layer than the last; ROME's ignores v_loss_layer.
        self.loss_layer = None if max(read, layer) == last else max(read, layer)

    def solve(self, units: list[Unit], result: Targets) -> None:
        """Optimise units together; each is added to the result when it finishes."""
        hparams = self.hparams
        batch = value_batch(units, self.tokenizer, self.device)
        rows = batch_of([row for u in units for row in u.rows], self.tokenizer, self.device)
        prefix = prefix_of(self.adapter, rows, self.first_layer, batch.after)
        start: _Seen | None = None
        delta = value = longest = torch.zeros(len(units), self.width, device=self.device)
        mean, square = torch.zeros_like(delta), torch.zeros_like(delta)
        for step in range(hparams.v_num_grad_steps):
            interruption.check()
            delta.requires_grad_(True)
            now = self._forward(batch, prefix, delta)
            if start is None:
                start = now.detached()
                value = _mean_of(start.value, batch)
                longest = value.norm(dim=1, keepdim=True) * hparams.clamp_norm_factor
            loss = self._loss(units, batch, now, start, delta)
            going = _any_of(self._goes_on(loss.detach(), now), len(units), batch)
            going &= step < hparams.v_num_grad_steps - 1
            # The one read of a step: each lets the device run empty.
            read = torch.cat([torch.isfinite(loss.detach()), going]).tolist()
            more = read[len(loss) :]
            _check_finite(units, read[: len(loss)])
            gradient = torch.zeros_like(delta)
            if any(more):
                kept = loss if all(more) else loss[going[batch.unit]]
                (gradient,) = torch.autograd.grad(kept.sum(), delta)
            delta = delta.detach()
            if not all(more):
                on = going[batch.unit]
                _check_exploded(units, start.nll, now.nll.detach(), ~on)
                vectors = value + delta
                for i, unit in enumerate(units):
                    for entry in () if more[i] else unit.entries:
                        result.vectors[entry.request.id] = vectors[i].clone()
                        result.n_steps[entry.request.id] = step
                if not any(more):
                    return
                units = [unit for unit, on_ in zip(units, more, strict=True) if on_]
                rows_left, answers_left = on[batch.owner], on[batch.answer_owner]
                batch = value_batch(units, self.tokenizer, self.device)
                prefix = prefix.only(rows_left, batch.before, batch.after)
                start = start.only(on, answers_left)
                delta, gradient = delta[going], gradient[going]
                mean, square = mean[going], square[going]
                value, longest = value[going], longest[going]
            _adam(delta, gradient, mean, square, step + 1, self._step_size(longest))
            _clamp(delta, longest)

    def _goes_on(self, loss: Tensor, now: _Seen) -> Tensor:
        """Return True, [n], for each request that has not reached its end."""
        if self.hparams.v_stop_probability is None or self.objective is not None:
            return loss >= self.hparams.v_stop_loss
        return now.nll.detach().neg().exp() < self.hparams.v_stop_probability

    def _step_size(self, longest: Tensor) -> float | Tensor:
        """Adam's step size; its first step has this length in every coordinate."""
        if self.hparams.v_step is None:
            return self.hparams.v_lr or 0.0
        return self.hparams.v_step * longest / self.width**0.5  # [U, 1]

    def _loss(
        self, units: Sequence[Unit], batch: ValueBatch, now: _Seen, start: _Seen, delta: Tensor
    ) -> Tensor:
        """The total loss of each request, [n]."""
        # The papers and their code use KL(new ‖ initial); the reverse changes v* by up to 93 %.
        reverse = self.hparams.kl_direction == "initial_new"
        first, second = (start.kl, now.kl) if reverse else (now.kl, start.kl)
        kl = (first.exp() * (first - second)).sum(1)
        # torch's gradient of the norm at δ = 0 is 0.
        decay = delta.norm(dim=1)[batch.unit] / start.value.norm(dim=1).square()
        return (
            self._fit([entry for unit in units for entry in unit.entries], now, start)
            + self.hparams.kl_factor * kl
            + self.hparams.v_weight_decay * decay
        )

    def _fit(self, entries: Sequence[Entry], now: _Seen, start: _Seen) -> Tensor:
        """−mean log p of each request's target, or its loss by the objective, [n]."""
        requests, sizes = [e.request for e in entries], [len(e.readings) for e in entries]
        return losses(self.objective, requests, sizes, now.nll, now.answers, start.answers)

    def _forward(self, batch: ValueBatch, prefix: Prefix, delta: Tensor) -> _Seen:
        """One forward pass with δ added, limited to values that depend on δ.

        The head is applied only at positions that are read: over all positions, its output would
        dominate the memory of a step.
        """
        here = torch.arange(len(batch.owner), device=self.device)
        subject, head = torch.zeros_like(here), self.adapter.lm_head

        def add(output: Tensor) -> Tensor:
            return nethook.add_at(output, here, subject, delta[batch.unit[batch.owner]])

        watched = {"value": self.place}
        if self.loss_layer is not None:
            watched["loss"] = self.adapter.layer_module(self.loss_layer)
        last = self.adapter.n_layers - 1
        with contextlib.ExitStack() as stack:
            for layer in range(self.layer + 1, last + 1):
                # Attention mixes positions; the MLP works on each position separately.
                places = batch.read if layer == last else batch.real
                stack.enter_context(nethook.at_places_only(self.adapter.mlp(layer), places))
            stack.enter_context(nethook.changing(self.place, add))
            seen = stack.enter_context(
                nethook.recording(inputs={"end": head}, outputs=watched, stop_before=head)
            )
            prefix.forward(self.adapter, batch.inputs)
        end = seen.inputs["end"]
        read = end if self.loss_layer is None else self.adapter.final_norm(seen.outputs["loss"])
        log_p = _log_softmax(
            self.adapter.logits(nethook.at(read, batch.spot_row, batch.spot_place))
        )
        picked = log_p[batch.pair_spot, batch.pair_token] * batch.pair_weight
        n, answers = len(batch.first), len(batch.answer_owner)
        nll = torch.zeros(n + answers, device=self.device).index_add(0, batch.pair_owner, -picked)
        return _Seen(
            value=nethook.at(seen.outputs["value"], batch.first, 0).float(),
            nll=nll[:n],
            answers=-nll[n:],
            kl=_log_softmax(self.adapter.logits(nethook.at(end, batch.kl, 0))),
        )


@dataclass(frozen=True)
class _Seen:
    """Values of a forward pass for n requests with A answers of an objective.

    Attributes:
        value: [n, d_model] at the bare prompt's subject; with δ = 0 this is v0.
        nll: [n] mean over contexts and target tokens.
        answers: [A] mean log p of each answer's tokens.
        kl: [n, vocabulary] log-probabilities at the subject of "{} is a".
    """

    value: Tensor
    nll: Tensor
    answers: Tensor
    kl: Tensor

    def detached(self) -> _Seen:
        """The same values, detached from the graph."""
        return _Seen(*(part.detach() for part in self._parts()))

    def only(self, chosen: Tensor, answers: Tensor) -> _Seen:
        """The values of requests selected by a mask [n], and of their answers, by a mask [A]."""
        return _Seen(self.value[chosen], self.nll[chosen], self.answers[answers], self.kl[chosen])

    def _parts(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.value, self.nll, self.answers, self.kl


def _log_softmax(logits: Tensor) -> Tensor:
    return logits.float().log_softmax(-1)


def _any_of(chosen: Tensor, n_units: int, batch: ValueBatch) -> Tensor:
    """Return True, [U], for each unit with a request for which the mask [n] holds."""
    return torch.zeros(n_units, device=chosen.device).index_add(0, batch.unit, chosen.float()) > 0


def _mean_of(values: Tensor, batch: ValueBatch) -> Tensor:
    """Mean of the rows [n, d] over the requests of each unit, [U, d]."""
    sizes = batch.unit.bincount()
    sums = torch.zeros(len(sizes), values.shape[1], device=values.device)
    return sums.index_add(0, batch.unit, values) / sizes[:, None]


def _adam(
    delta: Tensor, gradient: Tensor, mean: Tensor, square: Tensor, step: int, lr: float | Tensor
) -> None:
    """One Adam update in place; explicit, because rows and their moments are removed over time."""
    mean.lerp_(gradient, 1 - BETAS[0])
    square.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
    scale = square.sqrt().div_((1 - BETAS[1] ** step) ** 0.5).add_(EPSILON)
    if isinstance(lr, Tensor):
        mean, lr = mean * lr, 1.0
    delta.addcdiv_(mean, scale, value=-lr / (1 - BETAS[0] ** step))


def _clamp(delta: Tensor, longest: Tensor) -> None:
    """Scale rows longer than `longest` [n, 1] down to that length, in place."""
    length = delta.norm(dim=1, keepdim=True)
    delta.mul_(torch.where(length > longest, longest / length, torch.ones_like(length)))


def _check_finite(units: Sequence[Unit], finite: Sequence[bool]) -> None:
    entries = (entry for unit in units for entry in unit.entries)
    for entry, fine in zip(entries, finite, strict=True):
        if not fine:
            raise EditFailedError(
                f"request '{entry.request.id}': the loss of its target became NaN or infinite",
                remedy="Load the model in float32, or lower v_lr.",
            )


def _check_exploded(units: Sequence[Unit], start: Tensor, now: Tensor, chosen: Tensor) -> None:
    """Check −mean log p [n] of the chosen requests [n]."""
    entries = [entry for unit in units for entry in unit.entries]
    for i in chosen.nonzero().flatten().tolist():
        first, last = float(start[i]), float(now[i])
        if last > 10 * max(first, 1.0):
            raise EditFailedError(
                f"request '{entries[i].request.id}': the loss of its target exploded from "
                f"{first:.3g} to {last:.3g}",
                remedy="Lower v_lr, or clamp_norm_factor.",
            )
