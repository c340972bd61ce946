"""A model's size by its configuration, beside the model that transformers builds of it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
import torch

from support.tiny_architectures import config_of, model_of
from thinkeval.editing import models, size
from thinkeval.editing.architectures import adapter_for
from thinkeval.editing.errors import UnsupportedArchitectureError


@pytest.mark.parametrize("name", ["gpt2", "llama", "gemma3", "phi3"])
def test_a_size_is_that_of_the_model_with_weights(name: str, tmp_path: Path) -> None:
    config = config_of(name)
    config.save_pretrained(tmp_path)
    found = size.size_of(tmp_path, dtype="bfloat16")
    model = model_of(config)
    adapter = adapter_for(model)
    assert found.n_parameters == sum(p.numel() for p in model.parameters())
    assert found.weights == 2 * found.n_parameters
    assert found.n_layers == adapter.n_layers
    weight = model.get_parameter(adapter.mlp_out(0).weight)
    assert found.weight == weight.numel()
    assert found.key == weight.numel() // config.get_text_config().hidden_size
    assert all(p.device.type == "meta" for p in found.skeleton.parameters())


def test_an_architecture_without_an_adapter_is_refused(tmp_path: Path) -> None:
    import transformers

    transformers.MixtralConfig(num_hidden_layers=1).save_pretrained(tmp_path)
    with pytest.raises(UnsupportedArchitectureError, match="mixture of experts"):
        size.size_of(tmp_path, dtype="float32")


def test_a_speed_is_positive_and_its_matrices_are_few(tmp_path: Path) -> None:
    config_of("llama").save_pretrained(tmp_path)
    found = size.speed_of(size.size_of(tmp_path, dtype="float32"), torch.device("cpu"))
    assert min(asdict(found).values()) > 0


def test_weights_are_here_if_each_of_their_files_is(tmp_path: Path) -> None:
    config_of("llama").save_pretrained(tmp_path)
    assert not models.has_weights(tmp_path)
    parts = {"a": "model-1.safetensors", "b": "model-2.safetensors"}
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": parts}))
    (tmp_path / "model-1.safetensors").touch()
    assert not models.has_weights(tmp_path)
    (tmp_path / "model-2.safetensors").touch()
    assert models.has_weights(tmp_path)
    index.unlink()
    assert not models.has_weights(tmp_path)
    (tmp_path / "pytorch_model.bin").touch()
    assert models.has_weights(tmp_path)
