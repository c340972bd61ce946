"""The likelihood against counting every continuation, and against row-by-row forward passes."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
import transformers

from support.tiny_architectures import pair_of
from support.tiny_models import build_tiny
from support.toy_vocabulary import continuations, toy, words
from thinkeval.editing.errors import ProbeError
from thinkeval.editing.models import LoadedModel, wrap
from thinkeval.editing.probe import ProbeItem, ProbeResult, ProbeSettings, decoding, probe
from thinkeval.editing.probe.likelihood import prefix_free

LIKELIHOOD = ProbeSettings(measures=("likelihood", "likelihood_norm"))

ITEMS = (
    ProbeItem("school", "Harry Potter studied at", "Hogwarts", aliases=("Hogwarts Castle",)),
    ProbeItem("mother", "The mother of Harry Potter is", "Lily Evans", aliases=("Lily Potter",)),
    ProbeItem("lengths", "The capital of France is", "it", aliases=("the city of Marie Curie",)),
    ProbeItem("again", "Harry Potter studied at", "Ilvermorny"),
    ProbeItem("short", "The", "cat"),
    ProbeItem("long", "Apple Inc. was founded by the late and much admired", "Steve Jobs"),
    ProbeItem("first", "{} Émile".format("Zoë"), "Łódź 漢字", aliases=("Lodz",)),
)


def _tiny(architecture: str) -> LoadedModel:
    return wrap(*build_tiny(architecture), name=architecture)


def _values(results: list[ProbeResult]) -> dict[str, tuple[float, float]]:
    return {r.id: (r.likelihood or 0.0, r.likelihood_norm or 0.0) for r in results}


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
@pytest.mark.parametrize(
    "names",
    [
        ("red",),
        ("red cat",),
        ("red", "blue cat", "green"),
        ("red", "red cat", "red cat sees"),  # each says what the first says: count it once
        ("red cat sees", "red cat", "blue", "blue"),
        ("dog dog dog", "dog dog cat", "cat"),
    ],
)
def test_likelihood_is_the_sum_over_every_continuation(architecture: str, names: tuple[str, ...]):
    loaded = toy(architecture)
    prompt = "cat sees blue"
    begins = [name.split() for name in names]
    expected = sum(
        p
        for tail, p in continuations(loaded, prompt, 3)
        if any(words(tail)[: len(begin)] == begin for begin in begins)
    )
    item = ProbeItem("x", prompt, names[0], aliases=names[1:])
    (result,) = probe(loaded, [item], LIKELIHOOD)
    assert result.likelihood == pytest.approx(expected, abs=1e-6)
    assert 0.001 < expected < 0.999


def test_all_continuations_together_are_certain():
    loaded = toy()
    item = ProbeItem(
        "x", "cat", "red", aliases=("<end>", ".", "blue", "green", "cat", "dog", "sees")
    )
    (result,) = probe(loaded, [item], LIKELIHOOD)
    assert result.likelihood == pytest.approx(1.0, abs=1e-6)
    assert result.likelihood is not None
    assert result.likelihood <= 1.0


def _row_by_row(loaded: LoadedModel, items: Sequence[ProbeItem]) -> dict[str, tuple[float, float]]:
    """No batch, no padding, no cache: the plainest way to write it down."""
    found = {}
    for item in items:
        prompt = loaded.tokenizer(item.prompt)["input_ids"]
        rows = []
        for name in (item.object, *item.aliases):
            ids = loaded.tokenizer(f"{item.prompt} {name}")["input_ids"]
            with torch.no_grad():
                log_p = loaded.model(torch.tensor([ids])).logits[0].double().log_softmax(-1)
            steps = [log_p[i - 1, ids[i]].item() for i in range(len(prompt), len(ids))]
            rows.append((tuple(ids[len(prompt) :]), steps))
        free = prefix_free([ids for ids, _ in rows])
        total = sum(math.exp(sum(steps)) for ids, steps in rows if ids in free)
        norm = max(math.exp(sum(steps) / len(steps)) for _, steps in rows)
        found[item.id] = (total, norm)
    return found


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
def test_against_one_row_at_a_time(architecture: str):
    loaded = _tiny(architecture)
    results, expected = _values(probe(loaded, ITEMS, LIKELIHOOD)), _row_by_row(loaded, ITEMS)
    for item in ITEMS:
        assert results[item.id] == pytest.approx(expected[item.id], rel=2e-5, abs=1e-12)


@pytest.mark.parametrize(
    ("architecture", "once"), [("gpt2", True), ("llama", True), ("gemma3_text", False)]
)
def test_a_common_beginning_is_read_once(
    architecture: str, once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Demonstrations before every prompt; a model with sliding windows reads each prompt whole."""
    monkeypatch.setattr(decoding, "HEAD_TOKENS", 20)
    loaded = _tiny(architecture) if once else wrap(*pair_of(architecture), name=architecture)
    shown = "The mother of Harry Potter is Lily Evans. " * 3
    items = [replace(item, prompt=shown + item.prompt) for item in ITEMS]
    prompts = list({item.prompt for item in items})
    whole = sum(map(len, loaded.tokenizer(prompts)["input_ids"]))
    expected = _row_by_row(loaded, items)
    read: list[int] = []
    hook = loaded.model.register_forward_pre_hook(
        lambda _, __, inputs: read.append(inputs["input_ids"].numel()), with_kwargs=True
    )
    results = _values(probe(loaded, items, replace(LIKELIHOOD, batch_tokens=200)))
    hook.remove()
    for item in items:
        assert results[item.id] == pytest.approx(expected[item.id], rel=2e-5, abs=1e-12)
    assert (sum(read) < whole) == once


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
def test_batch_order_and_padding_side_do_not_matter(architecture: str):
    loaded = _tiny(architecture)
    reference = _values(probe(loaded, ITEMS, LIKELIHOOD))
    shuffled = list(ITEMS)
    random.Random(3).shuffle(shuffled)
    for side in ("left", "right"):
        loaded.tokenizer.padding_side = side
        for tokens in (1, 40, 100):
            settings = ProbeSettings(measures=LIKELIHOOD.measures, batch_tokens=tokens)
            results = _values(probe(loaded, shuffled, settings))
            for name, value in reference.items():
                assert results[name] == pytest.approx(value, abs=2e-6, rel=1e-4)
        assert loaded.tokenizer.padding_side == side


def test_results_come_in_the_order_of_the_items_and_only_what_was_asked():
    results = probe(_tiny("gpt2"), ITEMS, ProbeSettings(measures=("likelihood",)))
    assert [r.id for r in results] == [item.id for item in ITEMS]
    assert all(r.p is None and r.likelihood_norm is None for r in results)
    assert all(r.n_samples == 0 and r.answers == () for r in results)


def test_prefix_free():
    assert prefix_free([(1, 2), (1,), (2, 1), (1, 2, 3), (2, 1)]) == [(1,), (2, 1)]
    assert prefix_free([(1, 2), (1, 3)]) == [(1, 2), (1, 3)]


def test_a_model_without_a_cache_gives_the_same_as_row_by_row():
    """The first GPT returns no keys and values: every row is read again."""
    config = transformers.OpenAIGPTConfig(
        vocab_size=420, n_positions=64, n_embd=32, n_layer=2, n_head=4, initializer_range=0.1
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = transformers.OpenAIGPTLMHeadModel(config)
    loaded = wrap(model, build_tiny("gpt2")[1], name="first-gpt")
    together = _values(probe(loaded, ITEMS, LIKELIHOOD))
    for item in ITEMS:
        (alone,) = probe(
            loaded, [item], ProbeSettings(measures=LIKELIHOOD.measures, batch_tokens=1)
        )
        assert together[item.id] == pytest.approx(
            (alone.likelihood, alone.likelihood_norm), rel=1e-4, abs=1e-9
        )
        assert together[item.id][0] > 0


def test_bfloat16_is_close_to_float32():
    exact = _values(probe(_tiny("gpt2"), ITEMS, LIKELIHOOD))
    model, tokenizer = build_tiny("gpt2")
    half = wrap(model.to(torch.bfloat16), tokenizer, name="half")
    for name, (_, norm) in _values(probe(half, ITEMS, LIKELIHOOD)).items():
        assert norm == pytest.approx(exact[name][1], rel=0.1)


def _with_nan(loaded: LoadedModel, text: str) -> LoadedModel:
    """Only prompts that hold the first token of `text` are affected."""
    token = loaded.tokenizer(text, add_special_tokens=False)["input_ids"][0]
    embeddings: Any = loaded.model.get_input_embeddings()
    with torch.no_grad():
        embeddings.weight[token] = math.nan
    return loaded


def test_nan_is_an_error_that_names_the_fact():
    model, tokenizer = build_tiny("llama")  # embeddings not tied: only the one prompt sees the NaN
    loaded = _with_nan(wrap(model, tokenizer, name="broken"), " mother")
    healthy = [item for item in ITEMS if item.id != "mother"]
    assert len(probe(loaded, healthy, LIKELIHOOD)) == len(healthy)
    with pytest.raises(ProbeError, match=r"NaN or infinite .* 'mother'") as caught:
        probe(loaded, ITEMS, LIKELIHOOD)
    assert "edit destroyed it" in caught.value.remedy


def test_a_prompt_too_long_for_the_model():
    item = ProbeItem("endless", "so " * 200, "far")
    with pytest.raises(ProbeError, match=r"'endless' takes \d+ tokens; the model reads 128"):
        probe(_tiny("gpt2"), [item], LIKELIHOOD)


def test_memory_that_runs_out_halves_the_batch():
    loaded = _tiny("gpt2")
    reference = _values(probe(loaded, ITEMS, LIKELIHOOD))
    largest: list[int] = []

    def fail_above_two(_module: Any, args: Any, kwargs: Any) -> None:
        rows = len(kwargs["input_ids"])
        if rows > 2:
            torch.empty(1 << 46)  # the real allocator's real error
        largest.append(rows)

    hook = loaded.model.register_forward_pre_hook(fail_above_two, with_kwargs=True)
    try:
        results = _values(probe(loaded, ITEMS, LIKELIHOOD))
    finally:
        hook.remove()
    assert max(largest) == 2
    for name, value in reference.items():
        assert results[name] == pytest.approx(value, abs=2e-6, rel=1e-4)
