"""Gradient ascent with a retain term (GradDiff): less of forgotten answers, more of the others.

The loss of answer y behind prompt x is L(x, y) = −log π_θ(y | x) = −Σ_t log π_θ(y_t | x, y_<t).
The function minimised over the weights of the chosen layers is

    −mean over the facts to forget of L  +  retain_weight · mean over a batch to retain of L

(Yao et al. 2023, §3, with ascent and the retain term; Maini et al. 2024, TOFU, §4.1, "Gradient
Difference", with weight 1; Liu et al. 2022). retain_weight 0 is gradient ascent alone.

L has no upper bound, so that ascent continues after the fact is forgotten and ruins the model. Here
a fact whose L is `forget_bound` or more (its probability at most e^−forget_bound) adds no gradient,
and training stops once that holds of all. The papers stop after a number of epochs instead, and
train all weights; `layers` names those that are trained here.

Limits: lr of the large models' files is TOFU's of Llama-2-7B, for weights in all layers; their
number of steps is our own choice, their layers are those of MEMIT's files, and none is tuned. The
answer's probability falls, not that of its meaning: other words of the same object may
stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from ...loaders.records import RewriteRequest
from ..deltas import EditEffect
from ..hparams.of.gradient_ascent import HyperParams
from ..training.forgetting import Loss, Setting, Weights, forgotten
from ..training.texts import Texts

NAME = "gradient_ascent"
PAPER = (
    "Yao et al. 2023, Large Language Model Unlearning; GradDiff of Liu et al. 2022 and "
    "Maini et al. 2024 (TOFU)"
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

    Only model, tokenizer, requests, hparams, `state["retain"]` and seed are used.
    """

    def loss_for(setting: Setting) -> Loss:
        def loss(weights: Weights, numbers: list[int], retain: Texts) -> Tensor | None:
            return _loss(setting, weights, retain, hparams)

        return loss

    return forgotten(model, tokenizer, requests, hparams, state, seed, loss_for)


def _loss(setting: Setting, weights: Weights, retain: Texts, hparams: HyperParams) -> Tensor | None:
    """The loss of a step; None where every fact has reached the bound."""
    forget = -setting.forget.log_p(setting.adapter, weights)
    below = forget.detach() < hparams.forget_bound
    if not below.any():
        return None
    ascent = -(forget * below).mean()
    if not hparams.retain_weight:
        return ascent
    return ascent - hparams.retain_weight * retain.log_p(setting.adapter, weights).mean()
