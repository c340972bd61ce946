"""Requests that share a key: against keys read by hooks, one float64 row at a time."""

from __future__ import annotations

import pytest
import torch

from support.references.architecture_reference import ArchitectureReference
from support.references.edit_reference import Reference
from support.tiny_architectures import pair_of
from support.tiny_models import build_tiny
from thinkeval.editing.architectures import names
from thinkeval.editing.errors import HparamsError, RequestError
from thinkeval.editing.key_value import keys
from thinkeval.editing.key_value.shared_keys import groups, similar_keys
from thinkeval.editing.models import weights_digest
from thinkeval.loaders.records import RewriteRequest


def request(name, prompt, subject):
    return RewriteRequest(name, "test", prompt, subject, "r", "old", "new")


REQUESTS = [
    request("studied", "{} studied at", "Harry Potter"),
    request("mother", "The mother of {} is", "Harry Potter"),
    request("france", "The capital of {} is", "France"),
    request("friend", "{} has a friend, who is", "Harry Potter"),
    request("poland", "The capital of {} is", "Poland"),
    request("ron", "{} studied at", "Ron Weasley"),
]
SAME = (0, 3)
"""Facts of one subject whose prompts begin with it."""


def expected(reference, layer, requests):
    """The cosines of all pairs, [n, n]."""
    rows = [reference.key(layer, r.prompt, r.subject) for r in requests]
    units = torch.stack([row / row.norm() for row in rows])
    return units @ units.T


@pytest.mark.parametrize("name", names())
def test_neighbours_are_those_of_keys_read_one_by_one(name):
    """At thresholds between the cosines, so that rounding decides about none."""
    model, tokenizer = pair_of(name)
    cosines = expected(ArchitectureReference(model, tokenizer), 1, REQUESTS)
    assert cosines[SAME] == pytest.approx(1.0, abs=1e-12)
    others = sorted(cosines[i, j].item() for i in range(6) for j in range(i) if (j, i) != SAME)
    middles = [(a + b) / 2 for a, b in zip(others, [*others[1:], 1.0], strict=True) if b - a > 1e-4]
    assert len(middles) > 5
    for threshold in middles:
        above = [
            tuple(j for j in range(6) if j != i and cosines[i, j] > threshold) for i in range(6)
        ]
        assert similar_keys(model, tokenizer, REQUESTS, 1, threshold) == above


@pytest.mark.parametrize("layer", [0, 1, 2])
@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
def test_a_subject_at_the_start_has_one_key(architecture, layer):
    """Cosine 1 up to float32's error; the same subject behind other words has another key."""
    pair = build_tiny(architecture, seed=5, scale=16)
    assert similar_keys(*pair, REQUESTS, layer, 1 - 1e-6) == [(3,), (), (), (0,), (), ()]
    cosines = expected(Reference(*pair), layer, REQUESTS)
    assert cosines[0, 1] < 1 - 1e-3


def test_batches_change_nothing(monkeypatch):
    pair = build_tiny("gpt2", seed=5, scale=16)
    whole = similar_keys(*pair, REQUESTS, 1, 0.6)
    assert 0 < sum(map(len, whole)) < 30
    monkeypatch.setattr(keys, "BATCH_ROWS", 2)
    monkeypatch.setattr("thinkeval.editing.key_value.shared_keys.BATCH_ROWS", 2)
    assert similar_keys(*pair, REQUESTS, 1, 0.6) == whole


def test_nothing_stays_on_the_model():
    model, tokenizer = build_tiny("llama", seed=5)
    model.train()
    before = weights_digest(model)
    similar_keys(model, tokenizer, REQUESTS, 1)
    assert weights_digest(model) == before
    assert all(m.training for m in model.modules())
    assert all(p.requires_grad and p.grad is None for p in model.parameters())
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


def test_a_key_of_length_0_is_similar_to_none():
    model, tokenizer = build_tiny("gpt2", seed=5)
    with torch.no_grad():
        model.transformer.h[0].mlp.c_fc.weight.zero_()
        model.transformer.h[0].mlp.c_fc.bias.zero_()
    assert similar_keys(model, tokenizer, REQUESTS, 0) == [()] * 6


def test_bad_input():
    pair = build_tiny("gpt2", seed=5)
    assert similar_keys(*pair, [], 0) == []
    assert similar_keys(*pair, REQUESTS[:1], 0) == [()]
    with pytest.raises(HparamsError, match=r"layer 3.*0 to 2"):
        similar_keys(*pair, REQUESTS, 3)
    with pytest.raises(RequestError, match="'bad'"):
        similar_keys(*pair, [request("bad", "no slot", "Harry")], 0)


@pytest.mark.parametrize(
    ("neighbours", "components"),
    [
        ([], []),
        ([(), ()], [(0,), (1,)]),
        ([(2,), (), (0,)], [(0, 2), (1,)]),
        # 0 and 4 are joined by 2 alone.
        ([(2,), (3,), (0, 4), (1,), (2,), ()], [(0, 2, 4), (1, 3), (5,)]),
    ],
)
def test_groups_are_connected_components(neighbours, components):
    assert groups(neighbours) == components
