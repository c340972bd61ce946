"""The identity of a model, and refusals of folders that are not what they say."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from support import real_model
from support.tiny_models import build_tiny
from thinkeval.editing import models
from thinkeval.editing.errors import ModelLoadError


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved tiny Llama."""
    folder = tmp_path_factory.mktemp("models") / "tiny"
    model, tokenizer = build_tiny("llama")
    with models._quiet(local=True):
        model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(saved, tmp_path / "m"))


def _json(folder: Path, name: str, change: Callable[[dict[str, Any]], None]) -> None:
    content = json.loads((folder / name).read_text())
    change(content)
    (folder / name).write_text(json.dumps(content))


def _config(**fields: Any) -> Callable[[Path], None]:
    return lambda folder: _json(folder, "config.json", lambda content: content.update(fields))


def _normaliser(folder: Path) -> None:
    _json(folder, "tokenizer.json", lambda each: each.update(normalizer={"type": "Lowercase"}))


def _merges(folder: Path) -> None:
    _json(folder, "tokenizer.json", lambda each: each["model"]["merges"].pop())


def _template(folder: Path) -> None:
    (folder / "chat_template.jinja").write_text("{{ messages[0]['content'] }}")


def _stops(folder: Path) -> None:
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [0, 5]}))


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (_config(rope_parameters={"rope_theta": 100.0, "rope_type": "default"}), "config"),
        (_config(rms_norm_eps=0.5), "config"),
        (_config(hidden_act="gelu"), "config"),
        (_config(a_field_of_another_release=3), "config"),
        (_normaliser, "tokenizer"),
        (_merges, "tokenizer"),
        (_template, "template"),
        (_stops, "stops"),
    ],
)
def test_same_weights_with_another_part_are_another_model(
    saved: Path, folder: Path, change: Callable[[Path], None], part: str
):
    change(folder)
    one, other = models.load(saved, device="cpu").info, models.load(folder, device="cpu").info
    assert one.weights_digest == other.weights_digest
    assert one.digest != other.digest
    assert one.parts[part] != other.parts[part]


def test_bookkeeping_and_padding_make_no_other_model(saved: Path, folder: Path):
    _config(transformers_version="4.0", _name_or_path="x", use_cache=False, architectures=None)(
        folder
    )
    _json(folder, "tokenizer_config.json", lambda content: content.pop("pad_token"))
    one, other = models.load(saved, device="cpu"), models.load(folder, device="cpu")
    assert one.info.digest == other.info.digest
    again = folder.with_name("again")
    other.model.save_pretrained(again)
    other.tokenizer.save_pretrained(again)
    assert models.load(again, device="cpu").info.digest == one.info.digest


def test_a_changed_buffer_in_memory_is_another_model():
    model, tokenizer = build_tiny("llama")
    before = models.wrap(model, tokenizer, name="m").info
    model.model.rotary_emb.inv_freq.mul_(3)
    after = models.wrap(model, tokenizer, name="m").info
    assert before.weights_digest == after.weights_digest
    assert before.digest != after.digest


def _weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], None]) -> None:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def test_tensors_without_a_place_are_refused_by_number_and_name(folder: Path):
    _config(num_hidden_layers=2)(folder)
    with pytest.raises(ModelLoadError) as error:
        models.load(folder, device="cpu")
    assert "9 tensors" in error.value.detail
    assert "model.layers.2." in error.value.detail


def test_tensors_of_an_adapter_in_the_weights_are_refused(folder: Path):
    name = "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"
    _weights(folder, lambda tensors: tensors.update({name: torch.ones(2, 32)}))
    with pytest.raises(ModelLoadError, match=r"1 tensors .*lora_A") as error:
        models.load(folder, device="cpu")
    assert "adapter" in str(error.value.remedy)


def test_weights_of_another_shape_are_refused_by_number_and_name(folder: Path):
    _config(intermediate_size=24)(folder)
    with pytest.raises(ModelLoadError, match=r"9 of the weights .*another shape.*mlp\.") as error:
        models.load(folder, device="cpu")
    assert "two models" in str(error.value.remedy)


def test_old_constants_in_the_file_are_no_surplus(folder: Path):
    name = "model.layers.0.self_attn.rotary_emb.inv_freq"
    _weights(folder, lambda tensors: tensors.update({name: torch.ones(4)}))
    assert models.load(folder, device="cpu").info.n_parameters


def test_custom_code_is_refused_without_a_question(folder: Path):
    _config(model_type="own", auto_map={"AutoConfig": "own.C", "AutoModelForCausalLM": "own.M"})(
        folder
    )
    (folder / "own.py").write_text("open('ran', 'w')\n")
    code = (
        "import sys\nfrom thinkeval.editing import models\n"
        "try: models.load(sys.argv[1], device='cpu')\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    # A standard input that stays open and would answer yes.
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        input="y\ny\n", capture_output=True, text=True, timeout=120, cwd=folder, check=False,
    )  # fmt: skip
    assert done.stdout.startswith("ModelLoadError"), done.stderr
    assert "custom code" in done.stdout
    assert "y/N" not in done.stdout
    assert not (folder / "ran").exists()


def test_an_added_token_without_a_row_is_taken_out(folder: Path):
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"pad_token": "[PAD]"})
    tokenizer.save_pretrained(folder)
    loaded = models.load(folder, device="cpu")
    rows = loaded.model.get_input_embeddings().weight.shape[0]
    assert loaded.tokenizer.pad_token_id < rows
    assert max(loaded.tokenizer("a [PAD] b")["input_ids"]) < rows


def test_a_larger_vocabulary_is_still_refused(folder: Path):
    def grow(content: dict[str, Any]) -> None:
        vocabulary = content["model"]["vocab"]
        vocabulary["surplus"] = len(vocabulary)

    _json(folder, "tokenizer.json", grow)
    with pytest.raises(ModelLoadError, match="421 entries, the model only 420"):
        models.load(folder, device="cpu")


def test_shards_without_their_index_are_named(folder: Path):
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    with pytest.raises(ModelLoadError, match=r"1 shards .*index model\.safetensors\.index\.json"):
        models.load(folder, device="cpu")


def test_missing_tokenizer_files_are_named(folder: Path):
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    with pytest.raises(ModelLoadError, match=r"has no tokenizer \(no tokenizer\.json"):
        models.load(folder, device="cpu")
    (folder / "vocab.json").write_text("{}")
    (folder / "merges.txt").write_text("")
    with pytest.raises(ModelLoadError, match=r"vocab\.json and merges\.txt|has no tokenizer"):
        models.load(folder, device="cpu")


def test_a_gguf_file_is_the_model_of_its_dequantised_folder(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    (tmp_path / "g").mkdir()
    (tmp_path / "g" / "model.gguf").symlink_to(real_model.gguf_file())
    loaded = models.load(tmp_path / "g", device="cpu")
    assert "%|" not in capfd.readouterr().err
    loaded.model.save_pretrained(tmp_path / "saved")
    loaded.tokenizer.save_pretrained(tmp_path / "saved")
    found = models.load(tmp_path / "saved", device="cpu").info
    assert found.digest == loaded.info.digest
    assert (found.dtype, found.n_parameters) == ("float32", 134515008)
