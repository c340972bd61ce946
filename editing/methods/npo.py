"""Negative preference optimization (NPO): forgotten answers become less likely than they were.

With π_θ(y | x) the probability of a whole answer and π_ref that of the model as it is passed,
computed once before training,

    L_NPO = −(2/β) · mean over the facts to forget of log σ(−β · log(π_θ(y | x) / π_ref(y | x)))

(Zhang, Lin, Bai and Mei 2024, §3, Eq. 3). Its gradient is that of gradient ascent, each fact with
the weight W = 2 π_θ^β / (π_θ^β + π_ref^β) (§3, Eq. 4): it is 1 at the start and goes to 0 as the
answer becomes unlikely, so that training does not diverge. For β → 0, L_NPO − (2/β) log 2 goes to
gradient ascent's loss, up to a constant.

The loss is L_NPO + retain_weight · mean over a batch to retain of −log π_θ(y | x): NPO+RT
(§4). retain_weight 0 is NPO alone.

Limits: β, lr and the retain weight of the large models' files are the paper's, of Llama-2-7B with
all weights trained; their layers are those of MEMIT's files, and none is tuned. After a previous
edit of a sequence the reference is the model with that edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from ...loaders.records import RewriteRequest
from ..deltas import EditEffect
from ..hparams.of.npo import HyperParams
from ..training.forgetting import Loss, Setting, Weights, forgotten
from ..training.texts import Texts

NAME = "npo"
PAPER = (
    "Zhang et al. 2024, Negative Preference Optimization: From Catastrophic Collapse to "
    "Effective Unlearning, COLM"
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
        reference = setting.forget.log_p(setting.adapter, setting.weights)

        def loss(weights: Weights, numbers: list[int], retain: Texts) -> Tensor:
            total = npo_loss(
                setting.forget.log_p(setting.adapter, weights), reference, hparams.beta
            )
            if hparams.retain_weight:
                kept = retain.log_p(setting.adapter, weights)
                total = total - hparams.retain_weight * kept.mean()
            return total

        return loss

    return forgotten(model, tokenizer, requests, hparams, state, seed, loss_for)


def npo_loss(log_p: Tensor, reference: Tensor, beta: float) -> Tensor:
    """L_NPO of the answers' log-probabilities [n], and those of the reference [n]."""
    return -(2 / beta) * logsigmoid(-beta * (log_p - reference)).mean()
