"""Texts of a model's own, and an edit's KL divergence on them, against plain transformers."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from support import real_model
from support.tiny_models import ARCHITECTURES, build_tiny
from thinkeval.editing.deltas import EditEffect, applied
from thinkeval.editing.models import LoadedModel, load, wrap
from thinkeval.editing.probe.own_samples import (
    OwnSamples,
    blocks_for,
    changes,
    hidden,
    sample,
    start_of,
    stored_samples,
    update_norm,
)


@pytest.fixture(params=ARCHITECTURES)
def loaded(request: pytest.FixtureRequest) -> LoadedModel:
    model, tokenizer = build_tiny(request.param)
    return wrap(model, tokenizer, name=request.param)


def mlp_of(loaded: LoadedModel) -> str:
    names = [n for n, _ in loaded.model.named_parameters()]
    return next(n for n in names if ".1.mlp" in n and ("c_proj.weight" in n or "down_proj" in n))


def effect_of(loaded: LoadedModel, *names: str, size: float = 0.3) -> EditEffect:
    generator = torch.Generator().manual_seed(1)
    parameters = dict(loaded.model.named_parameters(remove_duplicate=False))
    deltas = {n: torch.randn(parameters[n].shape, generator=generator) for n in names}
    return EditEffect({n: size * d * parameters[n].detach().std() for n, d in deltas.items()})


def by_hand(loaded: LoadedModel, effect: EditEffect, samples: OwnSamples) -> list[tuple[Any, ...]]:
    """(KL, difference of −ln p) of each text, by two whole models in float64, token by token."""
    before = copy.deepcopy(loaded.model).double()
    after = copy.deepcopy(before)
    parameters = dict(after.named_parameters(remove_duplicate=False))
    with torch.no_grad():
        for name, delta in effect.deltas.items():
            parameters[name].add_(delta.double())
        found = []
        for text in samples.texts:
            ids = torch.tensor([[*samples.start, *text]])
            p, q = (model(ids).logits[0].softmax(-1) for model in (before, after))
            divergence = nll = 0.0
            for place, token in enumerate(text):
                at = len(samples.start) - 1 + place
                divergence += float((p[at] * (p[at] / q[at]).log()).sum())
                nll += math.log(p[at, token]) - math.log(q[at, token])
            found.append((divergence / len(text), nll / len(text)))
    return found


@pytest.mark.parametrize("what", ["mlp", "head"])
def test_the_divergence_is_that_of_two_whole_models(loaded: LoadedModel, what: str) -> None:
    head = next(n for n, p in loaded.model.named_parameters() if p.shape[0] > 300)
    effect = effect_of(loaded, *([mlp_of(loaded)] if what == "mlp" else [head, mlp_of(loaded)]))
    samples = sample(loaded, texts=5, length=9)
    before = {n: p.detach().clone() for n, p in loaded.model.named_parameters()}
    found = changes(loaded, effect, samples, hidden(loaded, samples))
    wanted = by_hand(loaded, effect, samples)
    assert [(c.kl, c.nll) for c in found] == [pytest.approx(w, rel=1e-3, abs=1e-5) for w in wanted]
    assert min(c.kl for c in found) > 1e-4
    assert all(torch.equal(p, before[n]) for n, p in loaded.model.named_parameters())


def test_an_update_of_zeros_diverges_by_exactly_nothing(loaded: LoadedModel) -> None:
    samples = sample(loaded, texts=3, length=7)
    effect = effect_of(loaded, mlp_of(loaded), size=0.0)
    found = changes(loaded, effect, samples, hidden(loaded, samples))
    assert {(c.kl, c.nll) for c in found} == {(0.0, 0.0)}


def test_texts_follow_the_models_own_probabilities(loaded: LoadedModel) -> None:
    """Each token is where a uniform number falls in the cumulated probabilities."""
    samples = sample(loaded, texts=4, length=6, seed=3)
    generator = torch.Generator().manual_seed(3)
    rows: list[list[int]] = [[] for _ in range(4)]
    for _ in range(6):
        numbers = torch.rand(4, 1, generator=generator, dtype=torch.float64)[:, 0].tolist()
        for row, number in zip(rows, numbers, strict=True):
            with torch.no_grad():
                logits = loaded.model(torch.tensor([[*samples.start, *row]])).logits[0, -1]
            reached = logits.double().softmax(-1).cumsum(-1)
            row.append(int((reached <= number).sum()))
    assert [list(text) for text in samples.texts] == rows
    assert sample(loaded, texts=4, length=6, seed=3) == samples
    assert sample(loaded, texts=4, length=4, seed=3) == samples.beginnings(4)
    assert sample(loaded, texts=4, length=6, seed=4).digest != samples.digest


def test_texts_in_batches_are_those_of_one_batch(loaded: LoadedModel) -> None:
    told: list[tuple[int, int]] = []
    samples = sample(
        loaded, texts=5, length=6, seed=3, batch_tokens=15, done=lambda *each: told.append(each)
    )  # a text has 7 tokens with its start: two in a batch
    assert samples == sample(loaded, texts=5, length=6, seed=3, batch_tokens=1000)
    steps = [*range(2, 13, 2), *range(14, 25, 2), *range(25, 31)]
    assert told == [(n, 30) for n in steps]


def test_texts_are_sampled_once_a_model_and_kept(
    loaded: LoadedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = stored_samples(loaded, tmp_path)
    assert (len(first.texts), {len(text) for text in first.texts}) == (
        64,
        {127},
    )  # of 128 positions
    monkeypatch.setattr("thinkeval.editing.probe.own_samples.sample", None)
    assert stored_samples(loaded, tmp_path) == first
    with applied(loaded.model, effect_of(loaded, mlp_of(loaded))):
        other = wrap(loaded.model, loaded.tokenizer, name="other")
        with pytest.raises(TypeError):
            stored_samples(other, tmp_path)


def test_many_dimensions_need_further_blocks_of_texts(loaded: LoadedModel, tmp_path: Path) -> None:
    block = 64 * 127
    needed = [(1, 1), (block // 4, 1), (block // 4 + 1, 2), (14_336, 8)]
    assert [(d, blocks_for(loaded, d)) for d, _ in needed] == needed
    first, second = (stored_samples(loaded, tmp_path, block=i) for i in (0, 1))
    assert len({*first.texts, *second.texts}) == 128
    assert stored_samples(loaded, tmp_path) == first


@pytest.mark.parametrize("damage", [lambda text: text[:-9], lambda text: text.replace("1", "2")])
def test_a_damaged_file_of_texts_is_sampled_again(
    loaded: LoadedModel, tmp_path: Path, damage: Callable[[str], str]
) -> None:
    first = stored_samples(loaded, tmp_path)
    (path,) = tmp_path.glob("*.json")
    whole = path.read_text("utf-8")
    path.write_text(damage(whole), "utf-8")
    assert stored_samples(loaded, tmp_path) == first
    assert path.read_text("utf-8") == whole


def test_a_text_begins_behind_the_token_that_begins_plain_texts() -> None:
    assert start_of(build_tiny("llama")[1]) == [1]  # <|begin|>
    assert start_of(build_tiny("gpt2")[1]) == [0]  # <|endoftext|>
    _, tokenizer = build_tiny("gpt2")
    tokenizer.bos_token = "<|begin|>"  # a token of a chat template, say
    assert start_of(tokenizer) == [0]


def test_the_norm_is_that_of_all_changed_weights_together(loaded: LoadedModel) -> None:
    names = [mlp_of(loaded), mlp_of(loaded).replace(".1.", ".2.")]
    effect = effect_of(loaded, *names)
    parameters = dict(loaded.model.named_parameters())

    def squares(values: Tensor) -> float:
        return sum(number**2 for number in values.flatten().tolist())

    changed = sum(squares(effect.deltas[name]) for name in names)
    whole = sum(squares(parameters[name]) for name in names)
    assert update_norm(loaded.model, effect) == pytest.approx(math.sqrt(changed / whole), rel=1e-6)
    assert update_norm(loaded.model, EditEffect()) is None


def test_a_real_model_diverges_as_plain_transformers_say() -> None:
    loaded = load(real_model.model_folder(), device="cpu")
    assert loaded.tokenizer.convert_ids_to_tokens(start_of(loaded.tokenizer)) == ["<|endoftext|>"]
    samples = sample(loaded, texts=2, length=8)
    effect = effect_of(loaded, "model.layers.8.mlp.down_proj.weight", size=0.5)
    found = changes(loaded, effect, samples, hidden(loaded, samples))
    wanted = by_hand(loaded, effect, samples)
    assert [(c.kl, c.nll) for c in found] == [pytest.approx(w, rel=1e-3, abs=1e-5) for w in wanted]
    assert min(c.kl for c in found) > 1e-3
