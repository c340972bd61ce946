"""Edits go on and come off to the bit, whatever happens in between."""

from __future__ import annotations

import pytest
import torch

from support.tiny_models import build_tiny
from thinkeval.editing.deltas import (
    EditEffect,
    applied,
    is_edited,
    preserved,
    replaced,
    unedited_digest,
)
from thinkeval.editing.errors import EditingError
from thinkeval.editing.models import weights_digest

NAMES = {
    "gpt2": "transformer.h.1.mlp.c_proj.weight",
    "llama": "model.layers.1.mlp.down_proj.weight",
}


@pytest.fixture(params=["gpt2", "llama"])
def model(request):
    return build_tiny(request.param, seed=2)[0]


def effect_for(model, size=0.1, seed=0):
    name = NAMES[model.config.model_type]
    generator = torch.Generator().manual_seed(seed)
    return EditEffect(
        {name: size * torch.randn(model.get_parameter(name).shape, generator=generator)}
    )


def test_on_and_off(model):
    before, effect = weights_digest(model), effect_for(model)
    (name, delta), *_ = effect.deltas.items()
    start = model.get_parameter(name).detach().clone()
    with applied(model, effect) as edited:
        assert edited is model
        assert torch.equal(model.get_parameter(name), start + delta)
        assert weights_digest(model) != before
    assert weights_digest(model) == before


# 1e8 absorbs every weight: taking the delta off by subtraction would leave zeros.
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_off_after_any_error(model, error):
    before = weights_digest(model)
    with pytest.raises(error), applied(model, effect_for(model, 1e8)):
        raise error
    assert weights_digest(model) == before
    assert not is_edited(model)


def test_nested_edits_add_up_and_come_off_one_by_one(model):
    first, second = effect_for(model), effect_for(model, seed=1)
    (name,) = first.deltas
    before, start = weights_digest(model), model.get_parameter(name).detach().clone()
    with applied(model, first):
        between = weights_digest(model)
        with applied(model, second):
            total = start + first.deltas[name] + second.deltas[name]
            assert torch.equal(model.get_parameter(name), total)
            assert unedited_digest(model) == before
            assert is_edited(model)
        assert weights_digest(model) == between
        assert unedited_digest(model) == before
    assert weights_digest(model) == unedited_digest(model) == before


def test_the_sum_is_rounded_once(model):
    """In bfloat16 a delta below the weight's own resolution may still carry it over a border."""
    model.to(torch.bfloat16)
    effect = effect_for(model, 1e-3)
    (name, delta), *_ = effect.deltas.items()
    start, before = model.get_parameter(name).detach().clone(), weights_digest(model)
    with applied(model, effect):
        expected = (start.float() + delta).to(torch.bfloat16)
        assert torch.equal(model.get_parameter(name), expected)
        assert not torch.equal(start + delta.to(torch.bfloat16), expected)
    assert weights_digest(model) == before


def wrong_effects(model):
    name = NAMES[model.config.model_type]
    good = effect_for(model).deltas[name]
    return [
        ("no parameter 'transformer.nothing'", {name: good, "transformer.nothing": good}),
        ("has shape", {name: good.T}),
        ("has shape", {name: good[:1]}),
        ("NaN", {name: good * torch.nan}),
    ]


@pytest.mark.parametrize("which", range(4))
def test_refused_effects_change_nothing(model, which):
    before = weights_digest(model)
    message, deltas = wrong_effects(model)[which]
    with pytest.raises(EditingError, match=message), applied(model, EditEffect(deltas)):
        pytest.fail("the block was entered")
    assert weights_digest(model) == before


def test_a_tied_weight_can_be_edited_by_either_name():
    model, _ = build_tiny("gpt2")
    assert model.lm_head.weight is model.transformer.wte.weight
    before, start = weights_digest(model), model.lm_head.weight.detach().clone()
    delta = torch.ones_like(start)
    with applied(model, EditEffect({"lm_head.weight": delta})):
        assert torch.equal(model.transformer.wte.weight, start + 1)
        assert unedited_digest(model) == before
    both = EditEffect({"lm_head.weight": delta, "transformer.wte.weight": delta})
    with applied(model, both):
        assert unedited_digest(model) == before
    assert weights_digest(model) == before


def test_replaced_weights_come_back(model):
    name = NAMES[model.config.model_type]
    before = weights_digest(model)
    zeros = torch.zeros_like(model.get_parameter(name))
    with replaced(model, {name: zeros}):
        assert not model.get_parameter(name).any()
    assert weights_digest(model) == before
    with pytest.raises(RuntimeError), replaced(model, {name: zeros}):
        raise RuntimeError
    assert weights_digest(model) == before


def test_preserved_puts_back_modes_gradients_and_generators(model):
    model.train()
    first = next(model.children())
    first.eval()
    frozen = next(model.parameters()).requires_grad_(False)
    modes = [module.training for module in model.modules()]
    wants = [p.requires_grad for p in model.parameters()]
    assert len(set(modes)) == len(set(wants)) == 2
    torch.manual_seed(5)
    state = torch.random.get_rng_state()

    def break_inside():
        with preserved(model):
            assert not any(module.training for module in model.modules())
            assert not any(p.requires_grad for p in model.parameters())
            torch.rand(3)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        break_inside()
    assert [module.training for module in model.modules()] == modes
    assert [p.requires_grad for p in model.parameters()] == wants
    assert not frozen.requires_grad
    assert torch.equal(torch.random.get_rng_state(), state)
