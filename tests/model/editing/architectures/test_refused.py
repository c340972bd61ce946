"""Quantised models and mixtures of experts are refused with their own reason."""

from __future__ import annotations

import pytest
import torch
import transformers

from support.edit_methods import HARRY, LOCATED, execute
from support.tiny_models import build_tiny
from thinkeval.editing.architectures import adapter_for
from thinkeval.editing.architectures._refused import number_of_experts, quantisation
from thinkeval.editing.errors import UnsupportedArchitectureError

QUANTISED = {
    "bitsandbytes": transformers.BitsAndBytesConfig(load_in_4bit=True),
    "gptq": {"quant_method": "gptq", "bits": 4},
    "fp8": transformers.FineGrainedFP8Config(),
}
EXPERTS = ("mixtral", "qwen3_moe", "gpt_oss", "llama4", "deepseek_v3", "olmoe", "dbrx")
DENSE = ("gpt2", "llama", "mistral", "qwen3", "gemma3", "granite", "phi3", "olmo2")


@pytest.mark.parametrize("method", QUANTISED)
@pytest.mark.parametrize("name", [*LOCATED, "fine_tuning", "kn", "mend"])
def test_a_quantised_model_is_refused_by_every_method(method, name):
    model, tokenizer = build_tiny("llama")
    model.config.quantization_config = QUANTISED[method]
    with pytest.raises(UnsupportedArchitectureError, match=rf"quantised \({method}\)") as caught:
        execute(name, (model, tokenizer), [HARRY], {}, state={})
    assert "quantised from" in caught.value.remedy


def test_a_model_whose_quantisation_was_undone_is_edited():
    model, _ = build_tiny("llama")
    model.config.quantization_config = transformers.FineGrainedFP8Config(dequantize=True)
    assert quantisation(model.config) is None
    assert adapter_for(model).n_layers == 3


@pytest.mark.parametrize("model_type", EXPERTS)
def test_a_mixture_of_experts_is_refused_as_one(model_type):
    model = torch.nn.Module()
    model.config = transformers.AutoConfig.for_model(model_type)  # type: ignore[assignment]
    with pytest.raises(UnsupportedArchitectureError, match=r"mixture of experts \(\d+ a layer\)"):
        adapter_for(model)


@pytest.mark.parametrize("model_type", DENSE)
def test_dense_models_have_no_experts(model_type):
    config = transformers.AutoConfig.for_model(model_type)
    assert number_of_experts(config) == 0
    assert quantisation(config) is None
