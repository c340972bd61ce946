"""Fine-tuning of one MLP projection (FT-L), clamped to a small box around the original weights.

Adam on the projection's weight (and bias, if the architecture has one), on the loss at the last
prompt token, with every weight clamped to W0 ± norm_constraint after each step: the constrained
fine-tuning baseline of the ROME and MEMIT papers as in their code.

The trained weights are float32, also of a model in bfloat16 or float16, and are rounded once. The
bound holds for the weights as the model stores them: where rounding would leave the box, it goes to
the next number inside. So a weight whose neighbours in that type are further away
than the bound does not move; load the model in float32 for published values of the bound.

Deliberate difference from that code: padding and BOS are never target tokens (in the published code
they are on Llama and Qwen, whose tokenizers have no unknown token). FT-M, the cross-entropy of the
target in its context, is the option `objective_optimization: target_new`. The organisms' files use
it: their targets have several tokens, and FT-L, which trains all of them as alternatives at one
position, does not install such a target (measured: mean efficacy .31, FT-M .92).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ...loaders.records import RewriteRequest
from .. import interruption, nethook
from ..architectures import Adapter
from ..deltas import EditEffect
from ..errors import EditFailedError
from ..hparams.of.fine_tuning import HyperParams
from ..key_value import answer_rows
from ..key_value.sites import editable
from ..key_value.tokens import Row, batch_of, prompt_row, target_ids
from ..objectives import Objective
from ..training.weights import (
    as_stored,
    called,
    changes,
    constrain,
    leaves,
    set_gradients,
    trained_weights,
    widened,
)

NAME = "fine_tuning"
PAPER = (
    "Zhu et al. 2020, Modifying Memories in Transformer Models; FT-L of Meng et al. 2022, App. E"
)
KIND = "weights"
TAKES_OBJECTIVE = True


def execute(
    model: nn.Module,
    tokenizer: Any,
    requests: Sequence[RewriteRequest],
    hparams: HyperParams,
    covariance: Mapping[str, Tensor] | None = None,
    *,
    context_templates: Any = None,
    targets: Mapping[str, Tensor] | None = None,
    state: Any = None,
    seed: int = 0,
    objective: Objective | None = None,
) -> EditEffect:
    """Train on all requests together (contract: `editing.methods`).

    Only model, tokenizer, requests, hparams and objective are used. `n_steps` counts the updates of
    the request's batch.
    """
    with editable(model, tokenizer, requests, hparams.layers, objective) as adapter:
        originals = trained_weights(adapter, hparams.layers, hparams.rewrite_module_tmp)
        weights = widened(originals)
        batches = [
            _Batch(adapter, tokenizer, requests[i : i + hparams.batch_size], hparams, objective)
            for i in range(0, len(requests), hparams.batch_size)
        ]
        _train(adapter, batches, originals, weights, hparams)
        final = as_stored(weights, originals, hparams.norm_constraint)
    n_steps = {request.id: b.n_steps for b in batches for request in b.requests}
    return EditEffect(changes(final, originals), n_steps=n_steps)


def _train(
    adapter: Adapter,
    batches: Sequence[_Batch],
    originals: Mapping[str, Tensor],
    weights: Mapping[str, Tensor],
    hparams: HyperParams,
) -> None:
    """Train `weights`, float32 or wider, in place; the model is not modified."""
    for batch in batches:
        batch.start(adapter, originals)
    adam = torch.optim.Adam(
        list(weights.values()), lr=hparams.lr, weight_decay=hparams.weight_decay
    )
    for _ in range(hparams.num_steps):
        total = 0.0
        for batch in batches:
            interruption.check()
            asked = leaves(weights)
            losses = batch.losses(adapter, asked)
            loss = losses.mean()
            total += loss.item() * len(losses)
            if loss.item() >= hparams.stop_loss:
                set_gradients(weights, asked, loss)
                adam.step()
                batch.n_steps += 1
            constrain(weights, originals, hparams.norm_constraint)
        if total / sum(len(batch.requests) for batch in batches) < hparams.stop_loss:
            return


class _Batch:
    """A batch of requests with the positions and tokens of their loss.

    An objective's answers are scored behind the prompt (`editing.key_value.answer_rows`), and where
    they are targets too, at the places of the method's target.
    """

    def __init__(
        self,
        adapter: Adapter,
        tokenizer: Any,
        requests: Sequence[RewriteRequest],
        hparams: HyperParams,
        objective: Objective | None = None,
    ) -> None:
        self.requests, self.objective = list(requests), objective
        self.n_steps = 0
        self.first: list[float] | None = None
        self.before = torch.empty(0)
        device = next(adapter.model.parameters()).device
        rows: list[Row] = []
        pairs: list[tuple[int, int, int, int, float]] = []
        self.sizes: list[int] = []
        for i, request in enumerate(self.requests):
            prompt, target = prompt_row(tokenizer, request), target_ids(tokenizer, request)
            last, in_place = len(prompt.ids) - 1, hparams.objective_optimization == "target_new"
            row = Row((*prompt.ids, *target[:-1]), 0) if in_place else prompt
            for k, token in enumerate(target):
                place = last + k if in_place else last
                pairs.append((len(rows), place, token, i, 1 / len(target)))
            mine, readings = answer_rows.with_answers(
                tokenizer, request, objective, [prompt], [row]
            )
            each = in_place or not (objective and objective.rows(request).as_targets)
            for number, reading in enumerate(readings, len(requests) + sum(self.sizes)):
                in_row = len(rows) + reading.places[0][0]
                for k, token in enumerate(reading.tokens):
                    place = last + k if each else last
                    pairs.append((in_row, place, token, number, 1 / len(reading.tokens)))
            self.sizes.append(len(readings))
            rows += mine
        self.inputs = batch_of(rows, tokenizer, device).inputs()
        columns = (torch.tensor(column, device=device) for column in zip(*pairs, strict=True))
        self.row, self.place, self.token, self.owner, self.weight = columns

    def losses(self, adapter: Adapter, weights: Mapping[str, Tensor]) -> Tensor:
        """−mean log p of each request's target tokens, or its loss by the objective, [n]."""
        nll, answers = self._seen(adapter, weights)
        self._check(nll.detach().tolist())
        total = answer_rows.losses(
            self.objective, self.requests, self.sizes, nll, answers, self.before
        )
        if not torch.isfinite(total).all():
            names = ", ".join(f"'{request.id}'" for request in self.requests)
            raise EditFailedError(
                f"the loss of the answers of {names} became NaN or infinite",
                remedy="Lower lr, set norm_constraint, or load the model in float32.",
            )
        return total

    def start(self, adapter: Adapter, weights: Mapping[str, Tensor]) -> None:
        """Record the answers' log p under the weights before training."""
        if any(self.sizes):
            with torch.no_grad():
                self.before = self._seen(adapter, weights)[1]

    def _seen(self, adapter: Adapter, weights: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """−mean log p of the targets [n], and mean log p of the answers [A]."""
        head = adapter.lm_head
        with nethook.recording(inputs={"end": head}, stop_before=head) as seen:
            called(adapter.model, weights, {**self.inputs, "use_cache": False})
        logits = adapter.logits(nethook.at(seen.inputs["end"], self.row, self.place))
        log_p = logits.float().log_softmax(-1)
        picked = log_p.gather(1, self.token[:, None]).squeeze(1) * self.weight
        n = len(self.requests)
        found = torch.zeros(n + sum(self.sizes), device=log_p.device).index_add(
            0, self.owner, -picked
        )
        return found[:n], -found[n:]

    def _check(self, losses: list[float]) -> None:
        """Raise for the request whose loss is NaN or ten times its first value."""
        self.first = self.first or losses
        for request, first, now in zip(self.requests, self.first, losses, strict=True):
            if not now <= 10 * max(first, 1.0):
                raise EditFailedError(
                    f"request '{request.id}': the loss went from {first:.3g} to {now:.3g}",
                    remedy="Lower lr, set norm_constraint, or load the model in float32.",
                )
