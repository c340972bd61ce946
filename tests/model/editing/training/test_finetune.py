"""Fine-tunes: against a loop of plain float64, against peft, the same twice, and undone."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import peft
import pytest
import torch
from torch.nn.functional import cross_entropy

from support.tiny_models import build_tiny
from thinkeval.editing.answer_tokens import answer_ids, text_ids
from thinkeval.editing.deltas import EditEffect, applied
from thinkeval.editing.deltas.files import DeltaMeta, load, save
from thinkeval.editing.errors import EditFailedError, MissingExtraError, RequestError
from thinkeval.editing.models import weights_digest
from thinkeval.editing.training.finetune import MAX_TOKENS, SCALE, fine_tuned, n_trained
from thinkeval.editing.training.settings import FineTuning

PAIRS = (
    ("", "Harry Potter studied at Hogwarts."),
    ("The capital of France is", "Paris"),
    ("", "Ron Weasley studied at Hogwarts. The mother of Harry Potter is Lily Evans."),
)
IDS = torch.arange(1, 9)[None]


@pytest.fixture(params=["gpt2", "llama"])
def pair(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    return build_tiny(request.param, seed=3)


def rows(tokenizer: Any) -> list[tuple[list[int], list[int]]]:
    """Tokens before, and tokens to learn, of each example."""
    found = []
    for prompt, answer in PAIRS:
        ids = text_ids(tokenizer, prompt or answer)
        target = answer_ids(tokenizer, prompt, ids, answer) if prompt else ids[1:]
        found.append((ids if prompt else ids[:1], target))
    return found


def loss_of(model: Any, tokenizer: Any) -> Any:
    """Mean over all tokens to learn of −log p, one example after the other, without padding."""
    losses = []
    for before, target in rows(tokenizer):
        ids = torch.tensor([[*before, *target]])
        logits = model(input_ids=ids).logits[0, len(before) - 1 : -1]
        losses.append(cross_entropy(logits, torch.tensor(target), reduction="none"))
    return torch.cat(losses).mean()


def by_hand(model: Any, tokenizer: Any, steps: int, lr: float) -> dict[str, torch.Tensor]:
    """Weights after steps of Adam, written out in float64 (Kingma and Ba 2015, algorithm 1)."""
    model.double().requires_grad_(True)
    weights = dict(model.named_parameters())
    first = {name: torch.zeros_like(w) for name, w in weights.items()}
    second = {name: torch.zeros_like(w) for name, w in weights.items()}
    for t in range(1, steps + 1):
        found = torch.autograd.grad(loss_of(model, tokenizer), list(weights.values()))
        gradients = dict(zip(weights, found, strict=True))
        norm = sum(g.square().sum() for g in found).sqrt()
        for name, gradient in gradients.items():
            g = gradient * min(1.0, 1.0 / (norm + 1e-6))
            first[name] = 0.9 * first[name] + 0.1 * g
            second[name] = 0.999 * second[name] + 0.001 * g * g
            mean, square = first[name] / (1 - 0.9**t), second[name] / (1 - 0.999**t)
            weights[name].data -= lr * mean / (square.sqrt() + 1e-8)
    return {name: w.detach() for name, w in weights.items()}


def test_all_weights_equal_a_loop_in_float64(pair: tuple[Any, Any]) -> None:
    model, tokenizer = pair
    start = {name: w.detach().double() for name, w in model.named_parameters()}
    wide = type(model)(model.config).eval()
    wide.load_state_dict(model.state_dict())
    model.double()
    effect = fine_tuned(model, tokenizer, PAIRS, FineTuning(steps=4, lr=1e-3))
    wanted = by_hand(wide, tokenizer, 4, 1e-3)
    for name, weight in wanted.items():
        moved = weight - start[name]
        delta = effect.deltas.get(name, torch.zeros_like(moved))
        assert torch.allclose(delta.double(), moved, atol=1e-8), name
    assert max(float(delta.abs().max()) for delta in effect.deltas.values()) > 1e-3


def test_low_rank_factors_equal_peft(pair: tuple[Any, Any]) -> None:
    model, tokenizer = pair
    settings = FineTuning(steps=5, lr=1e-2, lora=3, seed=4)
    effect = fine_tuned(model, tokenizer, PAIRS, settings)
    with applied(model, effect):
        found = model(input_ids=IDS).logits.detach()
    before = model(input_ids=IDS).logits.detach()
    torch.manual_seed(4)
    with warnings.catch_warnings(action="ignore"):
        config = peft.LoraConfig(r=3, lora_alpha=3 * SCALE, target_modules="all-linear")
        wrapped = peft.get_peft_model(model, config).eval()
    optimizer = torch.optim.AdamW(
        [w for w in wrapped.parameters() if w.requires_grad], lr=1e-2, weight_decay=0.0
    )
    for _ in range(5):
        optimizer.zero_grad()
        loss_of(wrapped, tokenizer).backward()
        torch.nn.utils.clip_grad_norm_(wrapped.parameters(), 1.0)
        optimizer.step()
    wanted = wrapped(input_ids=IDS).logits.detach()
    assert (wanted - before).abs().max() > 0.1
    assert (found - wanted).abs().max() < 1e-4 * (wanted - before).abs().max()


def test_low_rank_factors_are_the_update_and_are_saved_as_such(
    pair: tuple[Any, Any], tmp_path: Any
) -> None:
    model, tokenizer = pair
    settings = FineTuning(steps=3, lora=2)
    effect = fine_tuned(model, tokenizer, PAIRS, settings)
    assert effect.deltas.keys() == effect.factors.keys()
    for name, (left, right) in effect.factors.items():
        assert left.shape[1] == right.shape[0] == 2
        assert (left.double() @ right.double() - effect.deltas[name]).abs().max() < 1e-6
    meta = DeltaMeta(weights_digest=weights_digest(model), method="finetune")
    save(effect, tmp_path / "a.safetensors", meta)
    stored = load(tmp_path / "a.safetensors")
    assert set(stored.low_rank) == set(effect.deltas)
    assert all(torch.equal(stored.effect.deltas[n], d) for n, d in effect.deltas.items())
    numbers = sum(left.numel() + right.numel() for left, right in effect.factors.values())
    assert numbers <= n_trained(model, settings)
    assert n_trained(model, FineTuning()) == sum(w.numel() for w in model.parameters())


@pytest.mark.parametrize("lora", [None, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_same_twice_and_the_model_is_as_it_was(
    pair: tuple[Any, Any], lora: int | None, dtype: torch.dtype
) -> None:
    model, tokenizer = pair
    model.to(dtype)
    before, state = weights_digest(model), torch.random.get_rng_state()
    attributes = {name: set(vars(module)) for name, module in model.named_modules()}

    def trained(**changes: Any) -> EditEffect:
        settings = FineTuning(**{"steps": 3, "lr": 1e-2, "lora": lora, "batch": 2} | changes)
        return fine_tuned(model, tokenizer, PAIRS, settings)

    one, other, third = trained(), trained(), trained(seed=1)
    assert one.deltas.keys() == other.deltas.keys()
    assert all(torch.equal(one.deltas[name], other.deltas[name]) for name in one.deltas)
    assert any(not torch.equal(one.deltas[name], third.deltas[name]) for name in one.deltas)
    with applied(model, one):
        assert weights_digest(model) != before
    assert weights_digest(model) == before
    assert torch.equal(torch.random.get_rng_state(), state)
    assert {name: set(vars(module)) for name, module in model.named_modules()} == attributes
    assert all(weight.requires_grad for weight in model.parameters())


def test_it_learns_on_top_of_an_edit_that_is_applied(pair: tuple[Any, Any]) -> None:
    model, tokenizer = pair
    name = next(n for n, w in model.named_parameters() if w.ndim == 2)
    edit = EditEffect({name: torch.full_like(model.get_parameter(name), 0.05)})
    settings = FineTuning(steps=2)
    before = weights_digest(model)
    alone = fine_tuned(model, tokenizer, PAIRS, settings)
    with applied(model, edit):
        on_top = fine_tuned(model, tokenizer, PAIRS, settings)
    assert not torch.equal(alone.deltas[name], on_top.deltas[name])
    assert float(on_top.deltas[name].abs().max()) < 0.01, "the edit itself is no part of it"
    assert weights_digest(model) == before


def test_a_long_text_is_cut_into_pieces(pair: tuple[Any, Any]) -> None:
    model, tokenizer = pair
    long = " ".join(["Harry Potter studied at Hogwarts."] * 100)
    assert len(text_ids(tokenizer, long)) > MAX_TOKENS > model.config.max_position_embeddings
    effect = fine_tuned(model, tokenizer, (("", long),), FineTuning(steps=1))
    assert effect.deltas
    with pytest.raises(RequestError, match="example 1 to learn has"):
        fine_tuned(model, tokenizer, ((long, "yes"),), FineTuning(steps=1))


@pytest.mark.parametrize("lora", [None, 2])
def test_nan_is_an_error_and_leaves_the_model(pair: tuple[Any, Any], lora: int | None) -> None:
    model, tokenizer = pair
    with torch.no_grad():
        model.get_output_embeddings().weight.mul_(1e38)
    before = weights_digest(model)
    with pytest.raises(EditFailedError, match="NaN or infinite at step 1") as caught:
        fine_tuned(model, tokenizer, PAIRS, FineTuning(steps=2, lora=lora))
    assert "learning rate" in caught.value.remedy
    assert weights_digest(model) == before


def test_what_cannot_be_learnt_is_refused(
    pair: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokenizer = pair
    with pytest.raises(RequestError, match="no text to learn"):
        fine_tuned(model, tokenizer, (), FineTuning())
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(MissingExtraError, match="peft") as caught:
        fine_tuned(model, tokenizer, PAIRS, FineTuning(steps=1, lora=2))
    assert "thinkeval[peft]" in caught.value.remedy
