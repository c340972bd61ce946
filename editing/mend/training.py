"""Training a hypernetwork: edit a fact, look at the edited model, learn from both losses.

Mitchell et al. 2022, Algorithm 1: L = c_edit · L_e + c_loc · L_loc, where
L_e   = −mean log p_edited(target) at the prompt or a paraphrase of it,
L_loc = KL(p_unedited ‖ p_edited) at other facts' prompts and along their objects.
With inferences c_imp · L_imp is added, L_imp = −mean log p_edited(conclusion) (DepEdit, eq. 3).
Gradients flow from the edited model's losses through the update into the hypernetwork; the model
and its pairs (x, δ) are constants. Therefore the statistics that normalise (x, δ) can be taken
before training, in one pass over the training facts (the published code takes them meanwhile), for
each matrix by itself, as the paper's equations index them.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from thinkeval.editing.architectures import Adapter, adapter_for
from thinkeval.editing.deltas import is_edited, preserved
from thinkeval.editing.errors import HypernetworkError
from thinkeval.editing.mend.data import (
    Example,
    Examples,
    Inference,
    log_probabilities,
    target_batch,
)
from thinkeval.editing.mend.gradients import RowUpdate, by_row, row_updates, token_pairs
from thinkeval.editing.mend.hyperparams import HyperParams
from thinkeval.editing.mend.network import Hypernetwork, RunningStatistics, untrained
from thinkeval.loaders.records import Fact

Progress = Callable[[int, int, str], None]
Numbers = dict[str, float]
"""loss, edit (L_e), locality (L_loc), efficacy (mean probability of the whole target); where
conclusions are asked for, implication (L_imp)."""


@dataclass(frozen=True, slots=True)
class Training:
    """A trained hypernetwork with what its training says of itself.

    Attributes:
        network: as it was where the validation loss was lowest.
        steps: training forwards taken; `best_step` is where `network` is from.
        before, after: the numbers on the validation edits, untrained and trained.
    """

    network: Hypernetwork
    steps: int
    best_step: int
    before: Numbers
    after: Numbers


class Trainer:
    """One model, its examples and a network; takes losses and fits."""

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
        """Mean and deviation of (x, δ) over an edit of every training fact."""
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

    def losses(self, examples: Sequence[Example]) -> tuple[Tensor, Numbers]:
        """The loss of some examples, `n_edits` of them edited at once, and what it is made of."""
        updates = self._updates(examples)
        owners = list(range(len(examples)))
        kept = [(i, row) for i, example in enumerate(examples) for row in example.kept]
        with torch.no_grad():
            base = target_batch([row for _, row in kept], self.tokenizer, self.device)
            before = log_probabilities(self.adapter, base)
        implied = [(i, row) for i, example in enumerate(examples) for row in example.implied]
        implied = implied if self.hparams.cimp else []
        first, then = len(examples), len(examples) + len(implied)
        rows = [e.asked for e in examples] + [row for _, row in (*implied, *kept)]
        owners += [i for i, _ in (*implied, *kept)]
        batch = target_batch(rows, self.tokenizer, self.device)
        groups = [i // self.hparams.n_edits for i in owners]
        chosen = {name: RowUpdate(u.left[groups], u.right[groups]) for name, u in updates.items()}
        with row_updates(self.adapter, self.matrices, chosen):
            log_p = log_probabilities(self.adapter, batch)
        losses = batch.nll(log_p)
        nll = losses[:first]
        after = log_p[batch.row >= then]
        divergence = base.mean_by_row((before.exp() * (before - after)).sum(-1))
        edit, locality = nll.mean(), divergence.mean()
        loss = self.hparams.cedit * edit + self.hparams.cloc * locality
        told: Numbers = {}
        if implied:
            implication = losses[first:then].mean()
            loss = loss + self.hparams.cimp * implication
            told["implication"] = implication.item()
        lengths = torch.tensor([len(e.asked.target) for e in examples], device=self.device)
        whole = (-nll.detach() * lengths).exp().mean()
        return loss, {
            "loss": loss.item(),
            "edit": edit.item(),
            "locality": locality.item(),
            "efficacy": whole.item(),
        } | told

    def _updates(self, examples: Sequence[Example]) -> dict[str, RowUpdate]:
        """The update of each `n_edits` examples for each matrix, differentiable."""
        batch = target_batch([e.edit for e in examples], self.tokenizer, self.device)
        found, _ = token_pairs(self.adapter, self.matrices, batch)
        n = self.hparams.n_edits
        groups = range((len(examples) - 1) // n + 1)
        return {
            name: by_row(self.network(name, pairs.x, pairs.delta), pairs.row // n, groups)
            for name, pairs in found.items()
        }

    def validate(self, examples: Sequence[Example]) -> Numbers:
        """The numbers over examples; nothing is learnt."""
        total: Numbers = {}
        size = self.hparams.batch_size
        with torch.no_grad():
            for start in range(0, len(examples), size):
                some = examples[start : start + size]
                for key, value in self.losses(some)[1].items():
                    total[key] = total.get(key, 0.0) + value * len(some) / len(examples)
        return total


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
    """Train a hypernetwork for a model. The model is unchanged on return, bit for bit.

    Args:
        facts: of `data.training_facts`: without those that will be scored.
        hparams: `train_seed` decides weights, split and draws.
        inferences: what follows from edits, for L_imp; not of what will be scored either.
        weights_digest: of the model, when known already.
        progress: called with (forwards done, at most, stage).

    Raises:
        HypernetworkError: too few facts, an edit is on the model, or the loss became NaN.
        HparamsError, RequestError: matrices the model does not have; facts it cannot read.
    """
    if is_edited(model):
        raise HypernetworkError(
            "an edit is on the model; a hypernetwork is trained on the unedited one",
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
    kept, best_step, step = copy.deepcopy(network.state_dict()), 0, 0
    optimiser = torch.optim.Adam(
        [
            {"params": list(network.editors.parameters()), "lr": hparams.lr},
            {"params": [network.edit_lr], "lr": hparams.lr_lr},
        ]
    )
    for step in range(1, hparams.max_iters + 1):
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
                kept = copy.deepcopy(network.state_dict())
            progress(step, hparams.max_iters, f"training MEND: validation {now['loss']:.3f}")
            if step - best_step >= hparams.early_stop_patience:
                break
        elif step % 10 == 0:
            progress(step, hparams.max_iters, f"training MEND: loss {numbers['loss']:.3f}")
    network.load_state_dict(kept)
    network.requires_grad_(False)
    return Training(network, step, best_step, before, best)


def _drawn(examples: Examples, rng: random.Random, hparams: HyperParams) -> list[Example]:
    """The examples of one forward."""
    if hparams.n_edits > 1:
        return examples.draw_together(rng, hparams.batch_size, hparams.n_locality)
    return [examples.draw(rng, hparams.n_locality) for _ in range(hparams.batch_size)]


def _validation(trainer: Trainer) -> list[Example]:
    """The same examples each time: validation keys in turn, objects and neighbours drawn once."""
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
