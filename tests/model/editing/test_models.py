"""Loading models, their records, and the adapters of their architectures."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from support.tiny_architectures import config_of
from support.tiny_models import build_tiny, build_tokenizer
from thinkeval.editing import identity, models
from thinkeval.editing.architectures import adapter_for, names
from thinkeval.editing.errors import EditingError, ModelLoadError, UnsupportedArchitectureError

ROOT = Path(__file__).resolve().parents[3]
SMALL = {"vocab_size": 420, "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
GQA = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
CONFIGS = {name: config_of(name, n_layers=2, width=16) for name in names()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A saved tiny model with its tokenizer."""
    model, tokenizer = build_tiny("gpt2")
    with models._quiet(local=True):
        model.save_pretrained(tmp_path / "m")
    tokenizer.save_pretrained(tmp_path / "m")
    return tmp_path / "m"


def _of(name: str) -> Any:
    return transformers.AutoModelForCausalLM.from_config(CONFIGS[name]).eval()


class _Calls:
    """A pickle of it calls code as it is read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.folder),)


def test_a_pickle_that_calls_code_is_refused_without_advice_to_allow_it(
    folder: Path, tmp_path: Path
) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({"a": _Calls(tmp_path / "called")}, folder / "pytorch_model.bin")
    with pytest.raises(ModelLoadError, match="is a pickle that calls code") as caught:
        models.load(folder, device="cpu")
    assert "weights_only" not in caught.value.detail
    assert ".safetensors" in caught.value.remedy
    assert not (tmp_path / "called").exists()


# --- loading ---------------------------------------------------------------------------------


def test_load_gives_the_saved_weights_and_a_record(folder: Path):
    model, _ = build_tiny("gpt2")
    loaded = models.load(folder, device="cpu")
    assert loaded.info == models.ModelInfo(
        name=str(folder),
        revision=None,
        weights_digest=models.weights_digest(model),
        dtype="float32",
        device="cpu",
        architecture="gpt2",
        n_parameters=model.num_parameters(),
        digest=models.state_digest(loaded),
        parts=identity.parts(model, loaded.tokenizer),
    )
    assert not loaded.model.training
    assert loaded.device == torch.device("cpu")
    ids = torch.tensor([[5, 6, 7]])
    assert loaded.model(ids).logits.equal(model(ids).logits)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="only Linux lists its maps")
def test_weights_on_the_cpu_are_mapped_and_an_edit_in_place_leaves_the_file(folder: Path):
    """Several processes of a machine share the memory of one file of weights."""
    file = folder / "model.safetensors"
    before = file.read_bytes()
    loaded = models.load(folder, device="cpu")
    mapped = [
        (int(low, 16), int(high, 16))
        for line in Path("/proc/self/maps").read_text().splitlines()
        if line.endswith(str(file))
        for low, high in [line.split()[0].split("-")]
    ]
    for name, each in loaded.model.named_parameters():
        assert any(low <= each.data_ptr() < high for low, high in mapped), name
    with torch.no_grad():
        for each in loaded.model.parameters():
            each.add_(1.0)
    assert file.read_bytes() == before


def test_bfloat16_when_asked_and_float32_by_default(folder: Path):
    config = json.loads((folder / "config.json").read_text())
    config["dtype"] = "bfloat16"  # what transformers 5 would follow by itself
    (folder / "config.json").write_text(json.dumps(config))
    assert models.load(folder).info.dtype == "float32"
    half = models.load(folder, dtype="bfloat16")
    assert half.info.dtype == "bfloat16"
    assert {p.dtype for p in half.model.parameters()} == {torch.bfloat16}
    assert half.info.weights_digest != models.load(folder).info.weights_digest


def test_tf32_is_refused_where_no_cuda_device_is(folder: Path):
    with pytest.raises(ModelLoadError, match="is a mode of CUDA devices, and the device is cpu"):
        models.load(folder, dtype="tf32", device="cpu")
    assert torch.get_float32_matmul_precision() == "highest"


def test_tf32_is_another_identity_on_the_same_weights():
    model, tokenizer = build_tiny("gpt2")
    full = models.wrap(model, tokenizer, name="m").info
    fast = models.wrap(model, tokenizer, name="m", tf32=True).info
    assert (full.dtype, fast.dtype) == ("float32", "tf32")
    assert fast.weights_digest == full.weights_digest
    # Answers are found by `digest`, covariances and saved edits by `inputs`.
    assert fast.digest != full.digest
    assert fast.inputs != full.inputs
    assert fast.parts.keys() - full.parts.keys() == {identity.MATMULS}


@pytest.mark.parametrize(("dtype", "set_to"), [("tf32", "high"), ("float32", "highest")])
def test_matrices_are_multiplied_as_the_number_type_says(dtype: str, set_to: str):
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("high" if dtype == "float32" else "highest")
        models.use_matmuls(dtype)
        assert torch.get_float32_matmul_precision() == set_to
    finally:
        torch.set_float32_matmul_precision(before)


def test_a_missing_pad_token_is_set_in_memory_only(folder: Path):
    tokenizer = build_tokenizer()
    tokenizer.pad_token = None
    tokenizer.save_pretrained(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    loaded = models.load(folder)
    assert loaded.tokenizer.pad_token_id == loaded.tokenizer.eos_token_id
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("device", "expected"), [("meta", {"": torch.device("meta")}), ("cpu", None), ("all", "auto")]
)
def test_weights_are_read_onto_an_accelerator_directly(
    folder: Path, monkeypatch: pytest.MonkeyPatch, device: str, expected: Any
):
    """Without an accelerator here, the device map that transformers receives is compared."""
    if device == "all":
        monkeypatch.setattr(models, "resolve_device", lambda _: torch.device("meta"))
    asked: list[Any] = []
    original = transformers.AutoModelForCausalLM.from_pretrained

    def from_pretrained(source: str, *, device_map: Any = None, **options: Any) -> Any:
        asked.append(device_map)
        return original(source, **options)

    monkeypatch.setattr(models, "weights_digest", lambda _: "")
    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", from_pretrained)
    # The reader is called without the map: with `all`, the weights stay where it put them.
    placed = "cpu" if device == "all" else device
    assert models.load(folder, device=device).info.device == placed
    assert asked == [expected]


def test_a_model_that_is_partly_on_the_cpu_or_on_disk_is_refused():
    model, tokenizer = build_tiny("gpt2")
    model.transformer.h[1].to("meta")
    with pytest.raises(ModelLoadError, match=r"partly on the CPU or on disk \(cpu, meta\)"):
        models.wrap(model, tokenizer, name="divided")


def test_workers_of_a_machine_are_dealt_its_cards(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    dealt = [models.device_of_worker("auto", number) for number in range(4)]
    assert dealt == ["cuda:0", "cuda:1", "cuda:0", "cuda:1"]
    assert models.device_of_worker("cuda:1", 0) == "cuda:1"
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert models.device_of_worker("auto", 1) == "auto"


def _remove_tokenizer(folder: Path) -> None:
    for path in folder.glob("token*"):
        path.unlink()


def _truncate(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:1000])


def _drop_one_weight(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    del weights["transformer.h.0.mlp.c_fc.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def _other_tokenizer(folder: Path) -> None:
    tokenizer = build_tokenizer()
    tokenizer.add_tokens([f"<{i}>" for i in range(99)])
    tokenizer.save_pretrained(folder)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda f: (f / "model.safetensors").unlink(), "weights of .* could not be loaded"),
        (_truncate, "weights of .* could not be loaded"),
        (_drop_one_weight, "lacks 1 of its weights .*c_fc"),
        (_remove_tokenizer, "has no tokenizer"),
        (_other_tokenizer, "tokenizer of .* has .* entries, the model only 420"),
        (lambda f: (f / "config.json").unlink(), "no config.json"),
        (lambda f: (f / "config.json").write_text("{}"), "could not be loaded"),
        (lambda f: (f / "tokenizer.json").write_text("{"), "tokenizer of .* could not be loaded"),
        (shutil.rmtree, "does not exist"),
    ],
)
def test_a_damaged_folder_is_a_clear_error(folder: Path, damage: Any, said: str):
    damage(folder)
    with pytest.raises(ModelLoadError, match=said) as caught:
        models.load(folder, device="cpu")
    assert str(folder) in caught.value.detail
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"dtype": "float8"}, "number type 'float8'"),
        ({"device": "tpu:0"}, "device 'tpu:0' cannot be used"),
        ({"device": "cuda:99"}, "device 'cuda:99' cannot be used"),
    ],
)
def test_bad_dtype_and_device(folder: Path, options: dict[str, str], said: str):
    with pytest.raises(ModelLoadError, match=said):
        models.load(folder, **options)


def test_hub_models_are_pinned_to_a_commit(folder: Path, tmp_path: Path):
    """From a hub cache without a network: the branch is resolved to its commit."""
    commit = "0123456789abcdef0123456789abcdef01234567"
    repo = tmp_path / "hub" / "models--owner--tiny"
    shutil.copytree(folder, repo / "snapshots" / commit)
    (repo / "refs").mkdir()
    (repo / "refs" / "main").write_text(commit)
    script = (
        "from thinkeval.editing import models\n"
        "from thinkeval.editing.errors import ModelLoadError\n"
        "print(models.load('owner/tiny', device='cpu').info.revision)\n"
        "try: models.load('owner/absent')\n"
        "except ModelLoadError as error: print(error.detail, '|', error.remedy)\n"
    )
    env = {**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    env.pop("HF_HUB_CACHE", None)
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()[-2:]
    assert first == commit
    assert second.startswith("There is no folder 'owner/absent' here")


def test_torch_stays_out_and_threads_sleep():
    script = (
        "import os, sys\n"
        "import thinkeval.editing.probe, thinkeval.editing.architectures\n"
        "import thinkeval.editing.probe.matching, thinkeval.editing.probe.prompts\n"
        "assert not {'torch', 'transformers'} & set(sys.modules)\n"
        "print(os.environ['OMP_WAIT_POLICY'], os.environ.get('GOMP_SPINCOUNT'))"
    )
    for chosen, printed in (({}, "PASSIVE 0"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE None")):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_WAIT", "GOMP"))}
        env = {**kept, **chosen}
        done = subprocess.run(
            [sys.executable, "-c", script], env=env, capture_output=True, text=True
        )
        assert done.stdout.strip() == printed, done.stderr


# --- the digest ------------------------------------------------------------------------------


def test_digest_sees_every_weight_name_and_type():
    model, _ = build_tiny("gpt2")
    before = models.weights_digest(model)
    assert models.weights_digest(build_tiny("gpt2")[0]) == before
    assert models.weights_digest(build_tiny("gpt2", seed=1)[0]) != before
    weight = model.transformer.h[2].mlp.c_proj.bias
    with torch.no_grad():
        weight[-1] += 1e-7
    changed = models.weights_digest(model)
    assert changed != before
    with torch.no_grad():
        weight[-1] = 0.0
    assert models.weights_digest(model) == before
    renamed = torch.nn.ModuleDict({"transformers": model.transformer, "lm_head": model.lm_head})
    original = torch.nn.ModuleDict({"transformer": model.transformer, "lm_head": model.lm_head})
    assert models.weights_digest(original) == before
    assert models.weights_digest(renamed) != before
    assert models.weights_digest(model.to(torch.bfloat16)) != before


# --- adapters --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_adapter_finds_the_mlp_by_what_it_computes(name: str):
    """mlp_out is what makes the MLP block's output; mlp_in reads the block's input."""
    model = _of(name)
    adapter = adapter_for(model)
    assert adapter.n_layers == 2
    seen: dict[str, Any] = {}
    watched = {
        "mlp": adapter.mlp(1),
        "out": adapter.mlp_out(1).module,
        "in": adapter.mlp_in(1).module,
        "norm": adapter.final_norm,
        "head": adapter.lm_head,
    }
    for key, module in watched.items():
        module.register_forward_hook(
            lambda _, args, out, key=key: seen.update({key: (args[0], out)})
        )
    with torch.no_grad():
        logits = model(torch.tensor([[1, 2, 3]])).logits
    assert seen["out"][1].equal(seen["mlp"][1])
    assert seen["in"][0].equal(seen["mlp"][0])
    assert seen["head"][0].equal(seen["norm"][1])
    assert adapter.logits(seen["head"][0]).equal(logits)
    assert adapter.embeddings is model.get_input_embeddings()


@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_adapter_names_and_orientation(name: str):
    model = _of(name)
    adapter = adapter_for(model)
    parameters, modules = dict(model.named_parameters()), dict(model.named_modules())
    inner = (16, 48 if "gate_up" in adapter.layout.mlp_in else 24)
    for projection, shape in ((adapter.mlp_out(0), (24, 16)), (adapter.mlp_in(0), inner)):
        assert modules[projection.name] is projection.module
        weight = parameters[projection.weight]
        in_out = adapter.orientation(projection.module) == "in_out"
        assert tuple(weight.shape) == (shape if in_out else shape[::-1])
    assert modules[adapter.layer_name(1)] is adapter.layer_module(1)
    assert adapter.attention(1) in set(adapter.layer_module(1).modules())


def test_square_weights_are_told_apart_by_their_module():
    linear = torch.nn.Linear(8, 8)
    conv = transformers.pytorch_utils.Conv1D(8, 8)
    adapter = adapter_for(_of("gpt2"))
    assert adapter.orientation(linear) == "out_in"
    assert adapter.orientation(conv) == "in_out"
    with pytest.raises(UnsupportedArchitectureError, match="LayerNorm"):
        adapter.orientation(torch.nn.LayerNorm(8))


@pytest.mark.parametrize("layer", [2, -1])
def test_a_layer_that_does_not_exist(layer: int):
    with pytest.raises(EditingError, match="layers 0 to 1"):
        adapter_for(_of("llama")).mlp_out(layer)


def test_an_architecture_without_adapter_is_named_with_the_nearest():
    config = transformers.OlmoConfig(**GQA, **SMALL)
    model = transformers.AutoModelForCausalLM.from_config(config)
    with pytest.raises(UnsupportedArchitectureError, match=r"'olmo'.*Did you mean olmo[23]"):
        adapter_for(model)


def test_a_model_without_its_head_is_refused():
    with pytest.raises(UnsupportedArchitectureError, match=r"no module 'transformer\.h'"):
        adapter_for(transformers.GPT2Model(CONFIGS["gpt2"]))
