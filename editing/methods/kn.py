"""Knowledge neurons: the few MLP neurons that express the old answer are shifted to the new one.

The neurons whose attribution for target_true (`editing.key_value.neurons`) exceeds a fraction of
the maximum form a prompt's coarse set; with `refine`, those common to enough prompts remain. Then
the memory slot of each, its row of the MLP's output projection, is shifted from the old answer's
embedding to the new one's. All layers are searched; nothing is optimised.

Two forms exist. `paper` (default, because it attributes to the factor of the slot that is written):
activation after the nonlinearity, α = k/m, slot −= λ1 e(target_true), += λ2 e(target_new).
`published_code` (used in published comparisons of editors, so their models' files select it):
output of the first projection before the nonlinearity, α from 0 to 1 (α = 0 for a single step),
slot −= the embeddings of the model's greedy answer with as many tokens as target_new (twice for a
single token), += each of target_new's, once. It is the published code's edit with `target_space:
false`, which that code's tokens need; by default the targets are the tokens that are probed.

Extensions of both: in the paper's form, which has one-token answers only, e of several tokens is
their mean. Every request is attributed on the model as passed and the shifts are added, so order
does not matter. A BOS is never a target. Not implemented: adapting p until 2 to 5 neurons remain on
average, and excluding neurons of other facts of the relation; both need all facts of a relation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from ...loaders.records import RewriteRequest, fill, slot_parts
from ..answer_tokens import text_ids
from ..architectures import Adapter
from ..deltas import EditEffect
from ..errors import EditFailedError, RequestError
from ..hparams.of.kn import HyperParams
from ..joint import parted
from ..key_value.keys import Templates
from ..key_value.neurons import (
    Neuron,
    attribution,
    closed_path,
    greedy,
    paper_path,
    shifted_slots,
)
from ..key_value.sites import check_projection, editable
from ..key_value.templates import grouped
from ..key_value.tokens import prompt_row, target_ids
from ..linear_algebra import in_float64

NAME = "kn"
PAPER = "Dai et al. 2022, Knowledge Neurons in Pretrained Transformers (ACL), §3 and §5"
KIND = "weights"

Ids = tuple[int, ...]


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
    """Edit the requests (contract: `editing.methods`); `n_steps` is 0, as nothing is optimised.

    Args:
        context_templates: for `refine`, replacing those of the hyperparameters.

    Returns:
        In `state["neurons"]`: {request id: its (layer, neuron) pairs}.

    Raises:
        EditFailedError: no neuron remains for a request, or the scores are not finite.
    """
    with editable(model, tokenizer, requests, ()) as adapter:
        layers = range(adapter.n_layers)
        check_projection(adapter, hparams, layers)
        templates = grouped(
            context_templates, [], fixed=hparams.context_templates, bare_apart=False
        )
        old = {request.id: _true_ids(tokenizer, request, hparams) for request in requests}
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


def _target_ids(tokenizer: Any, request: RewriteRequest, hparams: HyperParams) -> Ids:
    """The tokens of target_new: behind the prompt, or without `target_space` by itself."""
    ids = target_ids(tokenizer, request)
    if hparams.target_space:
        return ids
    return tuple(text_ids(tokenizer, request.target_new.strip(), special=False))


def _true_ids(tokenizer: Any, request: RewriteRequest, hparams: HyperParams) -> Ids:
    """The tokens of target_true, as those of target_new; the error names target_true."""
    try:
        return _target_ids(tokenizer, replace(request, target_new=request.target_true), hparams)
    except RequestError as error:
        raise RequestError(
            error.detail.replace("target_new", "target_true"),
            remedy="Knowledge neurons are those of the old answer: give the request a target_true.",
        ) from error


def _ids(tokenizer: Any, request: RewriteRequest, text: str) -> Ids:
    """A paraphrase as tokens; some paraphrases of CounterFact do not name the subject."""
    if len(slot_parts(text)) > 1:
        return prompt_row(tokenizer, request, prompt=text).ids
    return tuple(text_ids(tokenizer, parted(fill(text, request.subject))[0]))


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
            prompts += [_ids(tokenizer, request, text) for text in request.paraphrases]
    coarse = [_coarse(adapter, request, prompt, true, hparams) for prompt in prompts]
    # A single prompt shares all of its neurons with itself, and p < 1.
    shared = in_float64(torch.stack(coarse)).mean(0) > hparams.p
    if not shared.any():
        n = int(torch.stack(coarse).any(0).sum())
        raise EditFailedError(
            f"request '{request.id}': no knowledge neuron is shared by more than "
            f"{hparams.p:g} of {len(prompts)} prompts ({n} are in the set of one of them)",
            remedy="Lower p or adaptive_threshold, or set refine to false.",
        )
    return tuple((layer, neuron) for layer, neuron in shared.nonzero().tolist())


def _coarse(
    adapter: Adapter, request: RewriteRequest, prompt: Ids, true: Ids, hparams: HyperParams
) -> Tensor:
    """Mask of the neurons whose scores exceed the threshold, [n_layers, d_mlp]."""
    published = hparams.form == "published_code"
    readings = []
    continuation = list(true)
    if hparams.continuation == "greedy":
        continuation = greedy(adapter, prompt, len(true) - 1)
    for k, token in enumerate(true):
        before = () if hparams.continuation == "none" else tuple(continuation[:k])
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
    # Without a positive score, no neuron contributes to the answer.
    return (mean > hparams.adaptive_threshold * mean.max()) & (mean > 0)


def _shift(
    adapter: Adapter, tokenizer: Any, request: RewriteRequest, true: Ids, hparams: HyperParams
) -> Tensor:
    """Shift of the slots of a request's neurons, [d_model] in float64 (§5.1)."""
    table = adapter.model.get_parameter(f"{adapter.layout.embeddings}.weight")
    new = _target_ids(tokenizer, request, hparams)

    def embedding(ids: Sequence[int]) -> Tensor:
        return in_float64(table[torch.tensor(ids, device=table.device)])

    if hparams.form == "paper":
        old_part = hparams.lambda1 * embedding(true).mean(0)
        return hparams.lambda2 * embedding(new).mean(0) - old_part
    answer = greedy(adapter, prompt_row(tokenizer, request).ids, len(new))
    return embedding(new).sum(0) - embedding(answer).sum(0) * (2 if len(answer) == 1 else 1)
