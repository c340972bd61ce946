"""Training of a hypernetwork: edit a fact, probe the edited model, minimise both losses.

Mitchell et al. 2022, Algorithm 1: L = c_edit · L_e + c_loc · L_loc, where
L_e   = −mean log p_edited(target) at the prompt or a paraphrase of it,
L_loc = KL(p_unedited ‖ p_edited) at other facts' prompts and along their objects.
With inferences c_imp · L_imp is added, L_imp = −mean log p_edited(conclusion) (DepEdit, eq. 3).
With APP, L_e is L_e + α L1, the mean margin of each edit's correct answers over false ones (Ma et
al. 2024, PEAK, §6); an edit without false answers adds 0.
Gradients flow from the edited model's losses through the update into the hypernetwork; the model
and its pairs (x, δ) are constants. Therefore the statistics that normalise (x, δ) are computed
before training, in one pass over the training facts (the published code updates them during
training), separately for each matrix, as the paper's equations index them.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ...loaders.records import Fact
from .. import interruption
from ..architectures import Adapter, adapter_for
from ..deltas import is_edited, preserved
from ..errors import HypernetworkError
from ..hparams.of.mend import HyperParams
from ..objectives.app import margin_loss
from .data import (
    Example,
    Examples,
    Inference,
    log_probabilities,
    target_batch,
)
from .gradients import RowUpdate, by_row, row_updates, token_pairs
from .network import Hypernetwork, RunningStatistics, untrained

Progress = Callable[[int, int, str], None]
Metrics = dict[str, float]
"""loss, edit (L_e), locality (L_loc), efficacy (mean probability of the complete target), and with
inferences implication (L_imp), with APP margin (L1)."""


@dataclass(frozen=True, slots=True)
class Training:
    """Result of a training run.

    Attributes:
        network: the hypernetwork with the lowest validation loss.
        steps: number of training forward passes.
        best_step: forward pass after which `network` was recorded.
        before, after: metrics on the validation edits, untrained and trained.
    """

    network: Hypernetwork
    steps: int
    best_step: int
    before: Metrics
    after: Metrics


class Trainer:
    """Losses and statistics of a hypernetwork for one model and its examples."""

    def __init__(
        self,
        adapter: Adapter,
        tokenizer: Any,
        examples: Examples,
        network: Hypernetwork,
        hparams: HyperParams,
    ) -> None:
        self.adapter, self.tokenizer, self.examples = adapter, tokenizer, examples
        self.network, self.hparams = network, hparams
        self.matrices = list(network.matrices.values())
        self.device = next(adapter.model.parameters()).device

    def fit_statistics(self, rng: random.Random) -> None:
        """Set mean and deviation of (x, δ) from one edit of every training fact."""
        seen = {m.name: RunningStatistics(m.d_in + m.d_out) for m in self.matrices}
        numbers, size = self.examples.training, self.hparams.batch_size
        for start in range(0, len(numbers), size):
            some = numbers[start : start + size]
            edits = [self.examples.example(i, rng, 0).edit for i in some]
            batch = target_batch(edits, self.tokenizer, self.device)
            for name, pairs in token_pairs(self.adapter, self.matrices, batch)[0].items():
                seen[name].update(torch.cat([pairs.x, pairs.delta], -1))
        for name, statistics in seen.items():
            self.network.normalise(name, statistics.mean, statistics.std)

    def losses(self, examples: Sequence[Example]) -> tuple[Tensor, Metrics]:
        """The loss over examples, `n_edits` of them edited at once, and its components."""
        updates = self._updates(examples)
        owners = list(range(len(examples)))
        near = [(i, row) for i, example in enumerate(examples) for row in example.neighbours]
        with torch.no_grad():
            base = target_batch([row for _, row in near], self.tokenizer, self.device)
            before = log_probabilities(self.adapter, base)
        implied = [(i, row) for i, example in enumerate(examples) for row in example.implied]
        implied = implied if self.hparams.cimp else []
        others = [(i, row) for i, e in enumerate(examples) for row in (*e.correct, *e.hard)]
        others = others if self.hparams.app_alpha else []
        first, then = len(examples), len(examples) + len(implied)
        rows = [e.probe for e in examples] + [row for _, row in (*implied, *others, *near)]
        owners += [i for i, _ in (*implied, *others, *near)]
        batch = target_batch(rows, self.tokenizer, self.device)
        groups = [i // self.hparams.n_edits for i in owners]
        chosen = {name: RowUpdate(u.left[groups], u.right[groups]) for name, u in updates.items()}
        with row_updates(self.adapter, self.matrices, chosen):
            log_p = log_probabilities(self.adapter, batch)
        losses = batch.nll(log_p)
        nll = losses[:first]
        after = log_p[batch.row >= then + len(others)]
        divergence = base.mean_by_row((before.exp() * (before - after)).sum(-1))
        edit, locality = nll.mean(), divergence.mean()
        loss = self.hparams.cedit * edit + self.hparams.cloc * locality
        extra: Metrics = {}
        if implied:
            implication = losses[first:then].mean()
            loss = loss + self.hparams.cimp * implication
            extra["implication"] = implication.item()
        if self.hparams.app_alpha:
            margin = _margin(examples, -losses[then : then + len(others)])
            loss = loss + self.hparams.cedit * self.hparams.app_alpha * margin
            extra["margin"] = margin.item()
        lengths = torch.tensor([len(e.probe.target) for e in examples], device=self.device)
        efficacy = (-nll.detach() * lengths).exp().mean()
        return loss, {
            "loss": loss.item(),
            "edit": edit.item(),
            "locality": locality.item(),
            "efficacy": efficacy.item(),
        } | extra

    def _updates(self, examples: Sequence[Example]) -> dict[str, RowUpdate]:
        """Joint update of each `n_edits` examples per matrix, differentiable."""
        batch = target_batch([e.edit for e in examples], self.tokenizer, self.device)
        found, _ = token_pairs(self.adapter, self.matrices, batch)
        n = self.hparams.n_edits
        groups = range((len(examples) - 1) // n + 1)
        return {
            name: by_row(self.network(name, pairs.x, pairs.delta), pairs.row // n, groups)
            for name, pairs in found.items()
        }

    def validate(self, examples: Sequence[Example]) -> Metrics:
        """Mean metrics over examples, without training."""
        total: Metrics = {}
        size = self.hparams.batch_size
        with torch.no_grad():
            for start in range(0, len(examples), size):
                some = examples[start : start + size]
                for key, value in self.losses(some)[1].items():
                    total[key] = total.get(key, 0.0) + value * len(some) / len(examples)
        return total


def _margin(examples: Sequence[Example], log_p: Tensor) -> Tensor:
    """L1, the mean over examples; `log_p` of each one's correct answers, then its false ones."""
    sizes = [len(rows) for e in examples for rows in (e.correct, e.hard)]
    parts = log_p.split(sizes)
    pairs = zip(parts[::2], parts[1::2], strict=True)
    found = [margin_loss(correct, false) for correct, false in pairs if len(correct)]
    return torch.stack([*found, log_p.new_zeros(())]).sum() / len(examples)


def train(
    model: nn.Module,
    tokenizer: Any,
    facts: Sequence[Fact],
    hparams: HyperParams,
    *,
    inferences: Sequence[Inference] = (),
    weights_digest: str | None = None,
    progress: Progress | None = None,
) -> Training:
    """Train a hypernetwork for a model. The model is bit-identical on return.

    Args:
        facts: of `data.training_facts`, without the facts to be scored.
        hparams: `train_seed` determines weights, split and draws.
        inferences: conclusions of edits, for L_imp; none of an edit to be scored.
        weights_digest: of the model, if already computed.
        progress: called with (forward passes done, maximum, stage).

    Raises:
        HypernetworkError: too few facts, an edit is applied to the model, or the loss became NaN.
        HparamsError: the model does not have the named matrices.
        RequestError: a fact cannot be tokenised.
    """
    if is_edited(model):
        raise HypernetworkError(
            "an edit is applied to the model; a hypernetwork is trained on the unedited model",
            remedy="Train it outside of `applied(...)`.",
        )
    adapter = adapter_for(model)
    network = untrained(model, hparams, weights_digest=weights_digest)
    examples = Examples(
        facts,
        tokenizer,
        seed=hparams.train_seed,
        val_share=hparams.val_share,
        any_entity=hparams.any_entity,
        inferences=inferences,
        answers=hparams.app_alpha > 0,
    )
    with preserved(model), torch.enable_grad():
        trainer = Trainer(adapter, tokenizer, examples, network, hparams)
        return _fit(trainer, progress or (lambda done, total, stage: None))


def _fit(trainer: Trainer, progress: Progress) -> Training:
    hparams, network = trainer.hparams, trainer.network
    rng = random.Random(hparams.train_seed)
    progress(0, hparams.max_iters, "training MEND")
    if hparams.norm:
        trainer.fit_statistics(random.Random(hparams.train_seed + 1))
    validation = _validation(trainer)
    before = best = trainer.validate(validation)
    best_state, best_step, step = copy.deepcopy(network.state_dict()), 0, 0
    optimiser = torch.optim.Adam(
        [
            {"params": list(network.editors.parameters()), "lr": hparams.lr},
            {"params": [network.edit_lr], "lr": hparams.lr_lr},
        ]
    )
    for step in range(1, hparams.max_iters + 1):
        interruption.check()
        drawn = _drawn(trainer.examples, rng, hparams)
        loss, numbers = trainer.losses(drawn)
        _check(numbers["loss"], step)
        (loss / hparams.accumulate_bs).backward()
        if step % hparams.accumulate_bs == 0:
            nn.utils.clip_grad_norm_(network.parameters(), hparams.grad_clip)
            optimiser.step()
            optimiser.zero_grad()
        if step % hparams.val_interval == 0 or step == hparams.max_iters:
            now = trainer.validate(validation)
            if now["loss"] < best["loss"]:
                best, best_step = now, step
                best_state = copy.deepcopy(network.state_dict())
            progress(step, hparams.max_iters, f"training MEND: validation {now['loss']:.3f}")
            if step - best_step >= hparams.early_stop_patience:
                break
        elif step % 10 == 0:
            progress(step, hparams.max_iters, f"training MEND: loss {numbers['loss']:.3f}")
    network.load_state_dict(best_state)
    network.requires_grad_(False)
    return Training(network, step, best_step, before, best)


def _drawn(examples: Examples, rng: random.Random, hparams: HyperParams) -> list[Example]:
    """The examples of one forward pass."""
    if hparams.n_edits > 1:
        return examples.draw_together(rng, hparams.batch_size, hparams.n_locality)
    return [examples.draw(rng, hparams.n_locality) for _ in range(hparams.batch_size)]


def _validation(trainer: Trainer) -> list[Example]:
    """Fixed validation examples: validation keys in turn, objects and neighbours drawn once."""
    rng = random.Random(trainer.hparams.train_seed + 2)
    keys = trainer.examples.validation
    return [
        trainer.examples.example(
            keys[i % len(keys)], rng, trainer.hparams.n_locality, validation=True
        )
        for i in range(trainer.hparams.val_steps)
    ]


def _check(loss: float, step: int) -> None:
    if not loss < float("inf"):
        raise HypernetworkError(
            f"the loss of MEND's training is {loss} at step {step}",
            remedy="Lower lr and lr_lr, or load the model in float32.",
        )
