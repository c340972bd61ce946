"""An adapter that computes other logits than its model is refused before anything is edited."""

from __future__ import annotations

import dataclasses

import pytest
import torch
import transformers

from support.tiny_models import build_tiny
from thinkeval.editing.architectures import Adapter, _self_check, adapter_for, layout_of, llama
from thinkeval.editing.errors import AdapterMismatchError, UnsupportedArchitectureError

SMALL = {
    "vocab_size": 60,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "initializer_range": 0.3,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "pad_token_id": 0,
}
CHANGED_LOGITS = {
    "granite": transformers.GraniteConfig(**SMALL, logits_scaling=8.0),
    "cohere": transformers.CohereConfig(**SMALL),
    "gemma2": transformers.Gemma2Config(**SMALL, head_dim=4, final_logit_softcapping=3.0),
}
"""Architectures that change what their head returns."""


def of(name):
    return transformers.AutoModelForCausalLM.from_config(CHANGED_LOGITS[name]).eval()


@pytest.mark.parametrize("name", sorted(CHANGED_LOGITS))
def test_a_layout_without_the_logits_function_is_refused(name):
    """Llama's layout fits these models' modules, and gave wrong targets without any sign."""
    model = of(name)
    with pytest.raises(AdapterMismatchError) as caught:
        _self_check.check_once(Adapter(model, llama.LAYOUT))
    said = str(caught.value)
    assert f"'{name}'" in said
    assert type(model).__name__ in said
    assert "differs from the model by up to" in said
    assert "editing/architectures" in caught.value.remedy
    assert isinstance(caught.value, UnsupportedArchitectureError)


def test_the_named_difference_is_the_greatest():
    model = of("granite")
    ids = torch.tensor([_self_check.PROMPT])
    with torch.no_grad():
        logits = model(ids).logits
    gap = float((8 * logits - logits).abs().max())
    with pytest.raises(AdapterMismatchError, match=f"by up to {gap:.3g} on"):
        _self_check.check_once(Adapter(model, llama.LAYOUT))


def test_a_layout_with_another_final_norm_is_refused():
    model, _ = build_tiny("gpt2")
    wrong = dataclasses.replace(layout_of("gpt2"), final_norm="transformer.h.0.ln_2")
    with torch.no_grad():
        model.transformer.ln_f.weight.mul_(2)
    with pytest.raises(AdapterMismatchError, match="last layer, norm and head"):
        _self_check.check_once(Adapter(model, wrong))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_right_adapters_pass_in_every_number_type(name, dtype):
    model, _ = build_tiny(name)
    adapter_for(model.to(dtype))


def test_it_runs_once_for_a_model_and_leaves_nothing():
    model, _ = build_tiny("gpt2")
    model.train()
    calls = []
    handle = model.register_forward_pre_hook(lambda *_: calls.append(model.training))
    before = sorted(vars(model)), torch.random.get_rng_state().tolist()
    adapter_for(model)
    adapter_for(model)
    assert calls == [False], "one forward pass, in evaluation mode"
    assert all(module.training for module in model.modules())
    assert (sorted(vars(model)), torch.random.get_rng_state().tolist()) == before
    handle.remove()
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


def test_a_model_of_nan_is_not_a_mismatch():
    """The defect of a model is named by the function that then edits or probes it."""
    model, _ = build_tiny("llama")
    with torch.no_grad():
        model.model.embed_tokens.weight[_self_check.PROMPT[1]] = torch.nan
    adapter_for(model)


def test_logits_are_those_of_the_model_wherever_they_are_read():
    model, _ = build_tiny("llama")
    adapter = adapter_for(model)
    with torch.no_grad():
        hidden = model.model(torch.tensor([[5, 6, 7]])).last_hidden_state
        assert adapter.logits(hidden).equal(model(torch.tensor([[5, 6, 7]])).logits)
        capped = Adapter(
            model, dataclasses.replace(llama.LAYOUT, logits=lambda config, x: x / config.vocab_size)
        )
        assert capped.logits(hidden).equal(adapter.logits(hidden) / model.config.vocab_size)
