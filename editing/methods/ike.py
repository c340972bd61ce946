"""In-context editing: demonstrations and the new fact precede every prompt.

No weight changes. The demonstrations (`state["demonstrations"]`, built from the graph by the
caller) are retrieved by similarity to the new fact. The defaults are the paper's: copy, update and
retain in the ratio 1 : 3 : 4, one demonstration per retrieved fact, the most similar last, next to
the prompt. The code of published comparisons of editors takes the most similar texts of one flat
list regardless of kind, most similar first (`mix`, `order`). The ratio is the default because the
most similar texts are nearly all copies, which do not show which facts must not change. The
published code's choice is `mix: published_code`, `order: similar_first` and `exclude_named: false`,
up to its encoder (`retriever`).

The least similar demonstrations are dropped until question and answer fit into the context.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from ...loaders.records import RewriteRequest
from .. import retrievers
from ..deltas import EditEffect
from ..errors import EditFailedError
from ..hparams.of.ike import HyperParams
from ..in_context.demonstrations import Demonstration, InContext, balanced, flat
from ..joint import joined
from ..key_value.tokens import check
from ..probe.decoding import position_limit
from ..probe.matching import contains

NAME = "ike"
PAPER = "Zheng et al. 2023, Can We Edit Factual Knowledge by In-Context Learning? (EMNLP), §4"
KIND = "prompt"
NEEDS_DEMONSTRATIONS = True
"""The caller passes `state={"demonstrations": ...}`; without them only the fact is stated."""


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
    """The prompt change that states the requests' new facts (contract: `editing.methods`).

    Args:
        state: `demonstrations`: candidates; with `exclude_named`, those that name a request's
            subject or targets are excluded. `room`: tokens to reserve for question and answer,
            including those of a chat template. `requests`: of earlier edits; their facts are stated
            too, unless their prompt is edited again.

    Returns:
        With `prompt_change`, an `InContext`; in `state`, for the next edit, also the number of
        demonstrations `used` and their number by kind (`kinds`).

    Raises:
        EditFailedError: the new facts alone do not fit into the model's context.
    """
    check(requests, tokenizer)
    inputs = dict(state or {})
    earlier = {(r.subject, r.prompt): r for r in inputs.get("requests", ())}
    edited = {(r.subject, r.prompt) for r in requests}
    stated = (*(r for key, r in earlier.items() if key not in edited), *requests)
    pool = list(inputs.get("demonstrations", ()))
    if hparams.exclude_named:
        pool = _allowed(pool, stated)
    ranked = _ranked(pool, requests, hparams, seed)
    room = int(inputs.get("room", hparams.room))
    chosen = _fitting(model, tokenizer, ranked, stated, hparams, room)
    kinds = [d.kind for d in ranked[: len(chosen.demonstrations)]]
    return EditEffect(
        state=inputs
        | {
            "requests": stated,
            "used": len(kinds),
            "kinds": {kind: kinds.count(kind) for kind in sorted(set(kinds))},
        },
        n_steps={request.id: 0 for request in requests},
        prompt_change=chosen,
    )


def new_fact(request: RewriteRequest) -> str:
    """The sentence that states a request's new fact, without its full stop."""
    return joined(request.filled_prompt.lstrip(), request.target_new.strip())


def _allowed(
    pool: Sequence[Demonstration], requests: Sequence[RewriteRequest]
) -> list[Demonstration]:
    """Demonstrations that name neither the subject nor the targets of a request."""
    names = [n for r in requests for n in (r.subject, r.target_true, r.target_new) if n.strip()]
    return [d for d in pool if not contains(f"{d.fact} {d.prompt} {d.answer}", names)]


def _ranked(
    pool: Sequence[Demonstration],
    requests: Sequence[RewriteRequest],
    hparams: HyperParams,
    seed: int,
) -> list[Demonstration]:
    """Retrieved demonstrations, most similar to any of the new facts first."""
    retriever = retrievers.get(hparams.retriever)

    def nearest(queries: Sequence[str], texts: Sequence[str]) -> list[float]:
        columns = [retriever.similarities(query, texts, seed=seed) for query in queries]
        return [max(values) for values in zip(*columns, strict=True)]

    facts = [new_fact(request) for request in requests]
    if hparams.mix == "ratio":
        return balanced(pool, hparams.k, hparams.ratio, lambda texts: nearest(facts, texts))
    prompts = [
        f"New Fact: {fact}\nPrompt: {request.filled_prompt.strip()}\n\n"
        for fact, request in zip(facts, requests, strict=True)
    ]
    return flat(pool, hparams.k, lambda texts: nearest(prompts, texts))


def _fitting(
    model: Any,
    tokenizer: Any,
    ranked: Sequence[Demonstration],
    stated: Sequence[RewriteRequest],
    hparams: HyperParams,
    room: int,
) -> InContext:
    """The prompt change with as many demonstrations as the model's context allows."""
    facts, limit = tuple(new_fact(request) for request in stated), position_limit(model)
    for n in range(len(ranked), -1, -1):
        texts = [d.text for d in ranked[:n]]
        ordered = texts if hparams.order == "similar_first" else texts[::-1]
        change = InContext(tuple(ordered), facts)
        if limit is None or len(tokenizer(change(""))["input_ids"]) + room <= limit:
            return change
    raise EditFailedError(
        f"request '{stated[-1].id}': its new fact and {room} tokens for question and answer do not "
        f"fit into the {limit} tokens of the model's context",
        remedy="Shorten the prompts, lower max_new_tokens, or state fewer facts at a time.",
    )
