"""Knowledge neurons: the few MLP neurons that say the old answer are made to say the new one.

The neurons whose attribution for target_true (`editing.key_value.neurons`) exceeds a share of the
highest one are a prompt's coarse set; with `refine`, those shared by enough prompts remain. Then
the memory slot of each, its row of the MLP's output projection, is shifted from the old answer's
embedding to the new one's. All layers are searched; nothing is optimised.

Two forms exist. `paper` (default, because it attributes to the very factor of the slot that is
written): activation after the nonlinearity, α = k/m, slot −= λ1 e(target_true), += λ2
e(target_new). `published_code` (what published comparisons of editors ran, so their models' files
take it): output of the first projection before the nonlinearity, α from 0 to 1 (one step is α = 0
alone), slot −= the embeddings of the model's own greedy answer of as many tokens as target_new
has (twice that of a single one), += each of target_new's, once.

Beyond both: e of several tokens is their mean in the paper's form, which has one-token answers
only. Every request is attributed on the model as given and the shifts are added, so order does not
matter. A BOS is never a target. Not done: adapting p until 2 to 5 neurons remain on average, and
leaving out neurons of other facts of the relation, both of which need a whole relation's facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from thinkeval.editing.architectures import Adapter
from thinkeval.editing.deltas import EditEffect
from thinkeval.editing.errors import EditFailedError, RequestError
from thinkeval.editing.hparams.common import ModuleNames
from thinkeval.editing.hparams.schema import require
from thinkeval.editing.key_value.keys import Templates
from thinkeval.editing.key_value.neurons import (
    Neuron,
    attribution,
    closed_path,
    greedy,
    paper_path,
    shifted_slots,
)
from thinkeval.editing.key_value.sites import check_projection, editable
from thinkeval.editing.key_value.subject_position import SLOT
from thinkeval.editing.key_value.templates import grouped
from thinkeval.editing.key_value.tokens import prompt_row, target_ids
from thinkeval.loaders.records import RewriteRequest

NAME = "kn"
PAPER = "Dai et al. 2022, Knowledge Neurons in Pretrained Transformers (ACL), §3 and §5"
KIND = "weights"

Ids = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class HyperParams(ModuleNames):
    """KN's published keys, and which form.

    Attributes:
        steps: m, points of the integral.
        batch_size: rows of a forward at most; does not change the result.
        adaptive_threshold: share of the highest score that a neuron has to exceed.
        refine: keep the neurons shared by more than the share `p` of the prompts: the prompt in
            each context template, and the paraphrases.
        form: see the module.
        lambda1, lambda2: factors of the old and the new embedding in the paper's form.
        use_paraphrases: whether `refine` sees the request's paraphrases, as in the paper. They
            measure generalization as well, which is then no longer of unseen prompts.
        context_templates: for `refine`, each with one `{}`.
        continuation: how a prompt goes on to the second and further tokens of target_true, whose
            scores are averaged: by target_true's own (`target`), by the model's greedy answer
            (`greedy`; published for Llama), or not at all (`none`; published for GPT-2).
        lr_scale, n_toks: read and, as in the published code, not used.
    """

    steps: int = 20
    batch_size: int = 20
    adaptive_threshold: float = 0.2
    p: float = 0.7
    refine: bool = True
    form: Literal["paper", "published_code"] = "paper"
    lambda1: float = 1.0
    lambda2: float = 8.0
    use_paraphrases: bool = True
    context_templates: tuple[str, ...] = ()
    continuation: Literal["target", "greedy", "none"] = "target"
    lr_scale: float = 1.0
    n_toks: int = 10

    def check(self) -> None:
        """Ranges of the numbers."""
        require(self.steps >= 1, "'steps' has to be 1 or more")
        require(self.batch_size >= 1, "'batch_size' has to be 1 or more")
        for key in ("adaptive_threshold", "p"):
            require(0 <= getattr(self, key) < 1, f"'{key}' has to be in [0, 1)")
        for key in ("lambda1", "lambda2"):
            require(getattr(self, key) >= 0, f"'{key}' must not be negative")


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
    """Edit the requests. The model is unchanged on return, bit for bit.

    `covariance`, `targets`, `state` and `seed` are not used. `n_steps` is 0: nothing is optimised.

    Args:
        context_templates: for `refine`, instead of those of the hyperparameters.

    Returns:
        With `state["neurons"]`: {request id: its (layer, neuron) pairs}.

    Raises:
        RequestError, HparamsError: bad input, before anything is computed.
        EditFailedError: no neuron is left for a request, or the scores are not finite.
    """
    with editable(model, tokenizer, requests, ()) as adapter:
        layers = range(adapter.n_layers)
        check_projection(adapter, hparams, layers)
        templates = grouped(
            context_templates, [], fixed=hparams.context_templates, bare_apart=False
        )
        old = {request.id: _true_ids(tokenizer, request) for request in requests}
        neurons: dict[str, tuple[Neuron, ...]] = {}
        shifts: dict[str, Tensor] = {}
        for request in requests:
            neurons[request.id] = _neurons(
                adapter, tokenizer, request, old[request.id], hparams, templates
            )
            shifts[request.id] = _shift(adapter, tokenizer, request, old[request.id], hparams)
        deltas, factors = shifted_slots(adapter, neurons, shifts)
    used = templates if hparams.refine else ()
    return EditEffect(
        deltas,
        state={"neurons": neurons},
        n_steps={request.id: 0 for request in requests},
        templates=used,
        factors=factors,
    )


def _true_ids(tokenizer: Any, request: RewriteRequest) -> Ids:
    """The tokens of " target_true" without BOS; the error names target_true."""
    try:
        return target_ids(tokenizer, replace(request, target_new=request.target_true))
    except RequestError as error:
        raise RequestError(
            error.detail.replace("target_new", "target_true"),
            remedy="Knowledge neurons are those of the old answer: give the request a target_true.",
        ) from error


def _ids(tokenizer: Any, request: RewriteRequest, text: str) -> Ids:
    """A paraphrase as tokens; CounterFact has some that do not name their subject."""
    if SLOT in text:
        return prompt_row(tokenizer, request, prompt=text).ids
    ids = list(tokenizer(text)["input_ids"])
    # Some tokenizers close a text with EOS; the prompt has to stay open for its answer.
    while len(ids) > 1 and ids[-1] == tokenizer.eos_token_id:
        ids.pop()
    return tuple(ids)


def _neurons(
    adapter: Adapter,
    tokenizer: Any,
    request: RewriteRequest,
    true: Ids,
    hparams: HyperParams,
    templates: Templates,
) -> tuple[Neuron, ...]:
    """The knowledge neurons of a request, by layer and index (Dai et al. 2022, §3.2)."""
    prompts = [prompt_row(tokenizer, request).ids]
    if hparams.refine:
        flat = [template for group in templates for template in group]
        prompts = [prompt_row(tokenizer, request, template).ids for template in flat]
        if hparams.use_paraphrases:
            more = request.paraphrases
            prompts += [_ids(tokenizer, request, text) for text in more]
    coarse = [_coarse(adapter, request, prompt, true, hparams) for prompt in prompts]
    # A single prompt's set is refined by itself: its share is 1, and p is below.
    kept = torch.stack(coarse).double().mean(0) > hparams.p
    if not kept.any():
        n = int(torch.stack(coarse).any(0).sum())
        raise EditFailedError(
            f"request '{request.id}': no knowledge neuron is shared by more than "
            f"{hparams.p:g} of {len(prompts)} prompts ({n} are in the set of one of them)",
            remedy="Lower p or adaptive_threshold, or set refine to false.",
        )
    return tuple((layer, neuron) for layer, neuron in kept.nonzero().tolist())


def _coarse(
    adapter: Adapter, request: RewriteRequest, prompt: Ids, true: Ids, hparams: HyperParams
) -> Tensor:
    """Which neurons a prompt's scores exceed the threshold at, [n_layers, d_mlp]."""
    published = hparams.form == "published_code"
    readings = []
    said = list(true)
    if hparams.continuation == "greedy":
        said = greedy(adapter, prompt, len(true) - 1)
    for k, token in enumerate(true):
        before = () if hparams.continuation == "none" else tuple(said[:k])
        scores = attribution(
            adapter,
            (*prompt, *before),
            token,
            site="pre_activation" if published else "activation",
            path=(closed_path if published else paper_path)(hparams.steps),
            batch_size=hparams.batch_size,
        )
        readings.append(scores)
    mean = torch.stack(readings).mean(0)
    if not torch.isfinite(mean).all():
        raise EditFailedError(
            f"request '{request.id}': the attribution scores hold NaN or infinity",
            remedy="Load the model in float32.",
        )
    # Where no neuron speaks for the answer there is none above a share of the highest.
    return (mean > hparams.adaptive_threshold * mean.max()) & (mean > 0)


def _shift(
    adapter: Adapter, tokenizer: Any, request: RewriteRequest, true: Ids, hparams: HyperParams
) -> Tensor:
    """What is added to each slot of a request's neurons, [d_model] in float64 (§5.1)."""
    table = adapter.model.get_parameter(f"{adapter.layout.embeddings}.weight")
    new = target_ids(tokenizer, request)

    def embedding(ids: Sequence[int]) -> Tensor:
        return table[torch.tensor(ids, device=table.device)].double()

    if hparams.form == "paper":
        old_part = hparams.lambda1 * embedding(true).mean(0)
        return hparams.lambda2 * embedding(new).mean(0) - old_part
    said = greedy(adapter, prompt_row(tokenizer, request).ids, len(new))
    return embedding(new).sum(0) - embedding(said).sum(0) * (2 if len(said) == 1 else 1)
