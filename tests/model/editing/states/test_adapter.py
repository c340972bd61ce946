"""PEFT adapters: put on as peft does it, taken off bit-identically, refused on another base."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import peft
import pytest
import safetensors.torch
import torch

from support.states.adapters import kinds, write_adapter
from support.tiny_models import build_tiny
from thinkeval.editing import models
from thinkeval.editing.errors import MissingExtraError, PeftAdapterError
from thinkeval.editing.models import LoadedModel
from thinkeval.editing.states import adapter, extras

ARCHITECTURES = ("gpt2", "llama")
ALL = [(a, kind) for a in ARCHITECTURES for kind in kinds(a)]


def built(architecture: str, **size: Any) -> LoadedModel:
    return models.wrap(*build_tiny(architecture, **size), name="base")


def logits(loaded: Any, model: Any = None) -> torch.Tensor:
    ids = torch.tensor([loaded.tokenizer("Harry Potter studied at Hogwarts")["input_ids"]])
    with torch.no_grad():
        return (model or loaded.model)(input_ids=ids).logits


def everything(model: Any) -> dict[str, Any]:
    """Return a model's modules, attributes, hooks, flags and memory of tensors, without numbers."""
    return {
        "modules": {name: id(module) for name, module in model.named_modules()},
        "attributes": {name: sorted(m.__dict__) for name, m in model.named_modules()},
        "hooks": {
            name: (len(m._forward_hooks), len(m._forward_pre_hooks))
            for name, m in model.named_modules()
        },
        "wants": {name: p.requires_grad for name, p in model.named_parameters()},
        "training": {name: m.training for name, m in model.named_modules()},
        "memory": {name: p.data_ptr() for name, p in model.named_parameters()},
    }


@pytest.mark.parametrize(("architecture", "kind"), ALL)
def test_every_kind_is_put_on_as_peft_does_and_taken_off(
    architecture: str, kind: str, tmp_path: Path
) -> None:
    made = write_adapter(build_tiny(architecture)[0], kinds(architecture)[kind](), tmp_path)
    loaded = built(architecture)
    wanted, base = logits(loaded, made), logits(loaded)
    before, weights = everything(loaded.model), copied(loaded.model)
    with adapter.adapted(loaded, adapter.read(tmp_path)) as changed:
        assert torch.equal(logits(changed), wanted)
    assert (wanted - base).abs().max() > 1e-3, "the adapter changes something"
    assert everything(loaded.model) == before
    assert same(loaded.model, weights)
    assert torch.equal(logits(loaded), base)


@pytest.mark.parametrize(("architecture", "kind"), ALL)
def test_a_merged_adapter_answers_the_same_and_is_taken_off(
    architecture: str, kind: str, tmp_path: Path
) -> None:
    made = write_adapter(build_tiny(architecture)[0], kinds(architecture)[kind](), tmp_path)
    loaded = built(architecture)
    wanted = logits(loaded, made)
    before, weights = everything(loaded.model), copied(loaded.model)
    tied = (architecture, kind) == ("gpt2", "embeddings")
    refusal = pytest.raises(PeftAdapterError, match="another model when it is merged")
    with (
        refusal if tied else nullcontext(),
        adapter.adapted(loaded, adapter.read(tmp_path), merged=True),
    ):
        packages = {type(m).__module__.split(".")[0] for m in loaded.model.modules()}
        assert "peft" not in packages
        assert (logits(loaded) - wanted).abs().max() < 1e-4
    assert everything(loaded.model) == before
    assert same(loaded.model, weights)


def copied(model: Any) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def same(model: Any, weights: dict[str, torch.Tensor]) -> bool:
    found = model.state_dict()
    return list(found) == list(weights) and all(torch.equal(found[n], weights[n]) for n in weights)


def test_the_base_is_restored_after_an_error(tmp_path: Path) -> None:
    write_adapter(build_tiny("gpt2")[0], kinds("gpt2")["pissa"](), tmp_path)
    loaded = built("gpt2")
    loaded.model.train()
    before, weights = everything(loaded.model), copied(loaded.model)
    with pytest.raises(KeyboardInterrupt), adapter.adapted(loaded, adapter.read(tmp_path)):
        raise KeyboardInterrupt
    assert everything(loaded.model) == before
    assert same(loaded.model, weights)


def test_hooks_of_the_user_stay_and_can_be_removed(tmp_path: Path) -> None:
    write_adapter(build_tiny("gpt2")[0], kinds("gpt2")["lora"](), tmp_path)
    loaded, calls = built("gpt2"), []
    hook = loaded.model.transformer.h[0].register_forward_hook(lambda *_: calls.append(1))
    with adapter.adapted(loaded, adapter.read(tmp_path)):
        pass
    calls.clear()
    logits(loaded)
    assert len(calls) == 1
    hook.remove()
    logits(loaded)
    assert len(calls) == 1


def test_the_digest_is_of_weights_and_configuration(tmp_path: Path) -> None:
    write_adapter(build_tiny("gpt2")[0], kinds("gpt2")["lora"](), tmp_path / "a", base="one")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    first = adapter.read(tmp_path / "a")
    _configure(tmp_path / "b", base_model_name_or_path="other", inference_mode=False)
    assert adapter.read(tmp_path / "b").digest == first.digest, "hints change no number"
    _configure(tmp_path / "b", lora_alpha=99)
    second = adapter.read(tmp_path / "b").digest
    tensors = safetensors.torch.load_file(tmp_path / "a" / "adapter_model.safetensors")
    name = sorted(tensors)[0]
    tensors[name] = tensors[name] + 1
    safetensors.torch.save_file(tensors, tmp_path / "a" / "adapter_model.safetensors")
    assert len({first.digest, second, adapter.read(tmp_path / "a").digest}) == 3
    assert len(first.digest) == 64


def _configure(folder: Path, **values: Any) -> None:
    path = folder / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_another_name_of_the_base_is_a_warning_only(tmp_path: Path) -> None:
    write_adapter(build_tiny("gpt2")[0], kinds("gpt2")["lora"](), tmp_path, base="owner/gpt2-big")
    saved = adapter.read(tmp_path)
    assert "warning" not in saved.about("/models/gpt2-big")
    assert "'owner/gpt2-big'" in saved.about("/models/another")["warning"]


OTHERS = {
    "width": ("gpt2", {"width": 48}, r"has shape \(\d+, \d+\), this base needs \(\d+, \d+\)"),
    "fewer layers": ("gpt2", {"n_layers": 2}, r"no place for 'transformer\.h\.2\."),
    "more layers": ("gpt2", {"n_layers": 4}, r"no weights for 'transformer\.h\.3\."),
    "architecture": ("llama", {}, "c_proj"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_an_adapter_of_another_base_is_refused(other: str, tmp_path: Path) -> None:
    architecture, size, reason = OTHERS[other]
    write_adapter(build_tiny("gpt2")[0], kinds("gpt2")["lora"](), tmp_path, base="its/base")
    loaded = built(architecture, **size)
    before, weights = everything(loaded.model), copied(loaded.model)
    with (
        pytest.raises(PeftAdapterError, match=reason) as refused,
        adapter.adapted(loaded, adapter.read(tmp_path)),
    ):
        pass
    assert "its/base" in refused.value.detail
    assert everything(loaded.model) == before
    assert same(loaded.model, weights)


@pytest.mark.parametrize("config", [peft.PromptTuningConfig, peft.PrefixTuningConfig])
def test_an_adapter_that_changes_the_prompt_is_refused(config: Any, tmp_path: Path) -> None:
    made = config(task_type="CAUSAL_LM", num_virtual_tokens=3)
    write_adapter(build_tiny("gpt2")[0], made, tmp_path)
    with (
        pytest.raises(PeftAdapterError, match="changes the prompt"),
        adapter.adapted(built("gpt2"), adapter.read(tmp_path)),
    ):
        pass


def test_an_unreadable_folder_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    refusals = [("absent", "is not a folder")]
    write_adapter(build_tiny("gpt2")[0], kinds("gpt2")["lora"](), folder)
    file, about = folder / "adapter_model.safetensors", folder / "adapter_config.json"
    for name, damage, reason in (
        ("no configuration", lambda f: (f / about.name).unlink(), "has no adapter_config"),
        ("no weights", lambda f: (f / file.name).unlink(), "has no weights"),
        ("bad json", lambda f: (f / about.name).write_text("{"), "cannot be read"),
        ("no kind", lambda f: (f / about.name).write_text("{}"), "cannot be read"),
        ("cut", lambda f: (f / file.name).write_bytes(file.read_bytes()[:900]), "cannot be read"),
        ("pickle", _pickled, "is a pickle that calls code, or is damaged"),
        ("nan", _broken, r"'transformer\.h\.0\..*holds NaN"),
    ):
        shutil.copytree(folder, tmp_path / name)
        damage(tmp_path / name)
        refusals.append((name, reason))
    for name, reason in refusals:
        with pytest.raises(PeftAdapterError, match=reason):
            adapter.read(tmp_path / name)


class _Calls:
    """A pickle of it calls code as it is read."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("read",)


def _pickled(folder: Path) -> None:
    (folder / "adapter_model.safetensors").unlink()
    torch.save({"a": _Calls()}, folder / "adapter_model.bin")


def _broken(folder: Path) -> None:
    tensors = safetensors.torch.load_file(folder / "adapter_model.safetensors")
    tensors[sorted(tensors)[0]][0, 0] = float("nan")
    safetensors.torch.save_file(tensors, folder / "adapter_model.safetensors")


def test_without_the_package_the_extra_is_named() -> None:
    with pytest.raises(MissingExtraError, match="needs the package `not_there`") as refused:
        extras.package("not_there", "peft", "A PEFT adapter")
    assert refused.value.remedy == 'pip install "thinkeval[peft]"'
