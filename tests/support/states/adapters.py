"""PEFT adapters for tests: written by peft itself, as a training run leaves them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import peft
import torch

from thinkeval.editing.deltas import EditEffect

OUT = {"gpt2": "c_proj", "llama": "down_proj"}
IN = {"gpt2": "c_attn", "llama": "q_proj"}
NORM = {"gpt2": "ln_1", "llama": "input_layernorm"}
EMBEDDINGS = {"gpt2": "wte", "llama": "embed_tokens"}


def kinds(architecture: str) -> dict[str, Callable[[], Any]]:
    """{name: maker of the configuration} of the kinds that peft has for the architecture."""
    out = [OUT[architecture]]
    both = [*out, IN[architecture]]
    lora, linear = peft.LoraConfig, architecture == "llama"
    found: dict[str, Callable[[], Any]] = {
        "lora": lambda: lora(target_modules=both, lora_dropout=0.5, task_type="CAUSAL_LM"),
        "rslora": lambda: lora(target_modules=out, use_rslora=True),
        "dora": lambda: lora(target_modules=out, use_dora=True),
        "pissa": lambda: lora(target_modules=out, init_lora_weights="pissa"),
        "head": lambda: lora(target_modules=out, modules_to_save=["lm_head"]),
        "embeddings": lambda: lora(target_modules=[*out, EMBEDDINGS[architecture]]),
        "ia3": lambda: peft.IA3Config(target_modules=both, feedforward_modules=out),
        "vera": lambda: peft.VeraConfig(target_modules=out),
        "vblora": lambda: peft.VBLoRAConfig(target_modules=out, vector_length=8, num_vectors=16),
        "adalora": lambda: peft.AdaLoraConfig(target_modules=out, total_step=10),
        "fourier": lambda: peft.FourierFTConfig(target_modules=out, n_frequency=10),
        "norms": lambda: peft.LNTuningConfig(target_modules=[NORM[architecture]]),
        "tokens": lambda: peft.TrainableTokensConfig(token_indices=list(range(260, 300))),
    }
    if linear:  # peft has no Conv1D for these
        found |= {
            "loha": lambda: peft.LoHaConfig(target_modules=out),
            "lokr": lambda: peft.LoKrConfig(target_modules=out),
            "oft": lambda: peft.OFTConfig(target_modules=out, oft_block_size=8, r=0),
            "hra": lambda: peft.HRAConfig(target_modules=out),
        }
    return found


def write_adapter(model: Any, configuration: Any, folder: Path, *, base: str = "") -> Any:
    """Wrap the model with a random adapter and save that; returns the wrapped model.

    Args:
        base: name of the base in the adapter's configuration.
    """
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings(action="ignore"):
        torch.manual_seed(1)
        wrapped = peft.get_peft_model(model, configuration)
        for parameter in wrapped.parameters():
            if parameter.requires_grad:
                parameter.data.add_(0.1 * torch.randn_like(parameter))
        wrapped.save_pretrained(str(folder))
    about = json.loads((folder / "adapter_config.json").read_text())
    about["base_model_name_or_path"] = base
    (folder / "adapter_config.json").write_text(json.dumps(about))
    return wrapped.eval()


def write_effect(model: Any, effect: EditEffect, folder: Path) -> None:
    """Save the low-rank updates of an edit as a LoRA: B A = left right, in each orientation.

    peft computes y + B A x, with A [r, in] and B [out, r]; a Conv1D of GPT-2 stores [in, out].
    """
    names = [name.removesuffix(".weight") for name in effect.factors]
    rank = next(iter(effect.factors.values()))[0].shape[1]
    configuration = peft.LoraConfig(target_modules=names, r=rank, lora_alpha=rank)
    with warnings.catch_warnings(action="ignore"):
        wrapped = peft.get_peft_model(model, configuration)
    for name, (left, right) in effect.factors.items():
        module: Any = wrapped.get_submodule(f"base_model.model.{name.removesuffix('.weight')}")
        conv = type(module.get_base_layer()).__name__ == "Conv1D"
        a, b = (left.T, right.T) if conv else (right, left)
        module.lora_A["default"].weight.data = a.float().contiguous()
        module.lora_B["default"].weight.data = b.float().contiguous()
    wrapped.save_pretrained(str(folder))
    wrapped.unload()
