"""Phi-3's matrix of gate and up: neurons are those of the same network with two matrices."""

from __future__ import annotations

import pytest
import torch
import transformers

from support.references.edit_reference import close
from support.tiny_architectures import config_of, model_of
from thinkeval.editing.architectures import adapter_for
from thinkeval.editing.deltas import preserved
from thinkeval.editing.key_value.neurons import attribution, closed_path

IDS = (5, 6, 7, 8, 9)


def split(fused):
    """A Llama with the weights of a Phi-3 without partial rotation: the same network."""
    config = fused.config
    keys = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
    same = {key: getattr(config, key) for key in (*keys, "num_key_value_heads", "vocab_size")}
    ids = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
    eps = {"rms_norm_eps": config.rms_norm_eps}
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**same, **ids, **eps)).eval()
    weights = {}
    for name, weight in fused.state_dict().items():
        if "gate_up_proj" in name:
            for part, half in zip(("gate", "up"), weight.chunk(2), strict=True):
                weights[name.replace("gate_up", part)] = half
        elif "qkv_proj" in name:
            size = config.hidden_size, config.hidden_size // 2, config.hidden_size // 2
            for part, rows in zip("qkv", weight.split(size), strict=True):
                weights[name.replace("qkv", part)] = rows
        else:
            weights[name] = weight
    model.load_state_dict(weights)
    return model


@pytest.mark.parametrize("site", ["pre_activation", "activation"])
def test_neurons_are_those_of_the_gate(site):
    config = config_of("phi3")
    config.rope_parameters["partial_rotary_factor"] = 1.0
    fused = model_of(config)
    two = split(fused)
    with torch.no_grad():
        assert close(two(torch.tensor([IDS])).logits, fused(torch.tensor([IDS])).logits, 1e-5)
    scores = []
    for model in (fused, two):
        adapter = adapter_for(model)
        assert adapter.key_size(0) == config.intermediate_size
        with preserved(model), torch.enable_grad():
            scores.append(
                attribution(adapter, IDS, 12, site=site, path=closed_path(4), batch_size=3)
            )
    assert scores[0].shape == (config.num_hidden_layers, config.intermediate_size)
    assert close(scores[0], scores[1], 1e-4)
