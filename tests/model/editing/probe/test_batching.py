"""Batches bounded by tokens, and halved when memory runs out."""

from __future__ import annotations

import math
from unittest.mock import Mock

import pytest
import torch

from support.tiny_models import build_tiny
from thinkeval.editing.errors import DeviceMemoryError
from thinkeval.editing.probe import batching
from thinkeval.editing.probe.batching import (
    in_batches,
    is_out_of_memory,
    room_for,
    weight_bytes,
)

TOO_MUCH = 1 << 46
"""Numbers: more bytes than a 64-bit address space has, so that the allocator itself refuses."""


def _allocator_refuses() -> None:
    torch.empty(TOO_MUCH)


def test_every_index_once_largest_first_within_the_limit():
    costs = [3, 50, 7, 7, 20, 1, 1, 1]
    batches: list[list[int]] = []
    in_batches(costs, 21, batches.append)
    assert sorted(i for batch in batches for i in batch) == list(range(len(costs)))
    assert batches[0] == [1]  # alone above the limit, still done
    for batch in batches[1:]:
        assert len(batch) * max(costs[i] for i in batch) <= 21
    assert [costs[i] for batch in batches for i in batch] == sorted(costs, reverse=True)


def test_nothing_to_do():
    assert in_batches([], 10, lambda batch: pytest.fail("called")) == 10


def test_out_of_memory_halves_this_batch_and_all_later_ones():
    tried: list[int] = []
    finished: list[int] = []

    def work(batch: list[int]) -> None:
        tried.append(len(batch))
        if len(batch) > 3:
            _allocator_refuses()
        finished.extend(batch)

    steps: list[tuple[int, int]] = []
    left = in_batches([10] * 20, 100, work, done=lambda done, total: steps.append((done, total)))
    assert left == 25
    assert sorted(finished) == list(range(20))
    assert tried == [10, 5, *[2] * 10]
    assert steps[0] == (0, 20)
    assert steps[-1] == (20, 20)


def test_no_memory_for_a_single_row_is_a_clear_error():
    with pytest.raises(DeviceMemoryError, match="the probe, not even for one row of 30") as caught:
        in_batches([10, 30], 100, lambda batch: _allocator_refuses(), what="the probe")
    assert "--dtype bfloat16" in caught.value.remedy


def test_other_errors_pass_through():
    def work(batch: list[int]) -> None:
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes"):
        in_batches([1, 1], 10, work)
    assert is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory."))
    assert not is_out_of_memory(ValueError("out of memory"))


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
def test_default_limit_is_bounded(architecture: str):
    model, _ = build_tiny(architecture)
    assert 512 <= room_for(model).tokens <= 32_768


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
def test_logits_count_by_the_size_of_the_vocabulary(architecture: str):
    """A model with a vocabulary a thousand times as large gets batches of fewer rows."""
    model, _ = build_tiny(architecture)
    small = room_for(model)
    model.config.vocab_size *= 1000
    large = room_for(model)
    assert 900 * (small.logits - 1) <= large.logits <= 1000 * small.logits
    assert large.tokens == small.tokens
    assert small.cost(10, 2) == 10 + 2 * small.logits
    assert large.cost(10, 2) > 100 * small.cost(10, 2)


def test_on_a_cpu_a_batch_takes_at_most_half_of_the_weights(monkeypatch: pytest.MonkeyPatch):
    model, _ = build_tiny("llama")
    monkeypatch.setattr(batching, "MIN_TOKENS", 1)
    monkeypatch.setattr(batching, "_LEAST_BYTES", 0)
    config = model.config
    head = config.hidden_size // config.num_attention_heads
    cached = 2 * config.num_hidden_layers * config.num_key_value_heads * head
    active = 4 * config.hidden_size + 3 * config.intermediate_size
    weights = 4 * sum(parameter.numel() for parameter in model.parameters())
    assert weight_bytes(model) == weights
    assert room_for(model).tokens == weights // 2 // (4 * (cached + active)) > 1
    growing = room_for(model, growing=True)
    assert growing.tokens == weights // 2 // (4 * cached)
    assert growing.logits == math.ceil(config.vocab_size / cached)
    monkeypatch.setattr(batching, "_LEAST_BYTES", weights)
    assert room_for(model).tokens == weights // (4 * (cached + active))


def test_batches_follow_the_memory_of_the_fullest_device_not_what_is_free(
    monkeypatch: pytest.MonkeyPatch,
):
    cards = [torch.device("cuda", number) for number in (0, 1)]
    total = {cards[0]: 1 << 24, cards[1]: 1 << 22}
    taken = dict.fromkeys(cards, 0)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda d: (total[d] - taken[d], total[d]))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda d: 0)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda d: 0)
    monkeypatch.setattr(batching, "MIN_TOKENS", 1)
    parts = [Mock(device=card, numel=lambda: 100, element_size=lambda: 4) for card in cards]
    model = Mock(config=build_tiny("llama")[0].config, parameters=lambda: iter(parts))
    room = room_for(model)
    assert room.tokens == ((1 << 22) - 400) // 4 // room.per_token
    taken[cards[1]] = 1 << 21
    assert room_for(model) == room
    taken[cards[1]] = (1 << 22) - (1 << 19)
    assert room_for(model).tokens == (1 << 19) // room.per_token


def test_a_batch_that_the_caller_sizes_counts_tokens_alone():
    model, _ = build_tiny("llama")
    room = room_for(model, 40)
    assert room.tokens == 40
    assert room.cost(10, 5) == 10
