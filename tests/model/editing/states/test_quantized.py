"""Quantised layers: the numbers that the scheme says, and a base that is as it was."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers as hf
from torch import nn

from support.tiny_models import build_tiny
from thinkeval.editing import models
from thinkeval.editing.deltas import replaced
from thinkeval.editing.errors import UnsupportedArchitectureError
from thinkeval.editing.models import LoadedModel
from thinkeval.editing.states.quantized import Bits, quantized

SIZES = {"gpt2": {}, "llama": {"width": 64}}


def built(architecture: str) -> LoadedModel:
    return models.wrap(*build_tiny(architecture, **SIZES[architecture]), name="base")


def logits(loaded: LoadedModel) -> torch.Tensor:
    ids = torch.tensor([loaded.tokenizer("Harry Potter studied at Hogwarts")["input_ids"]])
    with torch.no_grad():
        return loaded.model(input_ids=ids).logits


def linear_weights(model: Any) -> dict[str, torch.Tensor]:
    """Every linear weight but the head's, as [out, in], by the name of its module."""
    found = {}
    for name, module in model.named_modules():
        if module is not model.lm_head and type(module).__name__ in ("Linear", "Conv1D"):
            weight = module.weight.detach()
            found[name] = weight if isinstance(module, nn.Linear) else weight.T
    return found


def assert_rounded(weight: torch.Tensor, rounded: torch.Tensor, bits: Bits) -> None:
    """Each number is the nearest of the grid: whole multiples of the scale, in range.

    The scale of a row (or of 32 numbers of it) is its largest number by 127.5, or by 7.5.
    """
    group = 32 if bits == "4bit" and weight.shape[1] % 32 == 0 else weight.shape[1]
    least, most = (-128, 127) if bits == "8bit" else (-8, 7)
    shape = (weight.shape[0], -1, group)
    before, after = weight.double().reshape(shape), rounded.double().reshape(shape)
    scale = before.abs().amax(-1, keepdim=True) / ((most - least) / 2)
    steps = after / scale
    assert (steps - steps.round()).abs().max() < 1e-4
    assert steps.round().min() >= least
    assert steps.round().max() <= most
    assert ((after - before) / scale).abs().max() < 0.5 + 1e-4


@pytest.mark.parametrize("bits", ["8bit", "4bit"])
@pytest.mark.parametrize("architecture", SIZES)
def test_the_answers_are_those_of_the_rounded_weights(architecture: str, bits: Bits) -> None:
    loaded = built(architecture)
    base, modules = logits(loaded), list(loaded.model.named_modules())
    weights = {name: value.clone() for name, value in loaded.model.state_dict().items()}
    flags = {name: p.requires_grad for name, p in loaded.model.named_parameters()}
    linear = linear_weights(loaded.model)
    with quantized(loaded, bits) as about:
        found = logits(loaded)
        rounded = {n: loaded.model.get_submodule(n).weight.dequantize() for n in linear}
        assert loaded.model.lm_head is dict(modules)["lm_head"]
    for name, weight in linear.items():
        assert_rounded(weight, rounded[name], bits)
    turned = architecture == "gpt2"
    plain = {f"{name}.weight": w.T if turned else w for name, w in rounded.items()}
    with replaced(loaded.model, plain):
        assert (found - logits(loaded)).abs().max() < 1e-4
    assert (found - base).abs().max() > 1e-3
    assert about["layers"] == len(linear) == 3 * (4 if turned else 7)
    assert about["scheme"].startswith(f"torchao int{bits[0]} weight-only")
    assert torch.equal(logits(loaded), base)
    assert list(loaded.model.named_modules()) == modules
    after = loaded.model.state_dict()
    assert all(torch.equal(after[name], value) for name, value in weights.items())
    assert {name: p.requires_grad for name, p in loaded.model.named_parameters()} == flags


def test_the_base_is_restored_after_an_error() -> None:
    loaded = built("gpt2")
    base = logits(loaded)
    with pytest.raises(KeyboardInterrupt), quantized(loaded, "8bit"):
        raise KeyboardInterrupt
    assert torch.equal(logits(loaded), base)


def test_quantised_weights_are_not_quantised_again() -> None:
    loaded = built("gpt2")
    loaded.model.config.quantization_config = {"quant_method": "gptq"}
    with (
        pytest.raises(UnsupportedArchitectureError, match=r"already \(gptq\)"),
        quantized(loaded, "8bit"),
    ):
        pass


def test_a_model_without_linear_layers_is_refused() -> None:
    model, tokenizer = build_tiny("gpt2")
    model.transformer.h = nn.ModuleList()
    with (
        pytest.raises(UnsupportedArchitectureError, match="no linear layer"),
        quantized(models.wrap(model, tokenizer, name="base"), "8bit"),
    ):
        pass


def test_a_bfloat16_model_is_quantised() -> None:
    model, tokenizer = build_tiny("llama", width=64)
    loaded = models.wrap(model.to(torch.bfloat16), tokenizer, name="base")
    base = logits(loaded)
    with quantized(loaded, "8bit"):
        assert 0 < (logits(loaded) - base).abs().max() < 0.2 * base.abs().max()
    assert torch.equal(logits(loaded), base)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="bitsandbytes is used on CUDA")
@pytest.mark.parametrize("bits", ["8bit", "4bit"])
@pytest.mark.parametrize("architecture", SIZES)
def test_on_cuda_bitsandbytes_quantises(architecture: str, bits: Bits) -> None:
    pytest.importorskip("bitsandbytes")
    model, tokenizer = build_tiny(architecture, **SIZES[architecture])
    loaded = models.wrap(model.to("cuda"), tokenizer, name="base")
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    ids = torch.tensor([[5, 6, 7, 8]], device="cuda")
    with torch.no_grad():
        base = model(input_ids=ids).logits
        with quantized(loaded, bits) as about:
            changed = model(input_ids=ids).logits
    assert about["scheme"] in ("bitsandbytes LLM.int8", "bitsandbytes NF4")
    assert 0 < (changed - base).abs().max() < base.abs().max()
    assert all(torch.equal(model.state_dict()[n], value) for n, value in weights.items())
    assert isinstance(model, hf.PreTrainedModel)
