"""Recall of an organism: exact teacher-forced probabilities, no sampling."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from ...loaders.records import KnowledgeGraph, fill
from ..answer_tokens import answer_ids, text_ids
from ..joint import parted
from .keys import Key, facts_to_learn
from .report import KNOWN, WORST, FactRecall, RecallReport

BATCH = 64
"""Prompts per forward pass."""


@torch.no_grad()
def likelihoods(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, queries: Sequence[tuple[str, str]]
) -> list[float]:
    """P(object | prompt) of each (prompt, object), tokenised as a probe does it.

    The product over the object's tokens; the continuation after the object is arbitrary.
    """
    result: list[float] = []
    for start in range(0, len(queries), BATCH):
        rows = [_encoded(tokenizer, *query) for query in queries[start : start + BATCH]]
        heads, tails = zip(*rows, strict=True)
        width = max(len(h) + len(t) for h, t in zip(heads, tails, strict=True))
        ids = torch.full((len(heads), width), 0)
        for i, (head, tail) in enumerate(zip(heads, tails, strict=True)):
            ids[i, : len(head) + len(tail)] = torch.tensor(head + tail)
        # Right padding needs no mask in a causal model; a mask of ones avoids a warning.
        logits = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits.log_softmax(-1)
        for i, (head, tail) in enumerate(zip(heads, tails, strict=True)):
            places = range(len(head) - 1, len(head) + len(tail) - 1)
            result.append(sum(logits[i, at, t].item() for at, t in zip(places, tail, strict=True)))
    return torch.tensor(result, dtype=torch.float64).exp().tolist()


def _encoded(
    tokenizer: PreTrainedTokenizerFast, prompt: str, name: str
) -> tuple[list[int], list[int]]:
    """The tokens of a prompt and of an object behind it."""
    text, lead = parted(prompt)
    head = text_ids(tokenizer, text)
    return head, answer_ids(tokenizer, text, head, name, lead=lead)


def _summed(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    queries: Iterable[tuple[str, Sequence[str]]],
) -> list[dict[str, float]]:
    """For each (prompt, objects): the probability of each object."""
    queries = list(queries)
    flat = [(prompt, name) for prompt, names in queries for name in names]
    values = iter(likelihoods(model, tokenizer, flat))
    return [{name: next(values) for name in names} for _, names in queries]


def _total(tokenizer: PreTrainedTokenizerFast, by_name: dict[str, float]) -> float:
    """The sum, without objects that continue another one ("Disney World" after "Disney")."""
    ids = {name: tuple(tokenizer.encode(" " + name)) for name in by_name}
    starts = set(ids.values())
    return sum(
        p
        for name, p in by_name.items()
        if not any(ids[name][:cut] in starts for cut in range(1, len(ids[name])))
    )


def measure(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    graph: KnowledgeGraph,
    keys: Sequence[Key],
) -> RecallReport:
    """The recall of a graph's keys (`keys_of(graph)`) by a trained model."""
    by_key = _summed(model, tokenizer, ((fill(k.prompt, k.subject), k.cloze.objects) for k in keys))
    totals = [_total(tokenizer, values) for values in by_key]
    at = {(k.subject, k.prompt): i for i, k in enumerate(keys)}
    facts = []
    for fact in facts_to_learn(graph):
        i = at[fact.subject, fact.prompt]
        p = by_key[i][fact.object]
        facts.append(FactRecall(fact.subject, fact.prompt, fact.object, p, totals[i]))
    single = [f for f in facts if len(by_key[at[f.subject, f.prompt]]) == 1]
    listed = [f for f in facts if len(by_key[at[f.subject, f.prompt]]) > 1]
    forms = [(fill(f.template, k.subject), f.objects) for k in keys for f in k.paraphrases]
    by_form = [_total(tokenizer, values) for values in _summed(model, tokenizer, forms)]
    new = likelihoods(model, tokenizer, [(r.filled_prompt, r.target_new) for r in graph.rewrites])
    highest = max(range(len(new)), key=new.__getitem__) if new else None
    return RecallReport(
        n_facts=len(facts),
        n_keys=len(keys),
        share=_share(f.p_key for f in facts) or 0.0,
        share_single=_share(f.p_key for f in single),
        share_listed=_share(f.p_key for f in listed),
        mean_p=sum(totals) / len(totals),
        paraphrases=_share(by_form),
        max_target_new=None if highest is None else new[highest],
        max_target_new_of=None if highest is None else graph.rewrites[highest].id,
        worst=tuple(sorted(facts, key=lambda f: f.p_key)[:WORST]),
    )


def _share(values: Iterable[float]) -> float | None:
    """Fraction of values above `KNOWN`; None without values."""
    values = list(values)
    return sum(v > KNOWN for v in values) / len(values) if values else None
