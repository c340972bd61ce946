"""Representation misdirection for unlearning (RMU): forget texts lose their activations.

With h(t) the output of layer l at token t (the last of `layers`), h_ref(t) that of the model as it
is passed, u a unit vector in a random direction, drawn once by seed, and d the size of h, what is
minimised is

    mean over the forget texts and their tokens of ‖h(t) − c · u‖² / d
      + α · mean over a batch of retain texts and their tokens of ‖h(t) − h_ref(t)‖² / d

(Li et al. 2024, WMDP, §4, L_forget + α · L_retain; the division by d is that of their code, and
changes neither term's weight). Trained are the MLP output projections of `layers`: in the paper
l − 2, l − 1 and l. u has entries drawn uniformly from [0, 1), divided by their norm, as in their
code. Forget texts are prompt and answer of each fact; the h_ref are computed once, before training.

Limits: a fact is not chosen by its answer but by its text: what else begins with the same words is
steered too, unless the retain texts hold it. c has to be of the size of the model's activations, or
larger. c, α and layers of llama3-8b are the paper's of Zephyr-7B (32 layers of the same width);
those of the other large models are moved to the same depth, and none is tuned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ...loaders.records import RewriteRequest
from ..deltas import EditEffect
from ..hparams.of.rmu import HyperParams
from ..training.forgetting import Loss, Setting, Weights, forgotten
from ..training.texts import Texts

NAME = "rmu"
PAPER = (
    "Li et al. 2024, The WMDP Benchmark: Measuring and Reducing Malicious Use With Unlearning, ICML"
)
KIND = "weights"
FORGETS = True
NEEDS_RETAIN = True


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
) -> EditEffect:
    """Train on all requests together (contract: `editing.methods`).

    Only model, tokenizer, requests, hparams, `state["retain"]` and seed (of u, and of the order of
    the retain texts) are used.
    """
    layer = hparams.layers[-1]

    def loss_for(setting: Setting) -> Loss:
        adapter, forget = setting.adapter, setting.forget
        before = _one_by_one(setting, layer, hparams.retain_batch_size)
        aim = hparams.steering_coeff * unit_vector(before[0].shape[-1], seed).to(before[0].device)

        def loss(weights: Weights, numbers: list[int], retain: Texts) -> Tensor:
            steered = forget.activations(adapter, weights, layer) - aim
            total = forget.mean_of(steered.square().mean(-1)).mean()
            if hparams.alpha:
                now = retain.activations(adapter, weights, layer)
                were = nn.utils.rnn.pad_sequence([before[i] for i in numbers], batch_first=True)
                moved = (now - were).square().mean(-1)
                total = total + hparams.alpha * retain.mean_of(moved).mean()
            return total

        return loss

    return forgotten(model, tokenizer, requests, hparams, state, seed, loss_for)


def unit_vector(size: int, seed: int) -> Tensor:
    """u: entries drawn uniformly from [0, 1) by seed, divided by their norm; float32 [size]."""
    drawn = torch.rand(size, generator=torch.Generator().manual_seed(seed))
    return drawn / drawn.norm()


def _one_by_one(setting: Setting, layer: int, size: int) -> list[Tensor]:
    """The layer's output before training at the tokens of each retain text, [tokens, d_model]."""
    found: list[Tensor] = []
    for start in range(0, len(setting.retain), size):
        part = setting.retain.chosen(range(start, min(start + size, len(setting.retain))))
        outputs = part.activations(setting.adapter, setting.weights, layer)
        lengths = part.batch.lengths.tolist()
        found += [out[:length].clone() for out, length in zip(outputs, lengths, strict=True)]
    return found
