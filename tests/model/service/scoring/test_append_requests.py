"""Requests to append that are built with a model: their new answers are not what it gives."""

from __future__ import annotations

import math
from typing import Any

import torch

from support.own_graphs import hogwarts_as, own_graphs
from thinkeval.service.graphs import datasets, requests
from thinkeval.service.scoring.append import build_requests
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel


def probability(model: Any, tokenizer: Any, prompt: str, name: str) -> float:
    """exp of the mean log-probability of the name's tokens after the prompt, in float64."""
    start = len(tokenizer(prompt)["input_ids"])
    ids = torch.tensor([tokenizer(f"{prompt} {name}")["input_ids"]])
    with torch.no_grad():
        logs = model(ids).logits[0].double().log_softmax(-1)
    own = [float(logs[i - 1, ids[0, i]]) for i in range(start, ids.shape[1])]
    return math.exp(sum(own) / len(own))


def test_new_answers_are_not_above_the_percentile(runtime: Runtime, organism: RuntimeModel) -> None:
    loaded = organism.loaded
    with own_graphs(runtime.db) as prefix:
        name = hogwarts_as(runtime.db, prefix)
        before = datasets.dataset(runtime.db, name)
        keys = {key.pair: key for key in requests.keys(runtime.db, name)}
        made = build_requests(runtime, before, model="organism:on=hogwarts")
        assert made.built
        assert made.keys == len(keys) == len(made.built) + len(made.refused)
        for request in made.built:
            key = keys[request.subject, request.relation]
            prior = {
                n: probability(loaded.model, loaded.tokenizer, request.filled_prompt, n)
                for n in key.range
            }
            ranked = sorted(prior.values())
            bound = ranked[math.ceil(0.9 * len(ranked)) - 1]
            assert prior[request.target_new] <= bound * (1 + 1e-5)
            assert max(prior[n] for n in request.correct) > prior[request.target_new]
        stored = datasets.stored_graph(runtime.db, name)
        assert {r.id for r in made.built} <= {r.id for r in stored.rewrites}
        after = datasets.dataset(runtime.db, name)
        assert after.digest == stored.content_digest != before.digest
        again = build_requests(runtime, after, model="organism:on=hogwarts")
        assert (again.built, again.stored) == ((), len(made.built))
