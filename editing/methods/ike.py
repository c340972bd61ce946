"""In-context editing: the new fact and worked examples are put before every prompt.

No weight changes. The examples (`state["demonstrations"]`, made from the graph by the caller) are
retrieved by their similarity to the new fact. Defaults are the paper's: copy, update and retain
in the ratio 1 : 3 : 4, one of each retrieved fact, the most similar one last, next to the prompt.
The code that published comparisons of editors ran takes the most similar texts of one flat list,
most similar first, whatever their kinds: `mix` and `order`. The ratio is the default because the
most similar texts are nearly all copies, which teach nothing of what has to stay.

As many examples are shown as leave room for question and answer, the least similar left out first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor, nn

from thinkeval.editing.deltas import EditEffect
from thinkeval.editing.errors import EditFailedError
from thinkeval.editing.hparams.schema import Schema, require
from thinkeval.editing.in_context import retrievers
from thinkeval.editing.in_context.demonstrations import Demonstration, InContext, balanced, flat
from thinkeval.editing.key_value.tokens import check
from thinkeval.editing.probe.decoding import position_limit
from thinkeval.editing.probe.matching import contains
from thinkeval.loaders.records import RewriteRequest

NAME = "ike"
PAPER = "Zheng et al. 2023, Can We Edit Factual Knowledge by In-Context Learning? (EMNLP), §4"
KIND = "prompt"
NEEDS_DEMONSTRATIONS = True
"""The caller passes `state={"demonstrations": ...}`; without it no example is shown."""


@dataclass(frozen=True, kw_only=True)
class HyperParams(Schema):
    """IKE's published keys, and what its forms differ in.

    Attributes:
        k: demonstrations at most (published files 16; the paper 32).
        retriever: a name of `editing.in_context.retrievers.names()`.
        mix: `ratio` (the paper) or `published_code` (one flat list).
        ratio: copy : update : retain.
        order: `similar_last` (the paper) or `similar_first` (published code).
        room: tokens kept for question and answer where the caller does not say what it will ask.
        sentence_model_name: the published encoder; a record only, see `retriever`.
    """

    k: int = 16
    retriever: str = "tfidf"
    mix: Literal["ratio", "published_code"] = "ratio"
    ratio: tuple[int, ...] = (1, 3, 4)
    order: Literal["similar_last", "similar_first"] = "similar_last"
    room: int = 64
    model_name: str | None = None
    sentence_model_name: str | None = None

    def check(self) -> None:
        """Ranges of the numbers, and a retriever that exists."""
        require(self.k >= 0, "'k' must not be negative")
        require(self.room >= 1, "'room' has to be 1 or more")
        fits = len(self.ratio) == 3 and min(self.ratio) >= 0 and sum(self.ratio) > 0
        require(fits, "'ratio' is a list of three numbers from 0: copy, update, retain")
        retrievers.get(self.retriever)


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
    """The change of the prompt that states the requests' new facts. No weight is touched.

    `covariance`, `context_templates` and `targets` are not used.

    Args:
        state: `demonstrations`: `Demonstration`s to choose from; those that name a request's
            subject or targets are left out. `room`: tokens to keep for question and answer, with
            all that a chat template adds. `requests`: of earlier edits; their facts are stated
            too, except where a prompt is edited anew.
        seed: for retrievers that draw.

    Returns:
        With `prompt_change`, an `InContext`; `state` for the next edit, with the number of
        demonstrations `used` and those of each kind (`kinds`).

    Raises:
        RequestError: a request cannot be edited.
        EditFailedError: the new facts alone leave no room in the model's context.
    """
    check(requests, tokenizer)
    given = dict(state or {})
    known = {(r.subject, r.prompt): r for r in given.get("requests", ())}
    known = {
        key: r for key, r in known.items() if key not in {(n.subject, n.prompt) for n in requests}
    }
    told = (*known.values(), *requests)
    pool = _allowed(given.get("demonstrations", ()), told)
    ranked = _ranked(pool, requests, hparams, seed)
    room = int(given.get("room", hparams.room))
    chosen = _fitting(model, tokenizer, ranked, told, hparams, room)
    kinds = [d.kind for d in ranked[: len(chosen.demonstrations)]]
    return EditEffect(
        state=given
        | {
            "requests": told,
            "used": len(kinds),
            "kinds": {kind: kinds.count(kind) for kind in sorted(set(kinds))},
        },
        n_steps={request.id: 0 for request in requests},
        prompt_change=chosen,
    )


def new_fact(request: RewriteRequest) -> str:
    """The sentence that states a request's new fact, without its full stop."""
    return f"{request.filled_prompt.strip()} {request.target_new.strip()}"


def _allowed(
    pool: Sequence[Demonstration], requests: Sequence[RewriteRequest]
) -> list[Demonstration]:
    """The demonstrations that name neither subject nor targets of a request."""
    names = [n for r in requests for n in (r.subject, r.target_true, r.target_new) if n.strip()]
    return [d for d in pool if not contains(f"{d.fact} {d.prompt} {d.answer}", names)]


def _ranked(
    pool: Sequence[Demonstration],
    requests: Sequence[RewriteRequest],
    hparams: HyperParams,
    seed: int,
) -> list[Demonstration]:
    """The chosen demonstrations, most similar to any of the new facts first."""
    retriever = retrievers.get(hparams.retriever)

    def nearest(queries: Sequence[str], texts: Sequence[str]) -> list[float]:
        columns = [retriever.similarities(query, texts, seed=seed) for query in queries]
        return [max(values) for values in zip(*columns, strict=True)]

    facts = [new_fact(request) for request in requests]
    if hparams.mix == "ratio":
        return balanced(pool, hparams.k, hparams.ratio, lambda texts: nearest(facts, texts))
    asked = [
        f"New Fact: {fact}\nPrompt: {request.filled_prompt.strip()}\n\n"
        for fact, request in zip(facts, requests, strict=True)
    ]
    return flat(pool, hparams.k, lambda texts: nearest(asked, texts))


def _fitting(
    model: Any,
    tokenizer: Any,
    ranked: Sequence[Demonstration],
    told: Sequence[RewriteRequest],
    hparams: HyperParams,
    room: int,
) -> InContext:
    """The change of the prompt with as many demonstrations as the model has positions for."""
    facts, limit = tuple(new_fact(request) for request in told), position_limit(model)
    for n in range(len(ranked), -1, -1):
        texts = [d.text for d in ranked[:n]]
        ordered = texts if hparams.order == "similar_first" else texts[::-1]
        change = InContext(tuple(ordered), facts)
        if limit is None or len(tokenizer(change(""))["input_ids"]) + room <= limit:
            return change
    raise EditFailedError(
        f"request '{told[-1].id}': its new fact and {room} tokens for question and answer do not "
        f"fit into the {limit} that the model reads",
        remedy="Shorten the prompts, lower max_new_tokens, or state fewer facts at a time.",
    )
