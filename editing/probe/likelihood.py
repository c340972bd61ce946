"""The likelihood measure: exact, teacher-forced, without sampling noise.

For a prompt x and the set A of token sequences of the object's name and its aliases,

    likelihood      = Σ_{a ∈ A*} Π_t P(a_t | x, a_<t)        A* = A without the sequences that
                                                                begin with another one of A
    likelihood_norm = max_{a ∈ A} exp( (1/|a|) Σ_t log P(a_t | x, a_<t) )

The likelihood is the probability that the answer begins with the name or an alias: no sequence of
A* begins with another one, so the events are disjoint and their probabilities add up. It is defined
on tokens; it differs from the sampled proportion if an answer continues into a longer word
(`Paris` + `ian`), or contains the name later or in other tokens. The normalised variant compares
objects of different length; it is not the probability of an event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from ..errors import ProbeError
from ..models import LoadedModel
from .batching import in_batches, room_for
from .decoding import Continuation, position_limit, shared_head
from .prompts import Query, Rendered, answer_ids, prompt_ids

Tokens = tuple[int, ...]


class Likelihood(NamedTuple):
    """The two values of one query, both in [0, 1]."""

    likelihood: float
    likelihood_norm: float


class _Row(NamedTuple):
    """One sequence after one prompt."""

    rendered: Rendered
    answer: Tokens


def prefix_free(sequences: Sequence[Tokens]) -> list[Tokens]:
    """Distinct sequences that do not begin with another one, in order of first appearance.

    The event of a longer sequence is contained in that of its prefix, and must not be added.
    """
    distinct = list(dict.fromkeys(sequences))
    known = set(distinct)
    return [s for s in distinct if not any(s[:n] in known for n in range(1, len(s)))]


@torch.no_grad()
def likelihoods(
    loaded: LoadedModel,
    queries: Sequence[Query],
    *,
    batch_tokens: int | None = None,
    done: Callable[[int, int], None] | None = None,
) -> list[Likelihood]:
    """Score every query; equal prompts and sequences are computed once.

    Args:
        loaded: model and tokenizer; unchanged on return.
        queries: prompts with the right answers.
        batch_tokens: maximum tokens of a batch, by default as many as fit.
        done: called with the numbers of completed and of all distinct sequences.

    Raises:
        ProbeError: an empty name, a row too long for the model, or a probability that is not
            finite; names the item.
        DeviceMemoryError: a single row does not fit.
    """
    prompts: dict[Rendered, list[int]] = {}
    answers = [token_sequences(loaded, query, prompts) for query in queries]
    owner: dict[_Row, str] = {}
    for query, sequences in zip(queries, answers, strict=True):
        for sequence in sequences:
            owner.setdefault(_Row(query.rendered, sequence), query.item)
    rows = list(owner)
    scores = _score(loaded, rows, prompts, owner, batch_tokens, done)
    return [
        _combine(sequences, [scores[_Row(query.rendered, s)] for s in sequences])
        for query, sequences in zip(queries, answers, strict=True)
    ]


def token_sequences(
    loaded: LoadedModel, query: Query, prompts: dict[Rendered, list[int]]
) -> list[Tokens]:
    """Distinct token sequences of a query's names; fills `prompts` with its prompt's tokens.

    Raises:
        ProbeError: an empty prompt or name, or a row too long for the model; names the item.
    """
    rendered, limit = query.rendered, position_limit(loaded.model)
    if rendered not in prompts:
        prompts[rendered] = prompt_ids(loaded.tokenizer, rendered)
    prompt = prompts[rendered]
    if not prompt:
        raise ProbeError(f"the prompt of '{query.item}' is empty", remedy="Give it a prompt.")
    found = []
    for name in query.names:
        sequence = tuple(answer_ids(loaded.tokenizer, rendered, prompt, name))
        if not sequence:
            raise ProbeError(
                f"the object '{name}' of '{query.item}' has no tokens",
                remedy="Give the fact an object that the tokenizer can write.",
            )
        if limit is not None and len(prompt) + len(sequence) > limit:
            raise ProbeError(
                f"'{query.item}' takes {len(prompt) + len(sequence)} tokens; the model reads "
                f"{limit}",
                remedy="Shorten the prompt.",
            )
        found.append(sequence)
    return list(dict.fromkeys(found))


def _score(
    loaded: LoadedModel,
    rows: Sequence[_Row],
    prompts: dict[Rendered, list[int]],
    owner: dict[_Row, str],
    batch_tokens: int | None,
    done: Callable[[int, int], None] | None,
) -> dict[_Row, Tensor]:
    """Log-probability of each token of each row, float32 on the CPU."""
    scores: dict[_Row, Tensor] = {}

    @cache
    def head() -> Continuation | None:
        return shared_head(loaded.model, prompts.values(), loaded.tokenizer.pad_token_id)

    def work(indices: list[int]) -> None:
        batch = [rows[i] for i in indices]
        for row, value in zip(batch, _forward(loaded, batch, prompts, head()), strict=True):
            if not torch.isfinite(value).all():
                raise ProbeError(
                    f"the model gives NaN or infinite probabilities for '{owner[row]}'"
                )
            scores[row] = value

    room = room_for(loaded.model, batch_tokens)
    # Logits of each token of the answer, and those that one position is normalised with.
    costs = [
        room.cost(len(prompts[row.rendered]) + len(row.answer), len(row.answer) + 1) for row in rows
    ]
    in_batches(costs, room.tokens, work, what="the likelihood probe", done=done)
    return scores


def _forward(
    loaded: LoadedModel,
    batch: Sequence[_Row],
    prompts: dict[Rendered, list[int]],
    head: Continuation | None,
) -> list[Tensor]:
    """Log-probabilities of the answers' tokens for one batch."""
    texts = {rendered: i for i, rendered in enumerate(dict.fromkeys(r.rendered for r in batch))}
    pad_id = loaded.tokenizer.pad_token_id
    state = Continuation(loaded.model, [prompts[text] for text in texts], pad_id, head)
    device = state.logits.device
    width = max(len(row.answer) for row in batch)
    target = torch.full((len(batch), width), pad_id)
    real = torch.zeros(len(batch), width, dtype=torch.long)
    for i, row in enumerate(batch):
        target[i, : len(row.answer)] = torch.tensor(row.answer)
        real[i, : len(row.answer)] = 1
    target, real = target.to(device), real.to(device)
    which = torch.tensor([texts[row.rendered] for row in batch], device=device)
    log_p = torch.zeros(len(batch), width, device=device)
    log_p[:, :1] = _log_softmax_at(state.logits, target[:, :1], which)
    longer = torch.tensor([len(row.answer) > 1 for row in batch], device=device)
    if width > 1:
        # The prediction after an answer's last token is not needed.
        state.select(which[longer], logits=False)
        logits = state.feed(target[longer, :-1], real[longer, :-1])
        log_p[longer, 1:] = _log_softmax_at(logits, target[longer, 1:])
    values = log_p.cpu()
    return [value[: len(row.answer)] for value, row in zip(values, batch, strict=True)]


def _log_softmax_at(logits: Tensor, ids: Tensor, rows: Tensor | None = None) -> Tensor:
    """Log P of `ids` [n, t] in float32, without a float32 copy of all logits at once.

    Args:
        logits: [n, t, vocabulary]; with `rows`, [prompts, vocabulary] for t = 1.
        ids: tokens of the log-probabilities.
        rows: [n], prompt of each row.
    """
    if rows is not None:
        norm = torch.logsumexp(logits.float(), -1)[rows]
        return logits[rows, ids[:, 0]].float()[:, None] - norm[:, None]
    chosen = logits.gather(-1, ids[..., None])[..., 0].float()
    norm = torch.stack([torch.logsumexp(step.float(), -1) for step in logits.unbind(1)], 1)
    return chosen - norm


def _combine(sequences: Sequence[Tokens], scores: Sequence[Tensor]) -> Likelihood:
    disjoint = set(prefix_free(sequences))
    # In float64: a sum of many small numbers, and 1 must not become 1.0000001.
    total = sum(
        float(score.double().sum().exp())
        for sequence, score in zip(sequences, scores, strict=True)
        if sequence in disjoint
    )
    best = max(float(score.double().mean().exp()) for score in scores)
    return Likelihood(min(total, 1.0), min(best, 1.0))
