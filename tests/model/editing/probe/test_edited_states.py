"""Likelihoods of many edited states together, against each state applied and asked by itself."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from functools import partial
from typing import Any

import pytest
import torch

from support.tiny_architectures import pair_of
from support.tiny_models import build_tiny
from thinkeval.editing import architectures
from thinkeval.editing.architectures import adapter_for
from thinkeval.editing.deltas import EditEffect, applied
from thinkeval.editing.errors import DeviceMemoryError, EditingError, ProbeError
from thinkeval.editing.models import LoadedModel, weights_digest, wrap
from thinkeval.editing.probe import (
    ProbeItem,
    ProbeResult,
    ProbeSettings,
    edited_states,
    probe,
    state_passes,
)
from thinkeval.editing.probe.edited_states import probe_states
from thinkeval.editing.probe.linear_updates import updates_of
from thinkeval.editing.probe.state_passes import StatePasses
from thinkeval.editing.probe.token_tree import pack

SETTINGS = ProbeSettings(measures=("likelihood", "likelihood_norm"))
CLOSE = 1e-5

ITEMS = (
    ProbeItem("school", "Harry Potter studied at", "Hogwarts", aliases=("Hogwarts Castle",)),
    ProbeItem("mother", "The mother of Harry Potter is", "Lily Evans", aliases=("Lily Potter",)),
    ProbeItem("lengths", "The capital of France is", "it", aliases=("the city of Marie Curie",)),
    ProbeItem("again", "Harry Potter studied at", "Ilvermorny"),
    ProbeItem("short", "The", "cat"),
    ProbeItem("long", "Apple Inc. was founded by the late and much admired", "Steve Jobs"),
    ProbeItem(
        "more", "Ron Weasley studied at", "Hogwarts", paraphrases=("Ron's school is",),
        separate=True,
    ),
)  # fmt: skip


def low_rank(model: Any, name: str, rank: int, seed: int, size: float = 0.3) -> EditEffect:
    """An update of one parameter with its factors, as methods return it."""
    weight = model.get_parameter(name)
    drawn = torch.Generator().manual_seed(seed)
    left = torch.randn(weight.shape[0], rank, generator=drawn, dtype=torch.float64) * size
    right = torch.randn(rank, weight.shape[1], generator=drawn, dtype=torch.float64) * size
    return EditEffect({name: (left @ right).to(weight.dtype)}, factors={name: (left, right)})


def dense(model: Any, name: str, seed: int, size: float = 0.1) -> EditEffect:
    """An update without factors."""
    weight = model.get_parameter(name)
    drawn = torch.Generator().manual_seed(seed)
    return EditEffect({name: (torch.randn(weight.shape, generator=drawn) * size).to(weight.dtype)})


def states_of(model: Any) -> list[list[EditEffect]]:
    """Every layer and both projections, ranks 1 to 3, sequences, and the model as it is."""
    adapter = adapter_for(model)
    out = [adapter.mlp_out(i).weight for i in range(adapter.n_layers)]
    into = adapter.mlp_in(1).weight
    several = low_rank(model, out[0], 1, 5), low_rank(model, out[1], 1, 6)
    memit = EditEffect({**several[0].deltas, **several[1].deltas}, factors={**several[0].factors})
    return [
        [],
        *([low_rank(model, name, 1, i)] for i, name in enumerate(out)),
        [low_rank(model, into, 2, 7)],
        [memit],
        [low_rank(model, out[1], 3, 8), low_rank(model, out[1], 1, 9), dense(model, into, 10)],
        [dense(model, out[-1], 11)],
    ]


def one_by_one(
    loaded: LoadedModel, states: Sequence[Sequence[EditEffect]], items: Sequence[ProbeItem]
) -> list[list[ProbeResult]]:
    """Each state applied and probed by itself."""
    found = []
    for edits in states:
        with edited_states._applied(loaded, edits):
            found.append(probe(loaded, items, SETTINGS))
    return found


def numbers(results: Sequence[Sequence[ProbeResult]]) -> torch.Tensor:
    """[states, values] of all results, those of paraphrases included."""
    return torch.tensor(
        [
            [
                value or 0.0
                for each in state
                for value in (
                    each.likelihood,
                    each.likelihood_norm,
                    *(v for column in each.paraphrases.values() for v in column),
                )
            ]
            for state in results
        ],
        dtype=torch.float64,
    )


def forbid_fallback(patch: pytest.MonkeyPatch) -> None:
    """Fail where a state is asked by itself."""

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("a state was asked by itself")

    patch.setattr(edited_states, "likelihoods", never)


@pytest.mark.parametrize("architecture", architectures.names())
def test_all_states_together_answer_as_each_by_itself(
    architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = wrap(*pair_of(architecture), name=architecture)
    states = states_of(loaded.model)
    before = weights_digest(loaded.model)
    expected = numbers(one_by_one(loaded, states, ITEMS))
    forbid_fallback(monkeypatch)
    found = numbers(probe_states(loaded, states, ITEMS, SETTINGS))
    assert (found - expected).abs().max() < CLOSE
    # The states differ, so that an exchange of two would be seen.
    assert torch.cdist(expected, expected).fill_diagonal_(1).min() > 10 * CLOSE
    assert weights_digest(loaded.model) == before
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in loaded.model.modules())


def test_progress_within_one_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state of many prompts takes a while: each part of its rows is told."""
    loaded = wrap(*pair_of("gpt2"), name="gpt2")
    forbid_fallback(monkeypatch)
    monkeypatch.setattr("thinkeval.editing.probe.state_passes.PASS_TOKENS", 1)
    monkeypatch.setattr("thinkeval.editing.probe.token_tree.pack.__defaults__", (16,))
    seen: list[float] = []
    states = states_of(loaded.model)[:1]
    probe_states(loaded, states, ITEMS, SETTINGS, progress=lambda n, *_: seen.append(n))
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == (0, 1)
    assert sum(0 < n < 1 for n in seen) > 1


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
def test_in_float64_against_rows_by_themselves(
    architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokenizer = build_tiny(architecture)
    loaded = wrap(model.double(), tokenizer, name=architecture)
    states = states_of(loaded.model)
    forbid_fallback(monkeypatch)
    found = probe_states(loaded, states, ITEMS, SETTINGS)
    for edits, results in zip(states, found, strict=True):
        with edited_states._applied(loaded, edits):
            for item, result in zip(ITEMS, results, strict=True):
                total = _by_hand(loaded, item)
                assert result.likelihood == pytest.approx(total, abs=1e-10)


@torch.no_grad()
def _by_hand(loaded: LoadedModel, item: ProbeItem) -> float:
    """Σ over the names of the product of their tokens' probabilities, one row for each name."""
    begin = loaded.tokenizer(item.prompt)["input_ids"]
    names = {
        tuple(loaded.tokenizer(f"{item.prompt} {name}")["input_ids"][len(begin) :])
        for name in (item.object, *item.aliases)
    }
    first = {n for n in names if not any(n != o and n[: len(o)] == o for o in names)}
    total = 0.0
    for name in first:
        row = torch.tensor([[*begin, *name]])
        log_p = torch.log_softmax(loaded.model(input_ids=row).logits[0], -1)
        places = torch.arange(len(begin) - 1, len(begin) + len(name) - 1)
        total += float(log_p[places, torch.tensor(name)].sum().exp())
    return min(total, 1.0)


@pytest.mark.parametrize("limit", [1, 130, 300, 100_000])
def test_answers_do_not_depend_on_the_size_of_a_pass(
    limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = wrap(*build_tiny("gpt2"), name="gpt2")
    states = states_of(loaded.model)
    many = [*ITEMS, *(ProbeItem(f"n{i}", f"Fact {i} of {i % 7} is", f"{i}") for i in range(60))]
    expected = numbers(one_by_one(loaded, states, many))
    forbid_fallback(monkeypatch)
    settings = ProbeSettings(measures=SETTINGS.measures, batch_tokens=limit)
    assert (numbers(probe_states(loaded, states, many, settings)) - expected).abs().max() < CLOSE


@pytest.mark.parametrize("fits", [1, 3, 0])
def test_less_at_a_time_where_memory_is_short(fits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = wrap(*build_tiny("gpt2"), name="gpt2")
    states = states_of(loaded.model)
    many = [*ITEMS, *(ProbeItem(f"n{i}", f"Fact {i} of {i % 7} is", f"{i}") for i in range(60))]
    expected = numbers(one_by_one(loaded, states, many))
    final, read, refused = state_passes._final, [], []

    def short(adapter: Any, inputs: Any) -> torch.Tensor:
        read.append(len(inputs["input_ids"]))
        if read[-1] > fits and "attention_mask" in inputs and len(read) > 3:  # after the check
            refused.append(read[-1])
            raise torch.OutOfMemoryError("out of memory")
        return final(adapter, inputs)

    forbid_fallback(monkeypatch)
    monkeypatch.setattr(state_passes, "_final", short)
    if not fits:
        with pytest.raises(DeviceMemoryError, match="edited states"):
            probe_states(loaded, states, many, SETTINGS)
    else:
        found = numbers(probe_states(loaded, states, many, SETTINGS))
        assert (found - expected).abs().max() < CLOSE
    # What did not fit is not tried again at every pass.
    assert refused == sorted(refused, reverse=True)
    assert len(refused) == len(set(refused))
    assert max(read) > fits


def test_other_updates_are_asked_by_themselves() -> None:
    model, tokenizer = build_tiny("gpt2")
    loaded = wrap(model, tokenizer, name="gpt2")
    bias = "transformer.h.1.mlp.c_proj.bias"
    drawn = torch.Generator().manual_seed(3)
    others = [
        EditEffect({bias: torch.randn(model.get_parameter(bias).shape, generator=drawn)}),
        dense(model, "transformer.wte.weight", 12, 0.3),
    ]
    adapter = adapter_for(model)
    assert all(updates_of(adapter, [each]) is None for each in others)
    own = low_rank(model, "transformer.h.1.mlp.c_proj.weight", 1, 1)
    assert updates_of(adapter, [own]) is not None
    states = [[others[0]], [own], [others[1]], [own, others[0]]]
    before = weights_digest(model)
    seen: list[tuple[int, int, str]] = []
    found = probe_states(
        loaded,
        states,
        ITEMS,
        SETTINGS,
        progress=lambda n, total, what: seen.append((n, total, what)),
    )
    assert (numbers(found) - numbers(one_by_one(loaded, states, ITEMS))).abs().max() < CLOSE
    assert seen[-1] == (4, 4, "likelihood")
    assert weights_digest(model) == before


def test_weights_of_16_bits_are_rounded_as_the_edited_model_rounds_them() -> None:
    model, tokenizer = pair_of("llama")
    loaded = wrap(deepcopy(model).to(torch.bfloat16), tokenizer, name="half")
    states = [[low_rank(loaded.model, adapter_for(loaded.model).mlp_out(1).weight, 1, 1)]]
    assert updates_of(adapter_for(loaded.model), states[0]) is None
    found = numbers(probe_states(loaded, states, ITEMS, SETTINGS))
    assert torch.equal(found, numbers(one_by_one(loaded, states, ITEMS)))


def test_factors_that_are_not_the_update_are_not_used() -> None:
    loaded = wrap(*build_tiny("llama"), name="llama")
    name = adapter_for(loaded.model).mlp_out(1).weight
    right = low_rank(loaded.model, name, 1, 1)
    wrong = EditEffect(right.deltas, factors=low_rank(loaded.model, name, 1, 2).factors)
    found = numbers(probe_states(loaded, [[right], [wrong]], ITEMS, SETTINGS))
    assert (found[0] - found[1]).abs().max() < CLOSE


def test_sampled_answers_and_in_context_edits_as_by_themselves() -> None:
    loaded = wrap(*build_tiny("gpt2"), name="gpt2")
    settings = ProbeSettings(samples=3, max_new_tokens=4)
    name = adapter_for(loaded.model).mlp_out(1).weight
    states = [
        [low_rank(loaded.model, name, 1, 1)],
        [EditEffect(prompt_change=lambda prompt: f"Hogwarts. {prompt}")],
    ]
    found = probe_states(loaded, states, ITEMS, settings)
    for (edit,), results in zip(states, found, strict=True):
        with applied(loaded.model, edit):
            own = probe(loaded, ITEMS, settings, prompt_change=edit.prompt_change)
        assert [r.answers for r in results] == [r.answers for r in own]
        assert [r.p for r in results] == [r.p for r in own]
        assert [r.likelihood for r in results] == pytest.approx(
            [r.likelihood for r in own], abs=CLOSE
        )


def test_errors_leave_the_model_as_it_was() -> None:
    loaded = wrap(*build_tiny("gpt2"), name="gpt2")
    name = adapter_for(loaded.model).mlp_out(0).weight
    good = low_rank(loaded.model, name, 1, 1)
    before = weights_digest(loaded.model)
    for bad in (torch.full_like(good.deltas[name], float("nan")), torch.zeros(2, 2)):
        with pytest.raises(EditingError, match="the update of"):
            probe_states(loaded, [[good], [EditEffect({name: bad})]], ITEMS, SETTINGS)
    huge = EditEffect({name: torch.full_like(good.deltas[name], 1e38)})
    with pytest.raises(ProbeError, match="NaN or infinite"):
        probe_states(loaded, [[good], [huge]], ITEMS, SETTINGS)
    with pytest.raises(ProbeError, match="'empty' has no object"):
        probe_states(loaded, [[good]], [ProbeItem("empty", "x", " ")], SETTINGS)
    assert probe_states(loaded, [], ITEMS, SETTINGS) == []
    assert probe_states(loaded, [[good]], [], SETTINGS) == [[]]
    assert weights_digest(loaded.model) == before
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in loaded.model.modules())


def test_a_model_that_reads_no_packed_rows_is_asked_one_state_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded = wrap(*build_tiny("gpt2"), name="gpt2")
    states = states_of(loaded.model)[:3]
    expected = numbers(one_by_one(loaded, states, ITEMS))
    forward = loaded.model.transformer.forward

    def counting_on_its_own(*arguments: Any, position_ids: Any = None, **options: Any) -> Any:
        mask = options.get("attention_mask")
        if mask is None or mask.ndim == 4:
            position_ids = None
        return forward(*arguments, position_ids=position_ids, **options)

    monkeypatch.setattr(loaded.model.transformer, "forward", counting_on_its_own)

    def never(*_: Any) -> None:
        raise AssertionError("packed rows were read")

    monkeypatch.setattr(StatePasses, "run", never)
    assert (numbers(probe_states(loaded, states, ITEMS, SETTINGS)) - expected).abs().max() < CLOSE


def test_lower_layers_run_once_for_all_states() -> None:
    loaded = wrap(*build_tiny("gpt2"), name="gpt2")
    adapter = adapter_for(loaded.model)
    states = [[low_rank(loaded.model, adapter.mlp_out(1).weight, 1, i)] for i in range(5)]

    def rows_read(n_states: int) -> list[int]:
        """Rows that each layer computes."""
        read = [0] * adapter.n_layers

        def count(layer: int, _: Any, arguments: Any) -> None:
            read[layer] += len(arguments[0])

        layers: Any = loaded.model.transformer.h
        handles = [
            layer.ln_1.register_forward_pre_hook(partial(count, i))
            for i, layer in enumerate(layers)
        ]
        probe_states(loaded, states[:n_states], ITEMS, SETTINGS)
        for handle in handles:
            handle.remove()
        return read

    one, five = rows_read(1), rows_read(5)
    assert five[0] == one[0] > 0
    assert five[2] > one[2]


def test_sequences_share_their_beginnings() -> None:
    sequences = [(1, 2, 3), (1, 2, 4), (1, 2), (5,), (1, 2, 3, 4), (9, 9, 9, 9, 9)]
    tree = pack(sequences, "cpu", limit=6)
    flat = tree.ids.flatten()
    width = tree.ids.shape[1]
    for sequence, places in zip(sequences, tree.places, strict=True):
        assert tuple(flat[list(places)].tolist()) == sequence
        assert tree.depth.flatten()[list(places)].tolist() == list(range(len(sequence)))
        row = places[0] // width
        columns = [place % width for place in places]
        assert tree.seen[row, columns[-1]].nonzero()[:, 0].tolist() == sorted(columns)
    # 1 2 3 4, 4, 5 and 9 9 9 9 9: 5 + 1 tokens in the first row, 5 in the second.
    assert tree.ids.shape == (2, 6)
